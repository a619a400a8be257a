//! An open index of a table.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kiban_formats::PageNo;
use kiban_indexes::{Accessor, Location, PointAccessor, Presence, Probe, Residency};

use super::counters::{IndexCounters, Outcome};
use crate::error::Result;
use crate::memory::Reservation;
use crate::table::UnitBits;

/// An open index, attached to its table.
#[derive(Debug)]
pub(crate) struct Index {
    accessor: Accessor,
    facts: Facts,
    promises: AtomicU64,
    refuted: AtomicBool,
}

/// What an index is attached with.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The format's name.
    pub(crate) name: String,
    /// Whether the format keeps whole keys.
    pub(crate) keeps_keys: bool,
    pub(crate) residency: Residency,
    /// Bytes of the sidecar.
    pub(crate) bytes: u64,
    /// Of the budget, if it is resident.
    pub(crate) reserved: Option<Reservation>,
    /// Of the budget: what the format keeps beside the file's bytes.
    pub(crate) extra: Option<Reservation>,
    pub(crate) counters: Arc<IndexCounters>,
    /// Of the promises, one in so many is checked; 0: none.
    pub(crate) check_every: u32,
    /// Of a format of somebody else: the places that have been pages of the table.
    pub(crate) proven: Option<UnitBits>,
}

impl Index {
    pub(crate) fn new(accessor: Accessor, facts: Facts) -> Self {
        Self { accessor, facts, promises: AtomicU64::new(0), refuted: AtomicBool::new(false) }
    }

    #[inline]
    pub(crate) fn locate(&self, probe: &Probe<'_>) -> Location {
        self.accessor.locate(probe)
    }

    /// What it knows of a key without its page; only one that keeps whole keys is asked.
    #[inline]
    pub(crate) fn presence(&self, probe: &Probe<'_>) -> Presence {
        if self.facts.keeps_keys { self.accessor.presence(probe) } else { Presence::Unknown }
    }

    pub(crate) fn locate_many(&self, probes: &[Probe<'_>], out: &mut [Location]) {
        self.accessor.locate_many(probes, out);
    }

    #[inline]
    pub(crate) fn rejects_absent(&self) -> bool {
        self.accessor.rejects_absent()
    }

    #[inline]
    pub(crate) fn count(&self, outcome: Outcome) {
        self.facts.counters.count(outcome);
    }

    /// Whether a promise that was just given is one to check.
    #[inline]
    pub(crate) fn is_to_be_checked(&self) -> bool {
        let every = u64::from(self.facts.check_every);
        every > 0 && self.promises.fetch_add(1, Ordering::Relaxed).is_multiple_of(every)
    }

    /// Sees to it that a page which the index names is one, by its checksum, at the first use. A value
    /// can hold anything, also a page of this table as it was once; only Kiban's own formats never name
    /// the middle of a value.
    #[inline]
    pub(crate) fn prove_page(&self, page: PageNo, check: impl FnOnce() -> Result<()>) -> Result<()> {
        match &self.facts.proven {
            Some(proven) if !proven.is_set(page.0) => check().map(|()| proven.set(page.0)),
            _ => Ok(()),
        }
    }

    /// It was wrong: whoever sees that lets go of it.
    #[cold]
    pub(crate) fn refute(&self) {
        self.count(Outcome::Refuted);
        self.refuted.store(true, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_refuted(&self) -> bool {
        self.refuted.load(Ordering::Relaxed)
    }

    pub(crate) fn counters(&self) -> &Arc<IndexCounters> {
        &self.facts.counters
    }

    pub(crate) fn name(&self) -> &str {
        &self.facts.name
    }

    pub(crate) fn residency(&self) -> Residency {
        self.facts.residency
    }

    /// Bytes of heap, charged to the budget.
    pub(crate) fn resident_bytes(&self) -> u64 {
        [&self.facts.reserved, &self.facts.extra].into_iter().flatten().map(Reservation::bytes).sum()
    }

    /// Bytes of the file that are mapped.
    pub(crate) fn mapped_bytes(&self) -> u64 {
        if self.facts.residency == Residency::Mapped { self.facts.bytes } else { 0 }
    }
}
