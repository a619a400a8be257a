//! A keyspace inside the engine: its memtables and tables, switched as one.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use kiban_formats::{KeyspaceId, SeqNo};

use crate::error::Result;
use crate::index::{Indexing, Policy};
use crate::levels::LevelsChange;
use crate::options::KeyspaceOptions;
use crate::sealed::Sealed;
use crate::settings::Settings;
use crate::sync::lock;
use crate::table::TableHandle;
use crate::view::View;

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
        let rules = indexing.rules(options.index_policy.as_ref());
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
        self.change(|view| view.with_sealed_behind(newer));
    }

    /// Puts an empty view in the place of the one there is, for readers at `since` and later;
    /// snapshots before that go on reading the old one. Returns the old one.
    pub(crate) fn clear(&self, since: SeqNo) -> Arc<View> {
        let _one_at_a_time = lock(&self.change);
        let old = self.view_owned();
        self.view.store(Arc::new(View::cleared(since, old.clone())));
        old
    }

    /// Lets go of views that only snapshots before `oldest` would read. Whether there is one left.
    pub(crate) fn prune(&self, oldest: SeqNo) -> bool {
        if self.view().has_before() {
            self.change(|view| view.pruned(oldest));
        }
        self.view().has_before()
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
