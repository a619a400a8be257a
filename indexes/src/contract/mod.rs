//! The contract: from a key to a place, nothing else.
//!
//! A format ([`AccessorFormat`]) plans and builds an index for a table, and opens it again; what
//! it opens ([`PointAccessor`]) answers probes. An accessor never reads data pages: all it says is
//! a hint that the engine proves from the page, except the two promises of [`Location`].

mod build;
mod file;
mod format;
mod location;
mod point;
mod probe;

pub use build::{AccessorBuilder, Built, Declined, EntryFacts, EntryPlace, SectionWriter, Version};
pub use file::{AccessorFile, FileBytes, Residency};
pub use format::{AccessorFormat, FormatId, ParamValue, Params, Plan, TableShape};
pub use location::Location;
pub use point::{PointAccessor, Presence};
pub use probe::{Probe, key_hash};
