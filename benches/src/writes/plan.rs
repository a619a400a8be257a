//! What is written in one stage, in which order, and what the store must hold afterwards.

use std::ops::Range;

use kiban::Durability;

use crate::answers::Answers;
use crate::engine::{Store, shuffled};
use crate::keys::KeySet;
use crate::read_back::read_back;
use crate::rng::SplitMix;
use crate::trial::{Failure, THROUGHPUT_PART};

/// One in this many operations is made untimed before the others.
const LEAD_IN_PART: usize = 8;

/// One operation of `mixed` in this many is a put.
const PUT_EVERY: usize = 10;
/// Part of the seed that draws the operations of `mixed`.
const MIXED_PART: u64 = 0x6d69_7865;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteStage {
    /// Puts that reach the operating system.
    Buffered,
    /// Puts that reach the device.
    Sync,
    /// Nine gets in ten operations, and a put over a value.
    Mixed,
}

impl WriteStage {
    pub(crate) const ALL: [Self; 3] = [Self::Buffered, Self::Sync, Self::Mixed];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Buffered => "write_buffered",
            Self::Sync => "write_sync",
            Self::Mixed => "mixed",
        }
    }

    /// Of its puts.
    pub(crate) const fn durability(self) -> Durability {
        match self {
            Self::Sync => Durability::Sync,
            Self::Buffered | Self::Mixed => Durability::Buffered,
        }
    }

    /// Whether its stores hold the input before.
    pub(crate) const fn is_prefilled(self) -> bool {
        matches!(self, Self::Mixed)
    }

    /// Timed operations of one trial on `n` records. Puts of different keys need enough of them.
    pub(crate) fn ops(self, n: usize) -> usize {
        let wanted = match self {
            Self::Buffered | Self::Mixed => 10_000,
            Self::Sync => 1_000,
        };
        let most = n * LEAD_IN_PART * THROUGHPUT_PART
            / (LEAD_IN_PART * THROUGHPUT_PART + LEAD_IN_PART + THROUGHPUT_PART);
        if self.is_prefilled() { wanted } else { wanted.min(most.max(1)) }
    }
}

/// One operation on a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Op {
    rank: usize,
    is_put: bool,
    /// The [`Answers::word`] of the right answer to a get.
    word: u64,
}

/// The operations of one trial. Every trial of a stage makes the same ones.
#[derive(Debug)]
pub(crate) struct WritePlan {
    pub(crate) stage: WriteStage,
    ops: Vec<Op>,
    keys: Vec<Box<[u8]>>,
    /// Values to put; empty for gets.
    values: Vec<Box<[u8]>>,
    timed: usize,
    /// By rank of the input: what the store must hold at the end.
    end: Vec<End>,
}

/// What a store holds of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Absent,
    /// The set's value.
    First,
    /// The value that a put over it gives.
    Second,
}

impl WritePlan {
    /// `timed` operations, at least 1, after an untimed lead-in and before those that give the
    /// throughput.
    pub(crate) fn new(set: &dyn KeySet, stage: WriteStage, timed: usize, seed: u64) -> Self {
        let ops = timed.div_ceil(LEAD_IN_PART) + timed + timed.div_ceil(THROUGHPUT_PART);
        let before = if stage.is_prefilled() { End::First } else { End::Absent };
        let mut plan = Self {
            stage,
            ops: Vec::with_capacity(ops),
            keys: Vec::with_capacity(ops),
            values: Vec::with_capacity(ops),
            timed,
            end: vec![before; set.len()],
        };
        match stage {
            WriteStage::Buffered | WriteStage::Sync => {
                shuffled(set.len(), ops, seed)
                    .into_iter()
                    .for_each(|rank| plan.add_put(set, rank, End::First));
            }
            WriteStage::Mixed => {
                let mut draw = SplitMix::part(seed, MIXED_PART);
                for _ in 0..ops {
                    match (draw.below(PUT_EVERY), draw.below(set.len())) {
                        (0, rank) => plan.add_put(set, rank, End::Second),
                        (_, rank) => plan.add_get(set, rank),
                    }
                }
            }
        }
        plan.timed = timed.min(plan.ops.len());
        plan
    }

    fn add_put(&mut self, set: &dyn KeySet, rank: usize, end: End) {
        self.end[rank] = end;
        self.add(set, Op { rank, is_put: true, word: 0 });
        let mut value = Vec::new();
        self.value_at_end(set, rank, &mut value);
        self.values.push(value.into());
    }

    fn add_get(&mut self, set: &dyn KeySet, rank: usize) {
        let (mut right, mut value) = (Answers::default(), Vec::new());
        self.value_at_end(set, rank, &mut value);
        right.push_value(&value);
        self.add(set, Op { rank, is_put: false, word: right.word() });
        self.values.push(Box::default());
    }

    fn add(&mut self, set: &dyn KeySet, op: Op) {
        let mut key = Vec::new();
        set.key(op.rank, &mut key);
        self.keys.push(key.into());
        self.ops.push(op);
    }

    /// The value of a record after the operations so far; the second one is the first with every
    /// bit turned.
    fn value_at_end(&self, set: &dyn KeySet, rank: usize, into: &mut Vec<u8>) {
        set.value(rank, into);
        if self.end[rank] == End::Second {
            into.iter_mut().for_each(|byte| *byte = !*byte);
        }
    }

    /// Operations before the timed ones.
    pub(crate) fn lead_in(&self) -> Range<usize> {
        0..(self.timed.div_ceil(LEAD_IN_PART)).min(self.ops.len() - self.timed)
    }

    pub(crate) fn timed(&self) -> Range<usize> {
        let start = self.lead_in().end;
        start..start + self.timed
    }

    /// Operations for the throughput, after the timed ones.
    pub(crate) fn untimed(&self) -> Range<usize> {
        self.timed().end..self.ops.len()
    }

    /// Keys of all operations.
    pub(crate) fn keys(&self) -> &[Box<[u8]>] {
        &self.keys
    }

    #[inline]
    pub(crate) fn key(&self, op: usize) -> &[u8] {
        &self.keys[op]
    }

    /// The value to put, or `None` if the operation is a get.
    #[inline]
    pub(crate) fn put(&self, op: usize) -> Option<&[u8]> {
        self.ops[op].is_put.then(|| &*self.values[op])
    }

    /// The word of the right answer to a get.
    #[inline]
    pub(crate) fn word(&self, op: usize) -> u64 {
        self.ops[op].word
    }

    /// Compares all records of a store with those that it must hold at the end.
    pub(crate) fn read_back(&self, store: &mut dyn Store, set: &dyn KeySet) -> Result<u64, Failure> {
        read_back(store, &mut self.records(), &|rank, key, value| self.record(set, rank, key, value))
    }

    /// All records that the store must hold at the end, by rank in key order.
    fn records(&self) -> impl Iterator<Item = usize> {
        self.end.iter().enumerate().filter(|(_, end)| **end != End::Absent).map(|(rank, _)| rank)
    }

    /// The record at a rank as the store must hold it at the end; appends.
    fn record(&self, set: &dyn KeySet, rank: usize, key: &mut Vec<u8>, value: &mut Vec<u8>) {
        set.key(rank, key);
        self.value_at_end(set, rank, value);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::keys::W1;

    #[test]
    fn puts_are_of_different_keys_and_parts_follow_each_other() {
        let set = W1::new(2_000, 1);
        for stage in [WriteStage::Buffered, WriteStage::Sync] {
            let ops = stage.ops(set.len());
            let plan = WritePlan::new(&set, stage, ops, 1);
            assert_eq!(plan.timed().len(), ops);
            assert_eq!((plan.lead_in().start, plan.lead_in().end), (0, plan.timed().start));
            assert_eq!(plan.timed().end, plan.untimed().start);
            assert!(plan.untimed().len() + 1 >= ops / 2, "{stage:?}: {:?}", plan.untimed());
            assert!((0..plan.keys().len()).all(|op| plan.put(op).is_some()));
            assert_eq!(plan.records().count(), plan.keys().len());
            assert!(!plan.keys().is_sorted());
        }
    }

    #[test]
    fn gets_are_answered_by_the_put_before_them() {
        let set = W1::new(50, 1);
        let plan = WritePlan::new(&set, WriteStage::Mixed, 2_000, 1);
        let mut model = BTreeMap::new();
        for rank in 0..set.len() {
            let (mut key, mut value) = (Vec::new(), Vec::new());
            set.key(rank, &mut key);
            set.value(rank, &mut value);
            model.insert(key, value);
        }
        let mut puts = 0;
        for op in 0..plan.untimed().end {
            match plan.put(op) {
                Some(value) => {
                    puts += 1;
                    let before = model.insert(plan.key(op).to_vec(), value.to_vec());
                    let (mut first, rank) = (Vec::new(), plan.ops[op].rank);
                    set.value(rank, &mut first);
                    assert!(before.is_some() && first != value, "a put of what was there would not be seen");
                }
                None => {
                    let mut answers = Answers::default();
                    answers.push_value(&model[plan.key(op)]);
                    assert_eq!(answers.word(), plan.word(op), "{op}");
                }
            }
        }
        assert!((200..500).contains(&puts), "{puts} of 3,250 operations");
        let mut records = BTreeMap::new();
        for rank in plan.records() {
            let (mut key, mut value) = (Vec::new(), Vec::new());
            plan.record(&set, rank, &mut key, &mut value);
            records.insert(key, value);
        }
        assert_eq!(records, model);
    }

    #[test]
    fn a_set_of_one_record_has_a_plan() {
        let set = W1::new(1, 1);
        for stage in WriteStage::ALL {
            let plan = WritePlan::new(&set, stage, stage.ops(1), 1);
            assert!(!plan.timed().is_empty() && plan.untimed().end == plan.keys().len());
        }
    }
}
