//! Collecting the pairs of a map.

use super::geometry::{Geometry, value_bits};
use super::hash::remix;
use super::sort::{Pair, sort};

/// Pairs that room is made for at first, however many are announced.
const FIRST_PAIRS_MAX: usize = 1 << 16;

/// Stands for the keys of a hash that several keys have.
pub(super) const LISTED: u64 = u64::MAX;

/// Pairs of hash and value, as they come.
#[derive(Debug)]
pub(crate) struct Collector {
    seed: u64,
    pairs: Vec<Pair>,
    announced: usize,
}

impl Collector {
    /// For about so many pairs.
    pub(crate) fn new(seed: u64, announced: u64) -> Self {
        let announced = usize::try_from(announced).unwrap_or(usize::MAX);
        Self { seed, pairs: Vec::with_capacity(announced.min(FIRST_PAIRS_MAX)), announced }
    }

    pub(crate) fn add(&mut self, hash: u64, value: u64) {
        if self.pairs.len() == self.pairs.capacity() {
            self.grow();
        }
        self.pairs.push(Pair { hash: remix(self.seed, hash), value });
    }

    /// To twice the size below what was announced, in small steps above.
    fn grow(&mut self) {
        let len = self.pairs.len();
        let wanted = if len < self.announced { self.announced.min(2 * len) } else { len + len / 8 + 64 };
        self.pairs.reserve_exact(wanted - len);
    }

    pub(crate) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Bytes of heap.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.pairs.capacity() * size_of::<Pair>()
    }

    /// Sorts the pairs, their values now as `value_of` gives them: at most 2^48 - 1 each.
    pub(crate) fn sort(mut self, value_of: impl Fn(u64) -> u64) -> Sorted {
        let mut value_max = 0;
        for pair in &mut self.pairs {
            pair.value = value_of(pair.value);
            value_max = value_max.max(pair.value);
        }
        sort(&mut self.pairs);
        let keys = self.pairs.len();
        // One pair stays for all keys of a hash.
        self.pairs.dedup_by(|next, first| {
            let same = next.hash == first.hash;
            first.value = if same { LISTED } else { first.value };
            same
        });
        let shared = self.pairs.iter().filter(|pair| pair.value == LISTED).count();
        let listed_keys = keys - self.pairs.len() + shared;
        let geometry = Geometry::new(self.pairs.len(), value_bits(value_max));
        Sorted { seed: self.seed, pairs: self.pairs, listed_keys, geometry }
    }
}

/// Pairs in the order of their hashes, no hash twice.
#[derive(Debug)]
pub(crate) struct Sorted {
    pub(super) seed: u64,
    pub(super) pairs: Vec<Pair>,
    /// Keys that share their hash with another.
    pub(crate) listed_keys: usize,
    /// The geometry of pages of even size.
    pub(crate) geometry: Geometry,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_share_a_hash_are_counted_and_keep_one_pair() {
        let mut collector = Collector::new(1, 10);
        [5, 6, 5, 7, 5, 7].into_iter().enumerate().for_each(|(no, hash)| collector.add(hash, no as u64));
        let sorted = collector.sort(|value| value * 10);
        assert_eq!((sorted.pairs.len(), sorted.listed_keys), (3, 5));
        let mut values: Vec<u64> = sorted.pairs.iter().map(|pair| pair.value).collect();
        values.sort_unstable();
        assert_eq!(values, [10, LISTED, LISTED]);
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
