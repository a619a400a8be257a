//! From internal entries to what a caller sees.
//!
//! ```text
//! Iter, Cursor      public; owned keys and values, movers, stickiness of errors
//!   Visible         one entry a key: the newest the snapshot sees, no tombstones, inside the bounds
//!     merged        all sources as one sorted stream of versions; of one source, that one
//!       Source ...  memtables and tables
//! ```

mod bounds;
mod cursor;
#[expect(clippy::module_inception, reason = "the public type's name is the module's")]
mod iter;
mod merge;
mod visible;

use kiban_formats::SeqNo;

use crate::error::Result;
use crate::source::Source;

pub(crate) use bounds::Bounds;
pub(crate) use merge::merged;

pub use cursor::Cursor;
pub use iter::Iter;

/// What an iterator reads: the memtables and tables of a moment, and a snapshot. Whoever holds
/// it keeps them alive.
pub(crate) trait ReadView: Send + Sync {
    /// A fresh source for each memtable and table, in any order.
    fn sources(&self) -> Result<Vec<Box<dyn Source>>>;
    /// The greatest sequence number that is seen.
    fn snapshot(&self) -> SeqNo;
    /// `Closed` once the store is. Called at each step: cheap.
    fn check_open(&self) -> Result<()>;
}

#[cfg(test)]
mod tests;
