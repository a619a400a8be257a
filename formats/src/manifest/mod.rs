//! The manifest: which keyspaces, tables and logs make up a store.
//!
//! A file of [frames](crate::frame). The first frame is a snapshot, the others are edits; the
//! payload of both is a list of [`Change`]s, each a tag, a varint length, and fields:
//!
//! | tag | change | fields |
//! |---|---|---|
//! | 1 | `Facts` | store format version u16, hash seed u64 |
//! | 2 | `NextFile` | number, varint |
//! | 3 | `LastSeq` | sequence, varint |
//! | 4 | `AddKeyspace` | id varint, name sized, options sized |
//! | 5 | `DropKeyspace` | id varint |
//! | 6 | `SetOptions` | id varint, options sized |
//! | 7 | `AddTable` | keyspace varint, table |
//! | 8 | `RemoveTable` | keyspace varint, number varint |
//! | 9 | `MoveTable` | keyspace varint, number varint, level u8 |
//! | 10 | `Flushed` | keyspace varint, sequence varint |
//! | 11 | `Logs` | oldest varint, newest varint |
//! | 12 | `NextKeyspace` | id varint |
//! | 13 | `LogEnd` | number varint, bytes varint |
//!
//! A *table* is: number varint, level u8, id 16 bytes, then varints: bytes, entries, keys,
//! tombstones, least and greatest sequence; then smallest and largest key, each sized. *Sized*
//! is a varint length and the bytes. A tag with bit 7 set may be skipped by a reader that does
//! not know it; any other unknown tag is refused.
//!
//! Numbers of tables are in [`State`] checked against what is there: a change that contradicts
//! the state before it is refused, never guessed at.

mod change;
mod describe;
mod state;
mod table_meta;

pub use change::{Change, LiveLogs, LogEnd, decode_changes, encode_changes};
pub use describe::describe_manifest;
pub use state::{KeyspaceState, State};
pub use table_meta::TableMeta;

/// Frame kind: the whole state, as changes to an empty one.
pub const SNAPSHOT: u8 = 1;
/// Frame kind: changes to the state before.
pub const EDIT: u8 = 2;

/// The version of a store's format, in the pointer file and the manifest.
pub const STORE_VERSION: u16 = 1;

const SECTION: &str = "manifest change";

#[cfg(test)]
mod tests;
