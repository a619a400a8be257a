//! Iterators over sources in memory: against a model, the reported faults, and sources that fail.

mod cases;
mod concurrent;
mod cost;
mod errors;
mod fake;
mod merge;
mod model;
