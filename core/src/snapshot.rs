//! Snapshots: reads of all keyspaces at one sequence.

use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::sync::{Arc, Mutex};

use kiban_formats::SeqNo;

use crate::db::Handle;
use crate::error::Result;
use crate::iter::{Cursor, Iter};
use crate::keyspace::Keyspace;
use crate::store::Store;
use crate::sync::lock;
use crate::value::Value;

/// The sequences that open snapshots read at, with how many snapshots each has.
#[derive(Debug, Default)]
pub(crate) struct Snapshots(Mutex<BTreeMap<SeqNo, usize>>);

impl Snapshots {
    /// Registers a snapshot at what `visible` says under the lock, so that whoever lists the
    /// snapshots later sees this one, or a greater visible sequence than this one's.
    fn register(&self, visible: impl FnOnce() -> SeqNo) -> SeqNo {
        let mut open = lock(&self.0);
        let seq = visible();
        *open.entry(seq).or_default() += 1;
        seq
    }

    fn release(&self, seq: SeqNo) {
        let mut open = lock(&self.0);
        if let Some(count) = open.get_mut(&seq) {
            *count -= 1;
            if *count == 0 {
                open.remove(&seq);
            }
        }
    }

    /// The sequences in rising order.
    pub(crate) fn list(&self) -> Vec<SeqNo> {
        lock(&self.0).keys().copied().collect()
    }

    /// Tells the least sequence that an open snapshot reads at, and lets none be taken until `run`
    /// is done: one that is taken later at a sequence that is free now would read in part what
    /// `run` lets go of.
    pub(crate) fn with_oldest(&self, run: impl FnOnce(Option<SeqNo>)) {
        let open = lock(&self.0);
        run(open.keys().next().copied());
    }

    /// How many snapshots are open.
    pub(crate) fn count(&self) -> usize {
        lock(&self.0).values().sum()
    }
}

/// A registered snapshot; versions it can see are kept until it is dropped.
#[derive(Debug)]
struct Registration {
    handle: Arc<Handle>,
    seq: SeqNo,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.handle.store.snapshots.release(self.seq);
        self.handle.store.prune_views();
    }
}

/// All keyspaces as they were when it was taken. Cheap to clone; versions it can see are kept
/// until its last clone is dropped.
///
/// # Errors
/// Every call, and the first item of an iterator, gives `Closed` once the store was closed and
/// `InvalidArgument` for a keyspace of another store.
#[derive(Clone, Debug)]
pub struct Snapshot {
    registration: Arc<Registration>,
}

impl Snapshot {
    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        let store = &handle.store;
        let seq = store.snapshots.register(|| store.visible());
        Self { registration: Arc::new(Registration { handle, seq }) }
    }

    /// The value of `key`, or `None` if it is absent.
    ///
    /// # Errors
    /// Those of [`Keyspace::get`], but for a keyspace that was dropped: it is read as it was.
    pub fn get(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        keyspace.reader_at(self)?.get(key.as_ref(), Some(self.at()))
    }

    /// Whether `key` has a value.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`].
    pub fn contains(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<bool> {
        keyspace.reader_at(self)?.contains(key.as_ref(), Some(self.at()))
    }

    /// The values of `keys`, in the same order.
    ///
    /// # Errors
    /// Those of [`Snapshot::get`], of any of the keys.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keyspace: &Keyspace, keys: &[K]) -> Result<Vec<Option<Value>>> {
        keyspace.reader_at(self)?.multi_get(keys, Some(self.at()))
    }

    /// All keys in order.
    pub fn iter(&self, keyspace: &Keyspace) -> Iter {
        self.range::<&[u8], _>(keyspace, ..)
    }

    /// The keys of a range in order. An inverted or empty range yields nothing.
    pub fn range<K: AsRef<[u8]>, R: RangeBounds<K>>(&self, keyspace: &Keyspace, range: R) -> Iter {
        match keyspace.reader_at(self) {
            Ok(reader) => reader.range(range, Some(self.clone())),
            Err(error) => Iter::failed(error),
        }
    }

    /// The keys that begin with `prefix`, in order.
    pub fn prefix(&self, keyspace: &Keyspace, prefix: impl AsRef<[u8]>) -> Iter {
        match keyspace.reader_at(self) {
            Ok(reader) => reader.prefix(prefix.as_ref(), Some(self.clone())),
            Err(error) => Iter::failed(error),
        }
    }

    /// A cursor over all keys.
    pub fn cursor(&self, keyspace: &Keyspace) -> Cursor {
        self.cursor_in::<&[u8], _>(keyspace, ..)
    }

    /// A cursor over a range.
    pub fn cursor_in<K: AsRef<[u8]>, R: RangeBounds<K>>(&self, keyspace: &Keyspace, range: R) -> Cursor {
        match keyspace.reader_at(self) {
            Ok(reader) => reader.cursor_in(range, Some(self.clone())),
            Err(error) => Cursor::failed(error),
        }
    }

    /// Whether it was taken from this store.
    pub(crate) fn is_of(&self, store: &Arc<Store>) -> bool {
        Arc::ptr_eq(&self.registration.handle.store, store)
    }

    /// The sequence it reads at.
    pub(crate) fn at(&self) -> SeqNo {
        self.registration.seq
    }
}
