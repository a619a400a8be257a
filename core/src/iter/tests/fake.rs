//! A source over a list, which counts its moves and can fail; and views made of such sources.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kiban_formats::{Kind, SeqNo};

use crate::error::{Error, ErrorKind, Result};
use crate::iter::{Bounds, Cursor, Iter, ReadView};
use crate::memtable::Memtable;
use crate::source::{EntryRef, Source};
use crate::value::Value;

/// A version of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) key: Vec<u8>,
    pub(super) seq: u64,
    /// `None`: a tombstone.
    pub(super) value: Option<Vec<u8>>,
}

impl Version {
    pub(super) fn put(key: &[u8], seq: u64) -> Self {
        Self { key: key.to_vec(), seq, value: Some(format!("value {seq}").into_bytes()) }
    }

    pub(super) fn delete(key: &[u8], seq: u64) -> Self {
        Self { key: key.to_vec(), seq, value: None }
    }

    fn entry(&self) -> EntryRef<'_> {
        let kind = if self.value.is_some() { Kind::Put } else { Kind::Delete };
        let value = self.value.as_deref().unwrap_or_default();
        EntryRef { key: &self.key, seq: SeqNo(self.seq), kind, value, payload_crc: self.seq as u32 }
    }
}

/// A list in the order of sources. Whoever lands on entry `bad` gets an error.
#[derive(Debug, Default)]
pub(super) struct List {
    versions: Vec<Version>,
    pub(super) bad: Option<usize>,
    pub(super) moves: AtomicU64,
    /// Of these, the ones that are no steps.
    pub(super) seeks: AtomicU64,
}

impl List {
    pub(super) fn new(mut versions: Vec<Version>) -> Self {
        versions.sort_by(|a, b| a.key.cmp(&b.key).then(b.seq.cmp(&a.seq)));
        versions.dedup_by(|a, b| (&a.key, a.seq) == (&b.key, b.seq));
        Self { versions, bad: None, moves: AtomicU64::new(0), seeks: AtomicU64::new(0) }
    }

    /// Number of versions before (`key`, `seq`).
    fn before(&self, key: &[u8], seq: SeqNo) -> usize {
        self.versions.partition_point(|version| {
            (&version.key[..], std::cmp::Reverse(version.seq)) < (key, std::cmp::Reverse(seq.0))
        })
    }
}

/// Walks a [`List`].
pub(super) struct ListSource {
    list: Arc<List>,
    at: Option<usize>,
}

impl ListSource {
    pub(super) fn new(list: &Arc<List>) -> Self {
        Self { list: Arc::clone(list), at: None }
    }

    fn land(&mut self, at: Option<usize>) -> Result<()> {
        self.list.moves.fetch_add(1, Ordering::Relaxed);
        self.at = at.filter(|&at| at < self.list.versions.len());
        if self.at.is_some() && self.at == self.list.bad {
            self.at = None;
            return Err(damage());
        }
        Ok(())
    }

    fn here(&self) -> usize {
        self.at.expect("stepped only where it stands on an entry")
    }
}

/// The error of a bad entry.
pub(super) fn damage() -> Error {
    Error::new(ErrorKind::Corruption, "a bad entry")
}

impl Source for ListSource {
    fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.list.seeks.fetch_add(1, Ordering::Relaxed);
        self.land(Some(self.list.before(key, seq)))
    }
    fn seek_before(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.list.seeks.fetch_add(1, Ordering::Relaxed);
        self.land(self.list.before(key, seq).checked_sub(1))
    }
    fn first(&mut self) -> Result<()> {
        self.list.seeks.fetch_add(1, Ordering::Relaxed);
        self.land(Some(0))
    }
    fn last(&mut self) -> Result<()> {
        self.list.seeks.fetch_add(1, Ordering::Relaxed);
        self.land(self.list.versions.len().checked_sub(1))
    }
    fn next(&mut self) -> Result<()> {
        self.land(Some(self.here() + 1))
    }
    fn prev(&mut self) -> Result<()> {
        self.land(self.here().checked_sub(1))
    }
    fn entry(&self) -> Option<EntryRef<'_>> {
        self.at.map(|at| self.list.versions[at].entry())
    }
    fn value(&self) -> Value {
        Value::copy(self.list.versions[self.here()].entry().value)
    }
}

/// A memtable and some lists.
#[derive(Debug)]
pub(super) struct View {
    memtable: Option<Arc<Memtable>>,
    pub(super) lists: Vec<Arc<List>>,
    snapshot: u64,
    pub(super) closed: AtomicBool,
    /// A table cannot be opened.
    pub(super) unopenable: AtomicBool,
}

impl View {
    pub(super) fn new(lists: Vec<List>, snapshot: u64) -> Self {
        let lists = lists.into_iter().map(Arc::new).collect();
        let (closed, unopenable) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { memtable: None, lists, snapshot, closed, unopenable }
    }

    /// A memtable that somebody may be writing to.
    pub(super) fn over(memtable: &Arc<Memtable>, snapshot: u64) -> Self {
        Self { memtable: Some(Arc::clone(memtable)), ..Self::new(vec![], snapshot) }
    }

    /// The same, with these versions in a memtable before the lists.
    pub(super) fn with_memtable(mut self, versions: &[Version]) -> Self {
        let memtable = Memtable::new();
        for version in versions {
            memtable.insert(version.entry());
        }
        self.memtable = Some(Arc::new(memtable));
        self
    }

    /// One version of each key, dealt over three lists and a memtable.
    pub(super) fn dealt(keys: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let mut parts: [Vec<Version>; 4] = Default::default();
        for (number, key) in keys.into_iter().enumerate() {
            parts[number % 4].push(Version::put(&key, number as u64 + 1));
        }
        let [memtable, lists @ ..] = parts;
        Self::new(lists.map(List::new).into(), u64::MAX >> 8).with_memtable(&memtable)
    }

    pub(super) fn moves(&self) -> u64 {
        self.lists.iter().map(|list| list.moves.load(Ordering::Relaxed)).sum()
    }

    pub(super) fn cursor(self: &Arc<Self>, bounds: Bounds) -> Cursor {
        Cursor::new(Arc::clone(self) as Arc<dyn ReadView>, bounds)
    }

    pub(super) fn iter(self: &Arc<Self>, bounds: Bounds) -> Iter {
        Iter::new(Arc::clone(self) as Arc<dyn ReadView>, bounds)
    }
}

impl ReadView for View {
    fn sources(&self) -> Result<Vec<Box<dyn Source>>> {
        if self.unopenable.load(Ordering::Relaxed) {
            return Err(damage());
        }
        let memtable = self.memtable.iter().map(|memtable| Box::new(memtable.source()) as Box<dyn Source>);
        Ok(memtable.chain(self.lists.iter().map(|list| Box::new(ListSource::new(list)) as _)).collect())
    }

    fn snapshot(&self) -> SeqNo {
        SeqNo(self.snapshot)
    }

    fn check_open(&self) -> Result<()> {
        match self.closed.load(Ordering::Relaxed) {
            true => Err(Error::new(ErrorKind::Closed, "the store is closed")),
            false => Ok(()),
        }
    }
}
