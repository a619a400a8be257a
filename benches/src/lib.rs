//! Workloads, paired trials, statistics and reports for Kiban.
//!
//! [`ab::run`] is the main job: it loads records into stores, asks each engine the same
//! questions in interleaved trials, checks every answer, and says which is faster where the
//! noise allows.

pub mod ab;
mod answers;
mod clock;
mod cold;
mod compare;
mod engine;
pub mod input;
mod keys;
mod machine;
pub mod memlat;
mod plan;
mod read_back;
pub mod report;
mod rng;
mod stats;
mod trial;
mod upkeep;
mod writes;
