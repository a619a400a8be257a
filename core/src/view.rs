//! What a read of a keyspace starts from.

use std::sync::Arc;

use kiban_formats::SeqNo;
use kiban_indexes::Probe;

use crate::error::Result;
use crate::levels::{Levels, LevelsChange};
use crate::memtable::{Memtable, MemtableSource};
use crate::multi_get::Batch;
use crate::sealed::Sealed;
use crate::source::{Found, Source, Wants};
use crate::table::{TableContext, TableHandle};

/// The memtables and tables of a keyspace at one moment. Never changes; holding it keeps
/// everything in it readable.
#[derive(Debug)]
pub(crate) struct View {
    /// Takes the writes.
    pub(crate) active: Arc<Memtable>,
    /// Full memtables, waiting to be flushed, and ingested tables; newest first.
    pub(crate) sealed: Vec<Sealed>,
    pub(crate) levels: Arc<Levels>,
    /// What was there before the keyspace was cleared at sequence `since`.
    since: SeqNo,
    before: Option<Arc<View>>,
}

impl View {
    pub(crate) fn new(levels: Levels) -> Self {
        let (active, levels) = (Arc::new(Memtable::new()), Arc::new(levels));
        Self { active, sealed: Vec::new(), levels, since: SeqNo(0), before: None }
    }

    /// What a reader at `seq` reads; `None`: nothing.
    #[inline]
    pub(crate) fn at(&self, seq: SeqNo) -> Option<&Self> {
        let mut view = self;
        while seq < view.since {
            view = view.before.as_deref()?;
        }
        Some(view)
    }

    /// Tables of sequences below this are not part of it.
    pub(crate) fn since(&self) -> SeqNo {
        self.since
    }

    /// An empty one, for readers at `since` and later; others go on reading the one before.
    pub(crate) fn cleared(since: SeqNo, before: Arc<Self>) -> Self {
        Self { since, before: Some(before), ..Self::new(Levels::default()) }
    }

    /// Whether there is one from before a clear.
    pub(crate) fn has_before(&self) -> bool {
        self.before.is_some()
    }

    fn shared(&self) -> Self {
        Self {
            active: self.active.clone(),
            sealed: self.sealed.clone(),
            levels: self.levels.clone(),
            since: self.since,
            before: self.before.clone(),
        }
    }

    /// With the active memtable behind an empty one.
    pub(crate) fn with_active_sealed(&self) -> Self {
        let mut next = self.shared();
        let full = std::mem::replace(&mut next.active, Arc::new(Memtable::new()));
        next.sealed.insert(0, Sealed::Memtable(full));
        next
    }

    /// The same, with something newer before what was sealed.
    pub(crate) fn with_sealed_behind(&self, newer: Sealed) -> Self {
        let mut next = self.with_active_sealed();
        if self.active.is_empty() {
            // A new one all the same: who holds the old view must not see younger writes alone.
            next.sealed.remove(0);
        }
        next.sealed.insert(0, newer);
        next
    }

    /// Whether this waits for its turn.
    pub(crate) fn has_sealed(&self, sealed: &Sealed) -> bool {
        self.sealed.iter().any(|other| other.is(sealed))
    }

    /// With some tables in the place of others, and without what became one of them.
    pub(crate) fn changed(&self, change: &LevelsChange, flushed: Option<&Sealed>) -> Self {
        let mut next = self.shared();
        next.levels = Arc::new(self.levels.changed(change));
        next.sealed.retain(|sealed| !flushed.is_some_and(|flushed| sealed.is(flushed)));
        next
    }

    /// Without what no snapshot at `oldest` or later reads.
    pub(crate) fn pruned(&self, oldest: SeqNo) -> Self {
        let before = self.before.as_ref().filter(|_| oldest < self.since);
        Self { before: before.map(|view| Arc::new(view.pruned(oldest))), ..self.shared() }
    }

    /// Active and sealed, newest first.
    pub(crate) fn memtables(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(self.sealed.iter().filter_map(Sealed::memtable))
    }

    /// All tables: those that wait and those in the levels, newer ones before older ones.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<TableHandle>> {
        self.sealed.iter().flat_map(Sealed::tables).chain(self.levels.tables())
    }

    /// Searches newest first; the first answer other than [`Found::Absent`] is the answer.
    #[inline]
    pub(crate) fn get(&self, tables: &TableContext, probe: &Probe<'_>, wants: Wants) -> Result<Found> {
        match self.active.get(probe.key, probe.snapshot) {
            Found::Absent => {}
            found => return Ok(found),
        }
        for sealed in &self.sealed {
            match sealed.get(tables, probe, wants)? {
                Found::Absent => {}
                found => return Ok(found),
            }
        }
        self.levels.get(tables, probe, wants)
    }

    /// The same for many keys at once, in their order.
    pub(crate) fn get_many<'k>(&self, tables: &TableContext, probes: Vec<Probe<'k>>) -> Result<Vec<Found>> {
        let mut batch = Batch::new(probes);
        batch.ask(|probe| self.active.get(probe.key, probe.snapshot));
        for sealed in &self.sealed {
            match sealed {
                Sealed::Memtable(memtable) => batch.ask(|probe| memtable.get(probe.key, probe.snapshot)),
                Sealed::Ingested(run) => batch.ask_run(tables, run)?,
            }
        }
        self.levels.get_many(tables, &mut batch)?;
        Ok(batch.into_found())
    }

    /// One source for each memtable and table, newest first. The caller has its sequence already:
    /// what is added to an empty memtable from here on is newer than that.
    pub(crate) fn sources(&self, tables: &TableContext) -> Result<Vec<Box<dyn Source>>> {
        let mut sources: Vec<Box<dyn Source>> = Vec::new();
        if !self.active.is_empty() {
            sources.push(Box::new(MemtableSource::new(self.active.clone())));
        }
        sources.extend(self.sealed.iter().filter_map(|sealed| sealed.source(tables)));
        self.levels.push_sources(tables, &mut sources)?;
        Ok(sources)
    }
}
