//! How the records of a set get into a store.

use crate::keys::KeySet;
use crate::rng::SplitMix;

/// Records of one batch while loading.
const BATCH_RECORDS: usize = 1_000;
/// Part of the seed that shuffles.
const SHUFFLE_PART: u64 = 0x7368_7566;

/// What a store looks like once it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Loaded in key order; one sorted run.
    Bulk,
    /// Loaded in shuffled batches of 1,000 with flushes on the way, then left alone until
    /// compaction rests.
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

/// Keys and values of one batch.
pub(crate) type Batch = Vec<(Vec<u8>, Vec<u8>)>;

impl Load<'_> {
    /// Hands over all records in batches; stops at the first error.
    pub(crate) fn in_batches<E>(&self, mut take: impl FnMut(&Batch) -> Result<(), E>) -> Result<(), E> {
        for ranks in self.layout.order(self.set.len(), self.seed).chunks(BATCH_RECORDS) {
            let record = |rank: &usize| {
                let (mut key, mut value) = (Vec::new(), Vec::new());
                self.set.key(*rank, &mut key);
                self.set.value(*rank, &mut value);
                (key, value)
            };
            take(&ranks.iter().map(record).collect())?;
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
            batches.push(batch.len());
            keys.extend(batch.iter().map(|(key, _)| key.clone()));
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
}
