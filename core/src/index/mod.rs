//! Indexes of tables: derived data beside them, never needed for a right answer.
//!
//! ```text
//! 00000012.sst      the table, which has its own sorted index
//! 00000012.ph4      a sidecar: collected while the table is written, solved and written by a
//!                   background thread after it is published
//!
//! Slot              a table's: what index it has, or why none
//!   Index           an open index, attached by one atomic store; reads go on without it until then
//! ```
//!
//! A sidecar that is missing, damaged, of another table or of a newer version is built anew;
//! reads fall back to the sorted index meanwhile and are counted. See [`crate::table`] for the
//! rules by which an index's answer is proven.

mod admission;
mod attached;
mod build;
mod collect;
mod counters;
mod explain;
mod reindex;
mod require;
mod sidecar;
mod slot;
mod verify;
mod work;

pub(crate) use attached::Index;
pub(crate) use collect::{Collecting, Collection, expected_shape};
pub use counters::IndexCounts;
pub(crate) use counters::Outcome;
pub use explain::{SidecarReport, TableIndexReport};
pub use reindex::ReindexReport;
pub(crate) use slot::{Attached, Slot};
pub(crate) use work::{Indexing, Policy};
