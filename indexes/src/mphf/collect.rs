//! Collecting the pairs of a map.

use std::ops::Range;

use super::hash::remix;
use super::sort::{Pair, sort};

/// Pairs that room is made for at first, however many are announced.
const FIRST_PAIRS_MAX: usize = 1 << 16;
/// How many high halves of a hash there are.
const HEADS: u64 = 1 << 32;

/// Stands for the keys of a hash that several keys have.
pub(super) const LISTED: u64 = u64::MAX;

/// Bytes that a pair takes.
pub(crate) const PAIR_BYTES: u64 = size_of::<Pair>() as u64;

/// Pairs of hash and value, as they come.
#[derive(Debug)]
pub(crate) struct Collector {
    seed: u64,
    pairs: Vec<Pair>,
    announced: usize,
    /// High halves of the hashes that are collected.
    heads: Range<u64>,
}

impl Collector {
    /// For about so many pairs at a time.
    pub(crate) fn new(seed: u64, announced: u64) -> Self {
        let announced = usize::try_from(announced).unwrap_or(usize::MAX);
        Self { seed, pairs: Vec::with_capacity(announced.min(FIRST_PAIRS_MAX)), announced, heads: 0..HEADS }
    }

    /// Collects from here on the hashes of one of so many equal slices. All hashes that the
    /// directory cannot tell apart are in one.
    pub(crate) fn only(&mut self, slice: u32, slices: u32) {
        let start = |slice: u32| HEADS * u64::from(slice) / u64::from(slices.max(1));
        self.heads = start(slice)..start(slice + 1);
    }

    #[inline]
    pub(crate) fn add(&mut self, hash: u64, value: u64) {
        let hash = remix(self.seed, hash);
        if !self.heads.contains(&(hash >> 32)) {
            return;
        }
        if self.pairs.len() == self.pairs.capacity() {
            self.grow();
        }
        self.pairs.push(Pair { hash, value });
    }

    /// To twice the size below what was announced, in small steps above.
    fn grow(&mut self) {
        let len = self.pairs.len();
        let wanted = if len < self.announced { self.announced.min(2 * len) } else { len + len / 8 + 64 };
        self.pairs.reserve_exact(wanted - len);
    }

    /// Bytes of heap.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.pairs.capacity() * size_of::<Pair>()
    }

    /// Brings the pairs in the order of their hashes, one for each hash. How many went.
    pub(crate) fn sort(&mut self) -> usize {
        sort(&mut self.pairs);
        let collected = self.pairs.len();
        self.pairs.dedup_by(|next, first| {
            let same = next.hash == first.hash;
            first.value = if same { LISTED } else { first.value };
            same
        });
        collected - self.pairs.len()
    }

    /// What was collected and not forgotten.
    pub(crate) fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Lets go of the first ones.
    pub(crate) fn forget(&mut self, count: usize) {
        self.pairs.drain(..count);
    }

    /// The table's seed.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_share_a_hash_keep_one_pair() {
        let mut collector = Collector::new(1, 10);
        [5, 6, 5, 7, 5, 7].into_iter().enumerate().for_each(|(no, hash)| collector.add(hash, no as u64));
        assert_eq!(collector.sort(), 3);
        let mut values: Vec<u64> = collector.pairs().iter().map(|pair| pair.value).collect();
        values.sort_unstable();
        assert_eq!(values, [1, LISTED, LISTED]);
        collector.forget(2);
        assert_eq!(collector.pairs().len(), 1);
    }

    #[test]
    fn every_hash_is_in_one_slice() {
        for slices in [1, 2, 3, 64] {
            let mut collector = Collector::new(1, 0);
            for slice in 0..slices {
                collector.only(slice, slices);
                (0..5_000).for_each(|no| collector.add(no, no));
            }
            assert_eq!((collector.pairs().len(), collector.sort()), (5_000, 0), "{slices}");
        }
    }

    #[test]
    fn room_is_made_for_what_was_announced_and_not_for_what_never_comes() {
        let mut collector = Collector::new(1, u64::MAX);
        assert!(collector.memory_bytes() <= FIRST_PAIRS_MAX * 16);
        collector = Collector::new(1, 100_000);
        (0..100_000).for_each(|no| collector.add(no, no));
        assert_eq!(collector.memory_bytes(), 1_600_000);
        collector.add(0, 0);
        assert!(collector.memory_bytes() <= 1_900_000);
    }
}
