//! A keyspace inside the engine: its memtables and tables, switched as one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use kiban_formats::{KeyspaceId, SeqNo};
use kiban_indexes::Probe;

use crate::error::Result;
use crate::levels::Levels;
use crate::memtable::{Memtable, MemtableSource};
use crate::source::{Found, Source};
use crate::sync::lock;
use crate::table::TableContext;

/// The name of the keyspace that every store has.
pub(crate) const DEFAULT_KEYSPACE: &str = "default";

/// A keyspace: a name, an id, and the view that reads start from.
#[derive(Debug)]
pub(crate) struct Space {
    /// Tells stores of one process apart.
    pub(crate) store: u64,
    pub(crate) id: KeyspaceId,
    pub(crate) name: String,
    view: ArcSwap<View>,
    /// One change of the view at a time.
    change: Mutex<()>,
    /// All operations up to this sequence are in tables.
    flushed: AtomicU64,
    dropped: AtomicBool,
}

impl Space {
    pub(crate) fn new(store: u64, id: KeyspaceId, name: String, view: View, flushed: SeqNo) -> Self {
        Self {
            store,
            id,
            name,
            view: ArcSwap::from_pointee(view),
            change: Mutex::new(()),
            flushed: AtomicU64::new(flushed.0),
            dropped: AtomicBool::new(false),
        }
    }

    /// What reads start from. Load it *before* the visible sequence: a view loaded after could
    /// lack a version that a compaction dropped because nobody seemed to need it.
    #[inline]
    pub(crate) fn view(&self) -> arc_swap::Guard<Arc<View>> {
        self.view.load()
    }

    /// The same, to keep.
    pub(crate) fn view_owned(&self) -> Arc<View> {
        self.view.load_full()
    }

    /// Replaces the view by what `change` makes of it.
    pub(crate) fn change(&self, change: impl FnOnce(&View) -> View) {
        let _one_at_a_time = lock(&self.change);
        let next = change(&self.view.load());
        self.view.store(Arc::new(next));
    }

    /// Puts the active memtable behind an empty one. The caller holds the commit lock, so that
    /// nobody writes into the sealed one.
    pub(crate) fn seal(&self) {
        self.change(|view| {
            let mut sealed = Vec::with_capacity(view.sealed.len() + 1);
            sealed.push(view.active.clone());
            sealed.extend_from_slice(&view.sealed);
            View { active: Arc::new(Memtable::new()), sealed, levels: view.levels.clone() }
        });
    }

    /// All operations up to this sequence are in tables.
    pub(crate) fn flushed(&self) -> SeqNo {
        SeqNo(self.flushed.load(Ordering::Acquire))
    }

    pub(crate) fn set_flushed(&self, seq: SeqNo) {
        self.flushed.fetch_max(seq.0, Ordering::AcqRel);
    }

    pub(crate) fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::Acquire)
    }
}

/// The memtables and tables of a keyspace at one moment. Never changes; holding it keeps
/// everything in it readable.
#[derive(Debug)]
pub(crate) struct View {
    /// Takes the writes.
    pub(crate) active: Arc<Memtable>,
    /// Full, waiting to be flushed; newest first.
    pub(crate) sealed: Vec<Arc<Memtable>>,
    pub(crate) levels: Arc<Levels>,
}

impl View {
    pub(crate) fn new(levels: Levels) -> Self {
        Self { active: Arc::new(Memtable::new()), sealed: Vec::new(), levels: Arc::new(levels) }
    }

    /// Searches newest first; the first answer other than [`Found::Absent`] is the answer.
    #[inline]
    pub(crate) fn get(&self, tables: &TableContext, probe: &Probe<'_>) -> Result<Found> {
        let memtables = std::iter::once(&self.active).chain(&self.sealed);
        for memtable in memtables {
            match memtable.get(probe.key, probe.snapshot) {
                Found::Absent => {}
                found => return Ok(found),
            }
        }
        self.levels.get(tables, probe)
    }

    /// One source for each memtable and table, newest first.
    pub(crate) fn sources(&self, tables: &TableContext) -> Result<Vec<Box<dyn Source>>> {
        let mut sources: Vec<Box<dyn Source>> = Vec::new();
        for memtable in std::iter::once(&self.active).chain(&self.sealed) {
            if !memtable.is_empty() || Arc::ptr_eq(memtable, &self.active) {
                sources.push(Box::new(MemtableSource::new(memtable.clone())));
            }
        }
        self.levels.push_sources(tables, &mut sources)?;
        Ok(sources)
    }
}
