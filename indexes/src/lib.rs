//! Kiban's point indexes: from a key to the place of its entries, nothing else.
//!
//! An accessor never reads data pages. What it says is a hint, except the two promises of
//! [`Location`]; the engine proves the rest from the page.
#![forbid(unsafe_code)]

mod location;
mod probe;

pub use location::Location;
pub use probe::{Probe, key_hash};
