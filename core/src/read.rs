//! Reads of one keyspace: the first two of the calls between `get` and the value.

use std::ops::RangeBounds;
use std::sync::Arc;

use kiban_formats::SeqNo;
use kiban_indexes::{Probe, key_hash};

use crate::db::Handle;
use crate::error::Result;
use crate::iter::{Bounds, Cursor, Iter, ReadView};
use crate::limits::KEY_BYTES_MAX;
use crate::snapshot::Snapshot;
use crate::source::{Found, Source, Wants};
use crate::space::Space;
use crate::value::Value;
use crate::view::View;

/// Reads of one keyspace of an open store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) handle: &'a Arc<Handle>,
    pub(crate) space: &'a Arc<Space>,
}

impl Reader<'_> {
    /// The newest version of `key` that the snapshot, or a reader of now, may see.
    #[inline]
    pub(crate) fn get(&self, key: &[u8], snapshot: Option<SeqNo>) -> Result<Option<Value>> {
        Ok(match self.find(key, snapshot, Wants::Value)? {
            Found::Value(value) => Some(value),
            Found::Absent | Found::Deleted => None,
        })
    }

    pub(crate) fn contains(&self, key: &[u8], snapshot: Option<SeqNo>) -> Result<bool> {
        Ok(matches!(self.find(key, snapshot, Wants::Presence)?, Found::Value(_)))
    }

    #[inline]
    fn find(&self, key: &[u8], snapshot: Option<SeqNo>, wants: Wants) -> Result<Found> {
        let view = self.space.view();
        let seq = snapshot.unwrap_or_else(|| self.handle.store.visible());
        self.find_in(&view, key, seq, wants)
    }

    #[inline]
    fn find_in(&self, view: &View, key: &[u8], seq: SeqNo, wants: Wants) -> Result<Found> {
        if key.len() > KEY_BYTES_MAX {
            return Ok(Found::Absent);
        }
        let Some(view) = view.at(seq) else { return Ok(Found::Absent) };
        let probe = Probe::new(key, key_hash(self.handle.store.hash_seed, key), seq);
        view.get(&self.handle.store.tables, &probe, wants)
    }

    /// All keys are read from one view at one sequence.
    pub(crate) fn multi_get<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        snapshot: Option<SeqNo>,
    ) -> Result<Vec<Option<Value>>> {
        let view = self.space.view();
        let store = &self.handle.store;
        let seq = snapshot.unwrap_or_else(|| store.visible());
        let Some(view) = view.at(seq) else { return Ok(vec![None; keys.len()]) };
        // A key that is too long is absent, as its hash, which no table has, would be.
        let keys = keys.iter().map(AsRef::as_ref);
        let probes = keys.map(|key| Probe::new(key, key_hash(store.hash_seed, key), seq)).collect();
        let value = |found| match found {
            Found::Value(value) => Some(value),
            Found::Absent | Found::Deleted => None,
        };
        Ok(view.get_many(&store.tables, probes)?.into_iter().map(value).collect())
    }

    pub(crate) fn range<K: AsRef<[u8]>, R: RangeBounds<K>>(
        &self,
        range: R,
        snapshot: Option<Snapshot>,
    ) -> Iter {
        Iter::new(self.pinned(snapshot), Bounds::of(range))
    }

    pub(crate) fn prefix(&self, prefix: &[u8], snapshot: Option<Snapshot>) -> Iter {
        Iter::new(self.pinned(snapshot), Bounds::prefix(prefix))
    }

    pub(crate) fn cursor_in<K: AsRef<[u8]>, R: RangeBounds<K>>(
        &self,
        range: R,
        snapshot: Option<Snapshot>,
    ) -> Cursor {
        Cursor::new(self.pinned(snapshot), Bounds::of(range))
    }

    fn pinned(&self, snapshot: Option<Snapshot>) -> Arc<Pinned> {
        let view = self.space.view_owned();
        let seq = snapshot.as_ref().map_or_else(|| self.handle.store.visible(), Snapshot::at);
        Arc::new(Pinned { handle: self.handle.clone(), view, seq })
    }
}

/// What an iterator holds: a handle, so that it outlives the others, a view and a sequence. The
/// view's memtables and tables stay as they are for as long as it is held, so the sequence needs
/// no registration.
#[derive(Debug)]
struct Pinned {
    handle: Arc<Handle>,
    view: Arc<View>,
    seq: SeqNo,
}

impl ReadView for Pinned {
    fn sources(&self) -> Result<Vec<Box<dyn Source>>> {
        match self.view.at(self.seq) {
            Some(view) => view.sources(&self.handle.store.tables),
            None => Ok(Vec::new()),
        }
    }

    fn snapshot(&self) -> SeqNo {
        self.seq
    }

    fn check_open(&self) -> Result<()> {
        self.handle.store.check_open()
    }
}
