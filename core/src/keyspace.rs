//! The handle of a keyspace.

use std::ops::RangeBounds;
use std::sync::Arc;

use kiban_indexes::IndexPolicy;

use crate::commit::Operation;
use crate::db::Handle;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{ReindexReport, TableIndexReport};
use crate::ingest::Ingest;
use crate::iter::{Bounds, Cursor, Iter};
use crate::options::KeyspaceOptions;
use crate::read::Reader;
use crate::settings::Durability;
use crate::snapshot::Snapshot;
use crate::space::Space;
use crate::value::Value;

/// A keyspace of a store: an ordered map from keys to values, in plain byte order. Cheap to
/// clone.
///
/// # Errors
/// Every call, and the first item of an iterator, gives `Closed` once the store was closed or the
/// keyspace was dropped. The others are listed at each call.
#[derive(Clone, Debug)]
pub struct Keyspace {
    handle: Arc<Handle>,
    space: Arc<Space>,
}

impl Keyspace {
    pub(crate) fn new(handle: Arc<Handle>, space: Arc<Space>) -> Self {
        Self { handle, space }
    }

    pub(crate) fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// The keyspace's name.
    pub fn name(&self) -> &str {
        &self.space.name
    }

    /// Its options, as they are stored.
    pub fn options(&self) -> KeyspaceOptions {
        self.space.options()
    }

    #[inline]
    fn reader(&self) -> Result<Reader<'_>> {
        self.handle.store.check_open()?;
        if self.space.is_dropped() {
            return Err(self.closed());
        }
        Ok(Reader { handle: &self.handle, space: &self.space })
    }

    /// A snapshot still reads a keyspace that was dropped after it was taken.
    pub(crate) fn reader_at(&self, snapshot: &Snapshot) -> Result<Reader<'_>> {
        self.handle.store.check_open()?;
        if !snapshot.is_of(&self.handle.store) {
            return Err(Error::invalid("snapshot: it is of another store than the keyspace"));
        }
        Ok(Reader { handle: &self.handle, space: &self.space })
    }

    fn closed(&self) -> Error {
        Error::new(ErrorKind::Closed, format!("keyspace {:?} was dropped", self.space.name))
    }

    /// The value of `key`, or `None` if it is absent. A key over the limit is absent.
    ///
    /// # Errors
    /// `Corruption`, with file, section and offset, where bytes that the answer depends on are
    /// damaged; `Io`.
    #[inline]
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.reader()?.get(key.as_ref(), None)
    }

    /// Whether `key` has a value.
    ///
    /// # Errors
    /// Those of [`Keyspace::get`].
    pub fn contains(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.reader()?.contains(key.as_ref(), None)
    }

    /// The values of `keys`, in the same order and number as asked, all of one moment.
    ///
    /// # Errors
    /// Those of [`Keyspace::get`], of any of the keys.
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Value>>> {
        self.reader()?.multi_get(keys, None)
    }

    /// All keys in order.
    pub fn iter(&self) -> Iter {
        self.range::<&[u8], _>(..)
    }

    /// The keys of a range in order. An inverted or empty range yields nothing.
    pub fn range<K: AsRef<[u8]>, R: RangeBounds<K>>(&self, range: R) -> Iter {
        match self.reader() {
            Ok(reader) => reader.range(range, None),
            Err(error) => Iter::failed(error),
        }
    }

    /// The keys that begin with `prefix`, in order. An empty prefix is everything.
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Iter {
        match self.reader() {
            Ok(reader) => reader.prefix(prefix.as_ref(), None),
            Err(error) => Iter::failed(error),
        }
    }

    /// A cursor over all keys.
    pub fn cursor(&self) -> Cursor {
        self.cursor_in::<&[u8], _>(..)
    }

    /// A cursor over a range.
    pub fn cursor_in<K: AsRef<[u8]>, R: RangeBounds<K>>(&self, range: R) -> Cursor {
        match self.reader() {
            Ok(reader) => reader.cursor_in(range, None),
            Err(error) => Cursor::failed(error),
        }
    }

    /// Sets `key` to `value` with the store's default durability.
    ///
    /// # Errors
    /// Those of [`Keyspace::put_with`].
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.put_with(key, value, self.handle.store.settings.durability)
    }

    /// Sets `key` to `value`. Waits while memtables or level 0 are full.
    ///
    /// # Errors
    /// `InvalidArgument` for a key or value over the limits; `ReadOnly`; `WritesHalted` if the log
    /// could not be written or synced, now or before: nobody knows whether this write is there, and
    /// the store must be reopened; the error of flush or compaction, often `Io` of a full disk, where
    /// it keeps memtables or level 0 full: nothing was written, and a later call may find room.
    pub fn put_with(
        &self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        durability: Durability,
    ) -> Result<()> {
        let operation = Operation::put(key.as_ref(), value.as_ref())?;
        self.handle.store.write_one(&self.space, &operation, durability)
    }

    /// Removes `key` with the store's default durability. Removing an absent key is Ok.
    ///
    /// # Errors
    /// Those of [`Keyspace::put_with`].
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<()> {
        self.delete_with(key, self.handle.store.settings.durability)
    }

    /// Removes `key`. Removing an absent key is Ok.
    ///
    /// # Errors
    /// Those of [`Keyspace::put_with`].
    pub fn delete_with(&self, key: impl AsRef<[u8]>, durability: Durability) -> Result<()> {
        let operation = Operation::delete(key.as_ref())?;
        self.handle.store.write_one(&self.space, &operation, durability)
    }

    /// Removes all keys, at once and durably. Snapshots and iterators taken before read on. Waits for
    /// no room: it makes some.
    ///
    /// # Errors
    /// `ReadOnly`; `WritesHalted`; `Io` where the manifest cannot be written: then all keys are gone
    /// all the same, their files once the store was opened again.
    pub fn clear(&self) -> Result<()> {
        self.handle.store.clear(&self.space)
    }

    /// Puts all pairs at once and durably: written straight into tables, they cost neither log nor
    /// memtable. Keys must rise strictly. The pairs are newer than all that was acknowledged
    /// before; nobody sees some of them without the others. No pair is Ok. The iterator may be
    /// slow, and may itself use the store.
    ///
    /// # Errors
    /// `InvalidArgument` with the ordinal, from 0, of the first pair whose key does not come after
    /// the one before or that is over a limit; then, as after any other error or a panic of the
    /// iterator, nothing is visible. Only after `WritesHalted` it is the next open that tells.
    pub fn ingest<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<()> {
        let mut ingest = Ingest::begin(&self.handle.store, &self.space)?;
        for (key, value) in pairs {
            ingest.add(key.as_ref(), value.as_ref())?;
        }
        ingest.commit()
    }

    /// About how many keys have a value. Reads no data page: it adds up what the manifest says of
    /// the tables and what the memtables hold. Exact where all of it is one sorted run, as after
    /// [`Keyspace::compact`] with no snapshot open, or one small memtable. Elsewhere a key that was
    /// overwritten counts again in each table and memtable that has a version of it, and a
    /// tombstone is taken to hide one key, so deletes of absent keys count against the others.
    ///
    /// # Errors
    /// Only `Closed`.
    pub fn approximate_len(&self) -> Result<u64> {
        self.reader()?;
        Ok(self.handle.store.approximate_len(&self.space))
    }

    /// About how many bytes of table files and memtables hold the keys of a range; an inverted or
    /// empty range has 0. Reads no data page, and at most one index page for each end that lies
    /// inside a table. The error is half a page for each such end, and in memtables at most half of
    /// those that have more than 4,096 entries inside and outside the range.
    ///
    /// # Errors
    /// Those of [`Keyspace::get`].
    pub fn approximate_bytes<K: AsRef<[u8]>, R: RangeBounds<K>>(&self, range: R) -> Result<u64> {
        self.reader()?;
        self.handle.store.approximate_bytes(&self.space, &Bounds::of(range))
    }

    /// Writes what is in memory into tables; returns when it is there.
    ///
    /// # Errors
    /// `ReadOnly`; `WritesHalted`; what keeps the tables from being written, often `Io` of a full
    /// disk: what is in memory stays there, and is tried again.
    pub fn flush(&self) -> Result<()> {
        self.reader()?;
        self.handle.store.flush(std::slice::from_ref(&self.space))
    }

    /// Writes what is in memory into tables, then all tables anew: old versions and tombstones
    /// that no snapshot needs are gone when it returns, also at the bottom.
    ///
    /// # Errors
    /// Those of [`Keyspace::flush`], and `Corruption` of a table; tables are then as they were.
    pub fn compact(&self) -> Result<()> {
        self.compact_range::<&[u8], _>(..)
    }

    /// The same for the tables that hold keys of a range, and those that overlap them.
    ///
    /// # Errors
    /// Those of [`Keyspace::compact`].
    pub fn compact_range<K: AsRef<[u8]>, R: RangeBounds<K>>(&self, range: R) -> Result<()> {
        self.reader()?;
        let bounds = (range.start_bound().map(AsRef::as_ref), range.end_bound().map(AsRef::as_ref));
        self.handle.store.compact_range(&self.space, bounds)
    }

    /// Gives the keyspace another policy, and returns when its live tables have the indexes that
    /// it wants. Data is untouched; reads and writes go on.
    ///
    /// # Errors
    /// `InvalidArgument` for a policy that names a format that is not registered; `ReadOnly`; `Io`
    /// where the policy cannot be stored, and where an index cannot be written or removed: then the
    /// policy is stored, and the other tables have what it wants.
    pub fn reindex(&self, policy: IndexPolicy) -> Result<ReindexReport> {
        self.reader()?;
        self.handle.store.reindex(&self.space, policy)
    }

    /// Which index each live table has, and why.
    ///
    /// # Errors
    /// Only `Closed`.
    pub fn explain(&self) -> Result<Vec<TableIndexReport>> {
        self.reader()?;
        Ok(self.handle.store.explain(std::slice::from_ref(&self.space)))
    }
}
