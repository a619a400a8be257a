//! Building an index.

use std::fmt::{self, Debug};
use std::io;

use kiban_formats::{Kind, PageNo, SeqNo, SlotNo};

/// An entry of the table, as a builder sees it: once per entry, in key order, newest version first.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EntryFacts<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// The hash of the key under the store's seed.
    pub hash: u64,
    /// Its sequence.
    pub seq: SeqNo,
    /// Its kind.
    pub kind: Kind,
    /// No newer version of the key is in the table.
    pub newest: bool,
    /// The page it is on; of a jumbo run the first one.
    pub page: PageNo,
    /// Its slot on the page; 0 in a jumbo run.
    pub slot: SlotNo,
    /// Where it starts: bytes from the start of the page; in a jumbo run 0.
    pub offset: u16,
    /// Its value.
    pub value: &'a [u8],
}

/// Where an entry of a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryPlace {
    /// The page; of a jumbo run the first one.
    pub page: PageNo,
    /// The slot; 0 in a jumbo run.
    pub slot: SlotNo,
    /// Bytes from the start of the page; 0 in a jumbo run.
    pub offset: u16,
}

/// Why no index was built.
#[derive(Debug)]
pub struct Declined {
    reason: String,
    source: Option<io::Error>,
}

impl Declined {
    /// For this reason, in words that `explain` shows.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), source: None }
    }

    /// The reason.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The failure of a write, if it was one. Such a build is worth trying again.
    pub fn io(&self) -> Option<&io::Error> {
        self.source.as_ref()
    }
}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Declined {}

impl From<io::Error> for Declined {
    fn from(source: io::Error) -> Self {
        Self { reason: format!("the index cannot be written: {source}"), source: Some(source) }
    }
}

/// Takes the sections of an index, one after the other.
pub trait SectionWriter {
    /// Begins a section; its name has 1 to 16 bytes, and no other section has it.
    ///
    /// # Errors
    /// The system's.
    fn section(&mut self, name: &str) -> io::Result<()>;

    /// Appends to the section that was begun last.
    ///
    /// # Errors
    /// The system's.
    fn write(&mut self, bytes: &[u8]) -> io::Result<()>;
}

/// What was built.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Built {
    /// Keys that it finds; the sorted index answers for the others.
    pub keys: u64,
    /// Bytes by part, for reports.
    pub parts: Vec<(&'static str, u64)>,
}

impl Built {
    /// An index of so many keys.
    pub fn new(keys: u64, parts: Vec<(&'static str, u64)>) -> Self {
        Self { keys, parts }
    }
}

/// An index being built. May be dropped at any time, from any thread.
pub trait AccessorBuilder: Send {
    /// Adds an entry.
    ///
    /// # Errors
    /// A table that it does not index after all.
    fn add(&mut self, entry: &EntryFacts<'_>) -> Result<(), Declined>;

    /// Bytes of heap that it holds now.
    fn memory_bytes(&self) -> usize;

    /// About how many bytes the index will have on disk.
    fn estimate_bytes(&self) -> u64;

    /// Called when all entries have been added, again and again until it says `false`: whether to add
    /// them all once more. A format that needs more memory than
    /// [`TableShape::memory_max`](super::TableShape::memory_max) for all of a table takes a part of it
    /// at a time, and may write the sections, or parts of them, that are done.
    ///
    /// # Errors
    /// Those of [`finish`](Self::finish).
    fn next_pass(&mut self, _out: &mut dyn SectionWriter) -> Result<bool, Declined> {
        Ok(false)
    }

    /// Solves what is left to solve, and writes it.
    ///
    /// # Errors
    /// A table that it does not index, or the failure of a write.
    fn finish(self: Box<Self>, out: &mut dyn SectionWriter) -> Result<Built, Declined>;
}

impl<'a> EntryFacts<'a> {
    /// An entry at a place.
    pub fn new(key: &'a [u8], hash: u64, place: EntryPlace, version: Version<'a>) -> Self {
        let EntryPlace { page, slot, offset } = place;
        let Version { seq, kind, newest, value } = version;
        Self { key, hash, seq, kind, newest, page, slot, offset, value }
    }
}

/// What an entry says, beside its key.
#[derive(Clone, Copy, Debug)]
pub struct Version<'a> {
    /// Its sequence.
    pub seq: SeqNo,
    /// Its kind.
    pub kind: Kind,
    /// No newer version of the key is in the table.
    pub newest: bool,
    /// Its value.
    pub value: &'a [u8],
}
