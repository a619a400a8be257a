//! A keyspace inside the engine: its memtables and tables, switched as one.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use kiban_formats::{KeyspaceId, SeqNo};
use kiban_indexes::Probe;

use crate::error::Result;
use crate::index::{Indexing, Policy};
use crate::levels::{Levels, LevelsChange};
use crate::memtable::{Memtable, MemtableSource};
use crate::multi_get::Batch;
use crate::options::KeyspaceOptions;
use crate::sealed::Sealed;
use crate::settings::Settings;
use crate::source::{Found, Source};
use crate::sync::lock;
use crate::table::TableContext;
use crate::table::TableHandle;

/// The name of the keyspace that every store has.
pub(crate) const DEFAULT_KEYSPACE: &str = "default";

/// A keyspace: a name, an id, and the view that reads start from.
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
    /// Which indexes its tables get.
    policy: ArcSwap<Policy>,
    own: ArcSwap<Own>,
}

/// A keyspace's options, and the store's settings with these in their place.
#[derive(Debug, Default)]
struct Own {
    options: KeyspaceOptions,
    settings: Arc<Settings>,
}

impl fmt::Debug for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Space").field("id", &self.id).field("name", &self.name).finish_non_exhaustive()
    }
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
            policy: ArcSwap::from_pointee(Policy::none()),
            own: ArcSwap::default(),
        }
    }

    /// Its options.
    pub(crate) fn options(&self) -> KeyspaceOptions {
        self.own.load().options.clone()
    }

    /// The store's settings with its options in their place.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.own.load().settings.clone()
    }

    /// Takes other options, for memtables and tables from here on.
    ///
    /// # Errors
    /// `InvalidArgument` for a value out of range, or a policy that names an unknown format.
    pub(crate) fn set_options(
        &self,
        options: KeyspaceOptions,
        store: &Settings,
        indexing: &Indexing,
    ) -> Result<()> {
        let settings = Arc::new(options.over(store)?);
        let rules = options.index_policy.clone().unwrap_or_else(|| indexing.default_policy.clone());
        indexing.check(&rules)?;
        if rules != self.policy().rules || !self.policy().is_decided() {
            self.policy.store(Arc::new(indexing.policy(rules)));
        }
        self.own.store(Arc::new(Own { options, settings }));
        Ok(())
    }

    /// Lets all be decided again, by this policy.
    pub(crate) fn decide_anew(&self, policy: Policy) {
        self.policy.store(Arc::new(policy));
    }

    /// Which indexes its tables get.
    pub(crate) fn policy(&self) -> arc_swap::Guard<Arc<Policy>> {
        self.policy.load()
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
    fn change(&self, change: impl FnOnce(&View) -> View) {
        self.try_change(|view| Some(change(view)));
    }

    /// The same, unless `change` gives `None`. Whether it was replaced.
    fn try_change(&self, change: impl FnOnce(&View) -> Option<View>) -> bool {
        let _one_at_a_time = lock(&self.change);
        let next = change(&self.view.load());
        let changes = next.is_some();
        if let Some(next) = next {
            self.view.store(Arc::new(next));
        }
        changes
    }

    /// Puts some tables in the place of others, unless the keyspace was cleared meanwhile and has
    /// not all of those any more. Whether it did.
    pub(crate) fn replace_tables(&self, change: &LevelsChange) -> bool {
        self.try_change(|view| {
            let has_all = change.removed.iter().all(|no| view.levels.has(*no));
            has_all.then(|| view.changed(change, None))
        })
    }

    /// Puts tables in the place of something sealed, unless the keyspace was cleared meanwhile and
    /// has that no more. Whether it did.
    pub(crate) fn replace_sealed(&self, sealed: &Sealed, tables: Vec<Arc<TableHandle>>) -> bool {
        let change = LevelsChange { removed: Vec::new(), added: tables };
        self.try_change(|view| view.has_sealed(sealed).then(|| view.changed(&change, Some(sealed))))
    }

    /// Puts the active memtable behind an empty one. The caller holds the commit lock, so that
    /// nobody writes into the sealed one.
    pub(crate) fn seal(&self) {
        self.change(View::with_active_sealed);
    }

    /// Seals the active memtable and puts what is newer than that before it. The same holds.
    pub(crate) fn seal_behind(&self, newer: Sealed) {
        self.change(|view| {
            let mut next = view.with_active_sealed();
            if view.active.is_empty() {
                // A new one all the same: who holds the old view must not see younger writes alone.
                next.sealed.remove(0);
            }
            next.sealed.insert(0, newer);
            next
        });
    }

    /// Puts an empty view in the place of the one there is, for readers at `since` and later;
    /// snapshots before that go on reading the old one. Returns the old one.
    pub(crate) fn clear(&self, since: SeqNo) -> Arc<View> {
        let _one_at_a_time = lock(&self.change);
        let old = self.view_owned();
        let before = Some(old.clone());
        self.view.store(Arc::new(View { since, before, ..View::new(Levels::default()) }));
        old
    }

    /// Lets go of views that only snapshots before `oldest` would read. Whether there is one left.
    pub(crate) fn prune(&self, oldest: SeqNo) -> bool {
        if self.view().before.is_some() {
            self.change(|view| view.pruned(oldest));
        }
        self.view().before.is_some()
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

    /// Refuses writes and reads of now from here on, or allows them again.
    pub(crate) fn set_dropped(&self, dropped: bool) {
        self.dropped.store(dropped, Ordering::Release);
    }
}

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

    fn shared(&self) -> Self {
        Self {
            active: self.active.clone(),
            sealed: self.sealed.clone(),
            levels: self.levels.clone(),
            since: self.since,
            before: self.before.clone(),
        }
    }

    fn with_active_sealed(&self) -> Self {
        let mut next = self.shared();
        let full = std::mem::replace(&mut next.active, Arc::new(Memtable::new()));
        next.sealed.insert(0, Sealed::Memtable(full));
        next
    }

    /// Whether this waits for its turn.
    pub(crate) fn has_sealed(&self, sealed: &Sealed) -> bool {
        self.sealed.iter().any(|other| other.is(sealed))
    }

    /// With some tables in the place of others, and without what became one of them.
    fn changed(&self, change: &LevelsChange, flushed: Option<&Sealed>) -> Self {
        let mut next = self.shared();
        next.levels = Arc::new(self.levels.changed(change));
        next.sealed.retain(|sealed| !flushed.is_some_and(|flushed| sealed.is(flushed)));
        next
    }

    fn pruned(&self, oldest: SeqNo) -> Self {
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
    pub(crate) fn get(&self, tables: &TableContext, probe: &Probe<'_>) -> Result<Found> {
        match self.active.get(probe.key, probe.snapshot) {
            Found::Absent => {}
            found => return Ok(found),
        }
        for sealed in &self.sealed {
            match sealed.get(tables, probe)? {
                Found::Absent => {}
                found => return Ok(found),
            }
        }
        self.levels.get(tables, probe)
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
