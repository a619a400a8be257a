//! A table's index, or why it has none.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwapOption;
use kiban_indexes::Params;

use super::attached::Index;
use super::collect::{Collected, Collection};
use super::counters::{IndexCounters, Outcome};
use crate::error::ErrorKind;
use crate::sync::lock;

/// Which index a table has. Readers load it once a lookup; the background changes it.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    attached: ArcSwapOption<Attached>,
    /// The policy by which it was decided, and the level the table was in; 0: nothing was decided.
    decision: AtomicU64,
    settled: Mutex<Settled>,
    /// What was collected while the table was written, until its indexes are built.
    collected: Mutex<Option<Collection>>,
}

/// What readers find.
#[derive(Debug)]
pub(crate) enum Attached {
    Index(Index),
    /// One is wanted and is not there: lookups are counted.
    Missing(Arc<IndexCounters>),
}

/// What was decided for a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settled {
    /// The policy's rule, in words.
    pub(crate) rule: String,
    /// Why this index, or why none.
    pub(crate) reason: String,
    /// Sidecars there are beside the table, of any format: names and bytes.
    pub(crate) sidecars: Vec<(String, u64)>,
    /// What came of each wanted format.
    pub(crate) states: Vec<(String, State)>,
    /// How often an index was wrong about a key.
    pub(crate) refuted: u32,
    /// The last attempt failed, for what `reason` says.
    pub(crate) failed: Option<ErrorKind>,
}

/// What came of a format that was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It was there.
    Kept,
    /// It was built.
    Built,
    /// It does not index this table.
    Declined(String),
    /// It is not there, and the store is open for reading only.
    Missing,
}

impl Slot {
    pub(crate) fn attached(&self) -> Option<Arc<Attached>> {
        self.attached.load_full()
    }

    /// Puts an index, or the lack of one, in the place of what there is.
    pub(crate) fn attach(&self, attached: Option<Attached>) {
        self.attached.store(attached.map(Arc::new));
    }

    /// Lets go of an index that was wrong, and of the decision for it.
    pub(crate) fn detach_refuted(&self, counters: &Arc<IndexCounters>) {
        self.attach(Some(Attached::Missing(counters.clone())));
        let mut settled = lock(&self.settled);
        settled.reason = "it was wrong about a key: it is built anew".to_owned();
        settled.refuted += 1;
        drop(settled);
        self.decision.store(0, Ordering::Release);
    }

    /// Whether no decision was made.
    pub(crate) fn is_undecided(&self) -> bool {
        self.is_settled(0)
    }

    /// Whether this decision was made.
    pub(crate) fn is_settled(&self, decision: u64) -> bool {
        self.decision.load(Ordering::Acquire) == decision
    }

    /// What was collected for a table that is new.
    pub(crate) fn has_collected(&self, collection: Collection) {
        *lock(&self.collected) = Some(collection);
    }

    /// Whether an index of it only has to be solved.
    pub(crate) fn is_collected(&self) -> bool {
        lock(&self.collected).is_some()
    }

    pub(super) fn take_collected(&self, format: &str, params: &Params) -> Option<Collected> {
        lock(&self.collected).as_mut()?.take(format, params)
    }

    pub(crate) fn settle(&self, decision: u64, settled: Settled) {
        // What nothing was made of is of no more use.
        *lock(&self.collected) = None;
        *lock(&self.settled) = settled;
        self.decision.store(decision, Ordering::Release);
    }

    /// Why the index is kept where it is.
    pub(crate) fn give_reason(&self, reason: String) {
        lock(&self.settled).reason = reason;
    }

    pub(crate) fn settled(&self) -> Settled {
        lock(&self.settled).clone()
    }

    /// Bytes of heap of what was decided.
    pub(crate) fn memory_bytes(&self) -> usize {
        let Settled { rule, reason, sidecars, states, .. } = &*lock(&self.settled);
        let names = sidecars.iter().map(|(name, _)| name).chain(states.iter().map(|(name, _)| name));
        let lists = sidecars.capacity() * size_of::<(String, u64)>()
            + states.capacity() * size_of::<(String, State)>();
        let counts = 2 * size_of::<usize>();
        let attached = self.attached.load();
        let attached = attached.as_deref().map_or(0, |attached| {
            let name = if let Attached::Index(index) = attached { index.name().len() } else { 0 };
            size_of::<Attached>() + counts + name
        });
        rule.capacity() + reason.capacity() + lists + names.map(String::capacity).sum::<usize>() + attached
    }

    /// The sidecar of this format was removed.
    pub(crate) fn forget_sidecar(&self, format: &str) {
        lock(&self.settled).sidecars.retain(|(name, _)| name != format);
    }

    /// There is a sidecar of this format beside the table.
    pub(crate) fn has_sidecar(&self, format: &str, bytes: u64) {
        lock(&self.settled).sidecars.push((format.to_owned(), bytes));
    }
}

impl Attached {
    /// The index to ask; counts where there should be one.
    #[inline]
    pub(crate) fn index(&self) -> Option<&Index> {
        match self {
            Self::Index(index) => Some(index),
            Self::Missing(counters) => {
                counters.count(Outcome::Fallback);
                None
            }
        }
    }
}
