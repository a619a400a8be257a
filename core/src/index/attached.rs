//! An open index of a table.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kiban_formats::PageNo;
use kiban_indexes::{Accessor, Location, PointAccessor, Probe, Residency};

use super::counters::{IndexCounters, Outcome};
use crate::error::Result;
use crate::memory::Reservation;
use crate::table::UnitBits;

/// An open index, attached to its table.
#[derive(Debug)]
pub(crate) struct Index {
    accessor: Accessor,
    /// The format's name.
    name: String,
    residency: Residency,
    /// Bytes of the sidecar.
    bytes: u64,
    /// Of the budget, if it is resident.
    reserved: Option<Reservation>,
    /// Of the budget: what the format keeps beside the file's bytes.
    extra: Option<Reservation>,
    counters: Arc<IndexCounters>,
    /// Of the promises, one in so many is checked; 0: none.
    check_every: u32,
    promises: AtomicU64,
    /// Of a format of somebody else: the places that have been pages of the table.
    proven: Option<UnitBits>,
    refuted: AtomicBool,
}

/// What an index is attached with.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) name: String,
    pub(crate) residency: Residency,
    pub(crate) bytes: u64,
    pub(crate) reserved: Option<Reservation>,
    pub(crate) extra: Option<Reservation>,
    pub(crate) counters: Arc<IndexCounters>,
    pub(crate) check_every: u32,
    pub(crate) proven: Option<UnitBits>,
}

impl Index {
    pub(crate) fn new(accessor: Accessor, facts: Facts) -> Self {
        let Facts { name, residency, bytes, reserved, extra, counters, check_every, proven } = facts;
        let (promises, refuted) = (AtomicU64::new(0), AtomicBool::new(false));
        Self {
            accessor,
            name,
            residency,
            bytes,
            reserved,
            extra,
            counters,
            check_every,
            promises,
            proven,
            refuted,
        }
    }

    #[inline]
    pub(crate) fn locate(&self, probe: &Probe<'_>) -> Location {
        self.accessor.locate(probe)
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
        self.counters.count(outcome);
    }

    /// Whether a promise that was just given is one to check.
    #[inline]
    pub(crate) fn is_to_be_checked(&self) -> bool {
        let every = u64::from(self.check_every);
        every > 0 && self.promises.fetch_add(1, Ordering::Relaxed).is_multiple_of(every)
    }

    /// Sees to it that a page which the index names is one, by its checksum, at the first use. A value
    /// can hold anything, also a page of this table as it was once; only Kiban's own formats never name
    /// the middle of a value.
    #[inline]
    pub(crate) fn prove_page(&self, page: PageNo, check: impl FnOnce() -> Result<()>) -> Result<()> {
        match &self.proven {
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
        &self.counters
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn residency(&self) -> Residency {
        self.residency
    }

    /// Bytes of heap, charged to the budget.
    pub(crate) fn resident_bytes(&self) -> u64 {
        [&self.reserved, &self.extra].into_iter().flatten().map(Reservation::bytes).sum()
    }

    /// Bytes of the file that are mapped.
    pub(crate) fn mapped_bytes(&self) -> u64 {
        if self.residency == Residency::Mapped { self.bytes } else { 0 }
    }
}
