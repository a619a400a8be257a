//! Which indexes a table gets, by rules that a person can write.
//!
//! The first rule that matches a table says which formats are built for it, where their bytes may
//! be, and whether the table needs them. A table that no rule matches has its own sorted index
//! only. What is resident in the end is the [planner](crate::planner)'s, a second decision.
//!
//! A policy is text (TOML or JSON), or is put together with [`IndexPolicy::builder`]. Both are held
//! to the same rules, and every error names the rule, counted from 1, and the field:
//!
//! ```text
//! [[rule]]            first match wins                     IndexPolicy::wanted(shape)
//!   conditions   ->   levels, table bytes, keys            all must hold; none: any table
//!   build        ->   formats with parameters              Wanted::formats
//!   residency    ->   auto | resident | mapped | off       Wanted::residency
//!   require      ->   published only with its indexes      Wanted::require
//! [admission]         what resident indexes may take       Admission
//! ```

mod admission;
mod bounds;
mod builder;
mod error;
mod index_policy;
mod read;
mod rule;
mod size;
mod value;
mod wanted;
mod write;

#[cfg(test)]
mod tests;

pub use admission::Admission;
pub use builder::IndexPolicyBuilder;
pub use error::PolicyError;
pub use index_policy::IndexPolicy;
pub use rule::{Build, Rule};
pub use wanted::Wanted;
