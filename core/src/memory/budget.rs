//! One number for all that can be read again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::frames::FrameTable;
use crate::sync::lock;

/// Of the budget, what reservations that can be refused may take, as a fraction: one half. The
/// rest is for pages.
const RESERVED_SHARE: u64 = 2;

/// The hard memory budget of a store.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: u64,
    /// Bytes reserved. The lock also orders the changes of the frame table's capacity.
    reserved: Mutex<u64>,
    frames: FrameTable,
    /// Bytes of reservations that were refused.
    denied: AtomicU64,
}

/// Bytes of the budget, until it is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<Budget>,
    bytes: u64,
}

impl Budget {
    /// A budget of `limit` bytes.
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        let (reserved, denied) = (Mutex::default(), AtomicU64::new(0));
        Arc::new(Self { limit, reserved, frames: FrameTable::new(limit), denied })
    }

    /// Pages read by `pread`.
    #[inline]
    pub(crate) fn frames(&self) -> &FrameTable {
        &self.frames
    }

    /// All of it in bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes reserved.
    pub(crate) fn reserved_bytes(&self) -> u64 {
        *lock(&self.reserved)
    }

    /// Bytes that can be reserved still, where that is not needed to read.
    pub(crate) fn reservable_bytes(&self) -> u64 {
        (self.limit / RESERVED_SHARE).saturating_sub(self.reserved_bytes())
    }

    /// Bytes of reservations that were refused.
    pub(crate) fn denied_bytes(&self) -> u64 {
        self.denied.load(Ordering::Relaxed)
    }

    /// Takes bytes that are needed to read at all. What the budget does not have is part of the
    /// engine's constant: the caller keeps those few.
    pub(crate) fn reserve(self: &Arc<Self>, bytes: u64) -> Reservation {
        self.change(|reserved| reserved + bytes);
        Reservation { budget: self.clone(), bytes }
    }

    /// Takes bytes that make reads faster; `None` if too many are taken already.
    pub(crate) fn try_reserve(self: &Arc<Self>, bytes: u64) -> Option<Reservation> {
        let mut fits = false;
        self.change(|reserved| {
            fits = reserved + bytes <= self.limit / RESERVED_SHARE;
            if fits { reserved + bytes } else { reserved }
        });
        if !fits {
            self.denied.fetch_add(bytes, Ordering::Relaxed);
            return None;
        }
        Some(Reservation { budget: self.clone(), bytes })
    }

    fn change(&self, change: impl FnOnce(u64) -> u64) {
        let mut reserved = lock(&self.reserved);
        let before = *reserved;
        *reserved = change(before);
        if *reserved != before {
            self.frames.set_capacity(self.limit.saturating_sub(*reserved));
        }
    }
}

impl Reservation {
    /// How many.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.change(|reserved| reserved - self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use kiban_formats::{FileNo, PageNo, UNIT_BYTES};

    use super::*;
    use crate::memory::frames::Worth;

    fn fill(budget: &Budget) {
        for page in 0..4_000 {
            let frame = budget.frames().lend(FileNo(1), PageNo(page), UNIT_BYTES).unwrap();
            budget.frames().insert(FileNo(1), PageNo(page), &frame, Worth::Data);
        }
    }

    #[test]
    fn reservations_and_pages_share_the_limit() {
        let limit = 8 << 20;
        let budget = Budget::new(limit);
        fill(&budget);
        assert!(budget.frames().bytes() > limit * 9 / 10);
        let half = budget.try_reserve(limit / 2).expect("half of it can be reserved");
        assert!(budget.frames().bytes() + budget.reserved_bytes() <= limit);
        assert!(budget.try_reserve(1).is_none());
        assert_eq!(budget.denied_bytes(), 1);
        let needed = budget.reserve(limit / 4);
        assert!(budget.frames().bytes() + budget.reserved_bytes() <= limit);
        drop((half, needed));
        assert_eq!(budget.reserved_bytes(), 0);
        fill(&budget);
        assert!(budget.frames().bytes() > limit * 9 / 10, "what is given back is for pages again");
    }

    #[test]
    fn a_budget_of_nothing_still_gives_what_is_needed_to_read() {
        let budget = Budget::new(0);
        assert!(budget.try_reserve(1).is_none());
        let needed = budget.reserve(5_000);
        assert_eq!((budget.reserved_bytes(), budget.frames().bytes()), (5_000, 0));
        drop(needed);
        fill(&budget);
        assert_eq!((budget.frames().bytes(), budget.frames().pinned_bytes()), (0, 0));
    }
}
