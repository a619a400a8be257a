//! The conformance kit: whether a format keeps the contract.
//!
//! ```text
//! check(&MyFormat).unwrap()              tables made up in memory; no store, no file
//! check_in_store(Arc::new(MyFormat))     a real store: answers against an ordered map (in `kiban`)
//! Liar::new(format, seed)                wraps a format, and says what is not so
//! ```
//!
//! [`check`] gives a [`Report`] of what ran, or [`Failures`], which print each failed check by its
//! name, the table, and what was found. A panic of the format is a failure like any other.
//!
//! | check | what holds |
//! |---|---|
//! | `name` | name, id and version are allowed |
//! | `params` | the parameters are accepted, an unknown one is refused in words |
//! | `build` | a table that `plan` does not decline is built; declining later is noted in the report |
//! | `used` | at least one table is indexed |
//! | `repeat` | a build gives the same bytes again, by estimated counts, and in two threads |
//! | `drop` | a builder can be dropped at any time, in any thread |
//! | `write` | a write that fails is told as [`Declined::io`](crate::Declined::io) |
//! | `estimate` | `estimate_bytes` is within a tenth of the file, the container's bytes apart |
//! | `open` | a whole file opens, resident and mapped |
//! | `promises` | `Absent` and `Deleted` are true, `Deleted` only comes of a format that keeps keys |
//! | `places` | the place of a key that is there is its newest version's, or that of the newest visible one |
//! | `presence` | is true, and other than `Unknown` only from a format that keeps keys |
//! | `keys` | as many keys of the table are known as [`Built::keys`](crate::Built) says |
//! | `rejects_absent` | one that says so rejects more than half of the absent keys |
//! | `locate_many` | is `locate`, for batches of every small length |
//! | `prefetch`, `threads` | change no answer |
//! | `plugin` | all is answered alike through [`Accessor::Plugin`](crate::Accessor) |
//! | `flip`, `cut` | a damaged mapped file does not open, or breaks no promise |
//! | `forge`, `change` | contents with right checksums, and maps that change, never cause a panic |
//! | `describe` | whole sections are described |
//! | `memory`, `resident` | `memory_bytes` within a tenth, `resident_bytes` within a twentieth of what was allocated; only where allocations are [counted](Check::allocated) |
//!
//! The tables have 0, 1, 2, 127, 128, 129, 300 and 20,000 keys, of six shapes; versions over page borders,
//! tombstones, keys that begin with others, keys of 0 to 65,536 bytes, jumbo values, places at the far end
//! of the largest file, and hashes that are equal or nearly so. Asked are all keys, their neighbours, and
//! snapshots between their versions.

mod answers;
mod builds;
mod cases;
mod damage;
mod judge;
mod keys;
mod liar;
mod report;
mod run;
pub(crate) mod sidecar;
mod sizes;
mod table;

pub use liar::Liar;
pub use report::{Failure, Failures, Findings, Report};
pub use run::{Check, check};
pub use sidecar::with_header;
