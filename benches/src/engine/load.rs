//! How the records of a set get into a store.

use crate::keys::KeySet;
use crate::rng::SplitMix;

/// Records of one batch while loading.
const BATCH_RECORDS: usize = 1_000;
/// Parts of a shuffled load, whole batches, that are flushed one by one, whatever its size: few
/// records make levels too.
const FLUSHES: usize = 8;
/// Part of the seed that shuffles.
const SHUFFLE_PART: u64 = 0x7368_7566;

/// What a store looks like once it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Loaded in key order; one sorted run.
    Bulk,
    /// Loaded in shuffled batches of 1,000, flushed after every eighth part and at the end, then
    /// left alone until compaction rests.
    Normal,
}

impl Layout {
    pub(crate) const ALL: [Self; 2] = [Self::Bulk, Self::Normal];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::Normal => "normal",
        }
    }

    /// Ranks of a set in the order of loading.
    fn order(self, len: usize, seed: u64) -> Vec<usize> {
        match self {
            Self::Bulk => (0..len).collect(),
            Self::Normal => shuffled(len, len, seed),
        }
    }
}

/// `count` different ranks below `len` in random order; all of them if there are fewer.
pub(crate) fn shuffled(len: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut draw = SplitMix::part(seed, SHUFFLE_PART);
    let mut ranks: Vec<usize> = (0..len).collect();
    let count = count.min(len);
    for at in 0..count {
        ranks.swap(at, at + draw.below(len - at));
    }
    ranks.truncate(count);
    ranks
}

/// What to load, and in which order.
pub(crate) struct Load<'a> {
    pub(crate) set: &'a dyn KeySet,
    pub(crate) layout: Layout,
    pub(crate) seed: u64,
}

/// Some of the records.
pub(crate) struct Batch {
    /// Keys and values.
    pub(crate) records: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether a store with memtables flushes them now.
    pub(crate) is_flushed: bool,
}

impl Load<'_> {
    /// Hands over all records in batches; stops at the first error.
    pub(crate) fn in_batches<E>(&self, mut take: impl FnMut(&Batch) -> Result<(), E>) -> Result<(), E> {
        let order = self.layout.order(self.set.len(), self.seed);
        let batches = order.len().div_ceil(BATCH_RECORDS);
        let part = batches.div_ceil(FLUSHES);
        for (no, ranks) in order.chunks(BATCH_RECORDS).enumerate() {
            let record = |rank: &usize| {
                let (mut key, mut value) = (Vec::new(), Vec::new());
                self.set.key(*rank, &mut key);
                self.set.value(*rank, &mut value);
                (key, value)
            };
            let is_flushed = self.layout == Layout::Normal && ((no + 1) % part == 0 || no + 1 == batches);
            take(&Batch { records: ranks.iter().map(record).collect(), is_flushed })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::W1;

    fn keys(layout: Layout) -> Vec<Vec<u8>> {
        let set = W1::new(2_500, 1);
        let mut keys = Vec::new();
        let mut batches = Vec::new();
        let load = Load { set: &set, layout, seed: 1 };
        let done: Result<(), ()> = load.in_batches(|batch| {
            batches.push(batch.records.len());
            keys.extend(batch.records.iter().map(|(key, _)| key.clone()));
            Ok(())
        });
        assert_eq!((done, batches), (Ok(()), vec![1_000, 1_000, 500]));
        keys
    }

    #[test]
    fn bulk_rises_and_normal_is_the_same_records_shuffled() {
        let (bulk, mut normal) = (keys(Layout::Bulk), keys(Layout::Normal));
        assert!(bulk.is_sorted_by(|a, b| a < b));
        let falls = normal.windows(2).filter(|pair| pair[0] > pair[1]).count();
        assert!(falls > normal.len() / 3, "{falls}");
        normal.sort_unstable();
        assert_eq!(bulk, normal);
    }

    #[test]
    fn shuffled_ranks_are_different_and_all_if_there_are_too_few() {
        let mut some = shuffled(1_000, 300, 1);
        some.sort_unstable();
        some.dedup();
        assert_eq!((some.len(), some.iter().all(|rank| *rank < 1_000)), (300, true));
        assert_eq!(shuffled(5, 9, 1).len(), 5);
    }

    #[test]
    fn a_shuffled_load_is_flushed_after_every_eighth_part_and_at_its_end() {
        let flushes = |layout| {
            let set = W1::new(20_500, 1);
            let (mut at, mut flushes) = (0, Vec::new());
            let load = Load { set: &set, layout, seed: 1 };
            let done: Result<(), ()> = load.in_batches(|batch| {
                at += batch.records.len();
                flushes.extend(batch.is_flushed.then_some(at));
                Ok(())
            });
            assert_eq!(done, Ok(()));
            flushes
        };
        assert_eq!(flushes(Layout::Bulk), Vec::<usize>::new());
        let each = [3_000, 6_000, 9_000, 12_000, 15_000, 18_000, 20_500];
        assert_eq!(flushes(Layout::Normal), each);
    }
}
