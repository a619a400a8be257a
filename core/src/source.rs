//! One sorted stream of internal entries: what memtables and tables offer to merges,
//! iterators and flushes.

use kiban_formats::{Kind, SeqNo};

use crate::error::Result;
use crate::value::{Key, Value};

/// An entry as a source shows it, borrowed until the source moves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryRef<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) seq: SeqNo,
    pub(crate) kind: Kind,
    pub(crate) value: &'a [u8],
    /// CRC-32 of key and value, made when the caller handed them in and carried to the reader.
    pub(crate) payload_crc: u32,
}

/// A cursor over entries in the order (key ascending, sequence descending).
///
/// It stands on an entry or off either end. An error leaves it off the end and is returned
/// again by whatever needs the broken place; it never shows a clean end in its stead.
pub(crate) trait Source: Send {
    /// To the first entry at or after `(key, seq)`: same key with a sequence of `seq` or less, or a greater key.
    fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()>;
    /// To the last entry before `(key, seq)`: same key with a sequence above `seq`, or a smaller key.
    fn seek_before(&mut self, key: &[u8], seq: SeqNo) -> Result<()>;
    /// To the first entry.
    fn first(&mut self) -> Result<()>;
    /// To the last entry.
    fn last(&mut self) -> Result<()>;
    /// One entry on. Must stand on an entry.
    fn next(&mut self) -> Result<()>;
    /// One entry back. Must stand on an entry.
    fn prev(&mut self) -> Result<()>;
    /// The entry it stands on, or `None` off the ends.
    fn entry(&self) -> Option<EntryRef<'_>>;
    /// The value it stands on, to keep: shared where the source can, copied where it cannot.
    /// Must stand on an entry.
    fn value(&self) -> Value;
    /// The key it stands on, to keep. Must stand on an entry. Sources whose keys stand whole in a
    /// shared buffer override this.
    fn key(&self) -> Key {
        Key::copy(self.entry().map_or(&[][..], |entry| entry.key))
    }
}

/// What is asked of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// Its value.
    Value,
    /// Only whether it has one: the value that is found may be empty.
    Presence,
}

/// What one memtable or table says of a key at a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No version that the snapshot sees is here; older places are still asked.
    Absent,
    /// The newest version here that the snapshot sees is a tombstone; the search ends.
    Deleted,
    /// The newest version here that the snapshot sees.
    Value(Value),
}
