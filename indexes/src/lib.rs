//! Kiban's point indexes: from a key to the place of its entries, nothing else.
//!
//! An accessor never reads data pages. What it says is a hint, except the two promises of
//! [`Location`]; the engine proves the rest from the page.
#![forbid(unsafe_code)]

mod accessor;
mod contract;
pub mod planner;
mod policy;
mod registry;

use std::sync::Arc;

pub use accessor::Accessor;
pub use contract::*;
pub use policy::{Admission, Build, IndexPolicy, IndexPolicyBuilder, PolicyError, Rule, Wanted};
pub use registry::{Registry, RegistryError};

/// Kiban's own formats.
fn built_in() -> Vec<Arc<dyn AccessorFormat>> {
    Vec::new()
}
