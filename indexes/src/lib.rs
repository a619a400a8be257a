//! Kiban's point indexes: from a key to the place of its entries, nothing else.
//!
//! An accessor never reads data pages. What it says is a hint, except the two promises of
//! [`Location`]; the engine proves the rest from the page.
#![deny(unsafe_code)]

mod accessor;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod contract;
mod mphf;
mod ph4;
pub mod planner;
mod policy;
pub mod prefetch;
mod registry;

use std::sync::Arc;

pub use accessor::Accessor;
pub use contract::*;
pub use ph4::{Ph4, Ph4Format};
pub use policy::{Admission, Build, IndexPolicy, IndexPolicyBuilder, PolicyError, Rule, Wanted};
pub use registry::{Registry, RegistryError};

/// Kiban's own formats.
fn built_in() -> Vec<Arc<dyn AccessorFormat>> {
    vec![Arc::new(Ph4Format)]
}
