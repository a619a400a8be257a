//! A bit for each 4 KiB unit: what was checked once.

use std::sync::atomic::{AtomicU64, Ordering};

/// A bit for each of some units, none of them set at first. A bit follows from bytes that do not
/// change, so that any order of loads and stores will do.
#[derive(Debug)]
pub(crate) struct UnitBits(Box<[AtomicU64]>);

impl UnitBits {
    /// For so many units.
    pub(crate) fn new(units: u64) -> Self {
        Self((0..units.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Bytes of heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    /// Whether a unit's bit is set; of one that there is not, it is not.
    #[inline]
    pub(crate) fn is_set(&self, unit: u32) -> bool {
        let word = self.0.get(unit as usize / 64).map_or(0, |word| word.load(Ordering::Relaxed));
        word >> (unit % 64) & 1 == 1
    }

    /// Sets a unit's bit, if there is one.
    pub(crate) fn set(&self, unit: u32) {
        if let Some(word) = self.0.get(unit as usize / 64) {
            word.fetch_or(1 << (unit % 64), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_unit_has_its_own_bit_and_others_have_none() {
        let bits = UnitBits::new(130);
        assert_eq!(bits.heap_bytes(), 24);
        [0, 63, 64, 129, u32::MAX].into_iter().for_each(|unit| bits.set(unit));
        let set: Vec<u32> = (0..1_000).filter(|unit| bits.is_set(*unit)).collect();
        assert_eq!(set, [0, 63, 64, 129]);
        assert!(!bits.is_set(u32::MAX));
    }
}
