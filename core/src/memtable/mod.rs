//! The memtable: the newest writes, in memory, in the order (key ascending, sequence descending).
//!
//! A skip list of `crossbeam-skiplist`: one writer at a time, any number of readers, no lock. An
//! entry's key and value stand together in one shared buffer, so that what a get or an iterator
//! hands out is that buffer and no copy; it outlives the memtable. Nothing is ever removed.
//!
//! A memtable knows nothing of what is visible: readers bring their snapshot along.

mod entry;
mod estimate;
mod source;

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_skiplist::SkipMap;
use kiban_formats::{Kind, SeqNo};

use crate::source::{EntryRef, Found};
use entry::{Place, Stored};

pub(crate) use estimate::{KeyCounts, share};
pub(crate) use source::MemtableSource;

/// Bytes of a skip list's node: key part 32, reference count 8, a tower of two pointers on average.
const NODE_BYTES: u64 = 56;

/// Heap bytes of an entry as they are asked of the allocator: the node, and the buffer with its
/// two reference counts.
fn entry_bytes(entry: &EntryRef<'_>) -> u64 {
    let buffer = 2 * size_of::<usize>() + entry.key.len() + entry.value.len();
    NODE_BYTES + buffer.next_multiple_of(align_of::<usize>()) as u64
}

/// The newest writes of a keyspace.
#[derive(Debug)]
pub(crate) struct Memtable {
    entries: SkipMap<Stored, ()>,
    bytes: AtomicU64,
    least_seq: AtomicU64,
    greatest_seq: AtomicU64,
}

impl Memtable {
    /// An empty memtable.
    pub(crate) fn new() -> Self {
        Self {
            entries: SkipMap::new(),
            bytes: AtomicU64::new(0),
            least_seq: AtomicU64::new(u64::MAX),
            greatest_seq: AtomicU64::new(0),
        }
    }

    /// Adds an entry. One caller at a time; readers may run beside it. An entry of the same key
    /// and sequence, which only a repeated replay brings, is left as it is. The lengths were checked
    /// before the operation was logged.
    pub(crate) fn insert(&self, entry: EntryRef<'_>) {
        let count = self.entries.len();
        self.entries.compare_insert(Stored::new(entry), (), |_| false);
        if self.entries.len() == count {
            return;
        }
        self.bytes.fetch_add(entry_bytes(&entry), Ordering::Relaxed);
        self.least_seq.fetch_min(entry.seq.0, Ordering::Relaxed);
        self.greatest_seq.fetch_max(entry.seq.0, Ordering::Relaxed);
    }

    /// The newest version of `key` with a sequence of `snapshot` or less. Allocates nothing.
    #[inline]
    pub(crate) fn get(&self, key: &[u8], snapshot: SeqNo) -> Found {
        // After bulk loads there often is nothing in it, and a search is not free even so.
        if self.is_empty() { Found::Absent } else { self.search(key, snapshot) }
    }

    fn search(&self, key: &[u8], snapshot: SeqNo) -> Found {
        let place: &dyn Place = &(key, snapshot);
        match self.entries.lower_bound(Bound::Included(place)) {
            Some(found) if found.key().key() == key => match found.key().kind() {
                Kind::Put => Found::Value(found.key().to_value()),
                Kind::Delete => Found::Deleted,
            },
            _ => Found::Absent,
        }
    }

    /// Heap bytes of its entries.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Number of entries: versions and tombstones, not keys.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has no entry.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The least and the greatest sequence number, or `None` if it is empty.
    pub(crate) fn seq_range(&self) -> Option<(SeqNo, SeqNo)> {
        let least = self.least_seq.load(Ordering::Relaxed);
        let greatest = self.greatest_seq.load(Ordering::Relaxed);
        (least <= greatest).then_some((SeqNo(least), SeqNo(greatest)))
    }

    /// A cursor over all entries, which keeps the memtable alive. It may or may not show entries
    /// that are added while it is in use.
    pub(crate) fn source(self: &Arc<Self>) -> MemtableSource {
        MemtableSource::new(Arc::clone(self))
    }
}

#[cfg(test)]
mod tests;
