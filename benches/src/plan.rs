//! What is asked in one stage, in which order, and what the right answers are.

use std::ops::Range;

use crate::answers::Answers;
use crate::engine::shuffled;
use crate::keys::KeySet;
use crate::rng::SplitMix;

/// Keys of one call of the stage `multiget`.
const MULTIGET_KEYS: usize = 100;
/// Fewest and most keys of a plan, by the size of the input.
const KEYS_MIN: usize = 1_000;
const KEYS_MAX: usize = 100_000;
/// Records of one call of the stage `latest`.
pub(crate) const LATEST_RECORDS: usize = 10;

/// Records of one call of the stage `scan`, or as many as there are from its key on.
pub(crate) const SCAN_RECORDS: usize = 100;

/// What one call asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The value of a key that is there.
    Point,
    /// The value of a key that is not there.
    Miss,
    /// The values of a hundred keys that are there; times are per key.
    Multiget,
    /// The ten greatest records of a group, greatest first.
    Latest,
    /// A hundred records from a key on.
    Scan,
}

/// What a key of a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) rank: usize,
    /// Whether the key is the record's; else it is absent, and looks like it.
    pub(crate) is_there: bool,
}

impl Stage {
    pub(crate) const ALL: [Self; 5] = [Self::Point, Self::Miss, Self::Multiget, Self::Latest, Self::Scan];
    /// What is measured unless stages are named.
    pub(crate) const DEFAULT: [Self; 4] = [Self::Point, Self::Miss, Self::Multiget, Self::Latest];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Miss => "miss",
            Self::Multiget => "multiget",
            Self::Latest => "latest",
            Self::Scan => "scan",
        }
    }

    /// Operations in one call: reports count and time operations.
    pub(crate) const fn ops_per_call(self) -> usize {
        match self {
            Self::Multiget => MULTIGET_KEYS,
            _ => 1,
        }
    }

    /// Calls of a whole plan on `n` records: W1's 100,000 on 100,000 records and more.
    pub(crate) fn calls(self, n: usize) -> usize {
        let keys = n.clamp(KEYS_MIN, KEYS_MAX);
        match self {
            Self::Point | Self::Miss => keys,
            Self::Multiget => 2 * keys / MULTIGET_KEYS,
            Self::Latest => keys / 5,
            Self::Scan => keys / 20,
        }
    }

    /// Fewest calls of one trial, however short the time box.
    pub(crate) const fn trial_calls_min(self) -> usize {
        match self {
            Self::Multiget | Self::Scan => 10,
            _ => 100,
        }
    }

    /// Keys that one call is given. `latest` gets the bounds of its group.
    const fn keys_per_call(self) -> usize {
        match self {
            Self::Multiget => MULTIGET_KEYS,
            Self::Latest => 2,
            _ => 1,
        }
    }
}

/// The calls of one stage. Made once, asked of every engine in the same order.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) stage: Stage,
    keys: Vec<Box<[u8]>>,
    /// For each call the records it is about, in the order of the answers.
    targets: Vec<Vec<Target>>,
    /// For each call the [`Answers::word`] of the right answers.
    words: Vec<u64>,
}

impl Plan {
    /// `calls` calls of `stage` about records drawn evenly, with repetition.
    pub(crate) fn new(set: &dyn KeySet, stage: Stage, calls: usize, seed: u64) -> Self {
        let mut draw = SplitMix::part(seed, 0x706c_616e ^ stage as u64);
        Self::of(set, stage, calls, || draw.below(set.len()))
    }

    /// Hits of different records in random order, as many as there are if `calls` are too many.
    pub(crate) fn different_hits(set: &dyn KeySet, calls: usize, seed: u64) -> Self {
        let ranks = shuffled(set.len(), calls, seed);
        let mut next = ranks.iter().copied();
        Self::of(set, Stage::Point, ranks.len(), || next.next().unwrap_or(0))
    }

    /// `calls` calls about the records that `next` names.
    fn of(set: &dyn KeySet, stage: Stage, calls: usize, mut next: impl FnMut() -> usize) -> Self {
        let mut plan = Self::empty(stage);
        for _ in 0..calls {
            let targets = match stage {
                Stage::Latest => plan.add_group(set, next()),
                Stage::Scan => plan.add_scan(set, next()),
                _ => (0..stage.ops_per_call()).map(|_| plan.add_key(set, next())).collect(),
            };
            plan.targets.push(targets);
        }
        plan.answered(set)
    }

    fn empty(stage: Stage) -> Self {
        Self { stage, keys: Vec::new(), targets: Vec::new(), words: Vec::new() }
    }

    /// With the words of the right answers.
    fn answered(mut self, set: &dyn KeySet) -> Self {
        let mut right = Answers::default();
        let word = |call| {
            self.right_answers(set, call, &mut right);
            right.word()
        };
        self.words = (0..self.len()).map(word).collect();
        self
    }

    fn add_key(&mut self, set: &dyn KeySet, rank: usize) -> Target {
        let (mut key, is_there) = (Vec::new(), self.stage != Stage::Miss);
        if is_there {
            set.key(rank, &mut key)
        } else {
            set.absent(rank, &mut key)
        }
        self.keys.push(key.into());
        Target { rank, is_there }
    }

    fn add_group(&mut self, set: &dyn KeySet, rank: usize) -> Vec<Target> {
        let group = set.group_of(rank);
        self.keys.extend([group.lower.into(), group.upper.into()]);
        records(group.ranks.rev().take(LATEST_RECORDS))
    }

    fn add_scan(&mut self, set: &dyn KeySet, rank: usize) -> Vec<Target> {
        self.add_key(set, rank);
        records((rank..set.len()).take(SCAN_RECORDS))
    }

    /// How many calls.
    pub(crate) fn len(&self) -> usize {
        self.targets.len()
    }

    /// The keys of a call: the keys asked for, or the group's lower and upper bound.
    #[inline]
    pub(crate) fn keys(&self, call: usize) -> &[Box<[u8]>] {
        let count = self.stage.keys_per_call();
        &self.keys[call * count..][..count]
    }

    /// The records that a call is about.
    pub(crate) fn targets(&self, call: usize) -> &[Target] {
        &self.targets[call]
    }

    /// The cheap word of a call's right answers.
    #[inline]
    pub(crate) fn word(&self, call: usize) -> u64 {
        self.words[call]
    }

    /// The calls of trial `no`, each trial of `calls`. Neighbouring trials have different calls,
    /// of whichever engine: the second of two with the same calls would find the records in the
    /// processor's caches. The order shifts after each round through the plan, so no engine
    /// always gets the same part.
    pub(crate) fn part(&self, no: usize, calls: usize) -> Range<usize> {
        let calls = calls.clamp(1, self.len());
        let parts = self.len() / calls;
        let start = (no + no / parts) % parts * calls;
        start..start + calls
    }

    /// What a call must answer, from the oracle.
    pub(crate) fn right_answers(&self, set: &dyn KeySet, call: usize, into: &mut Answers) {
        into.clear();
        let (mut key, mut value) = (Vec::new(), Vec::new());
        for &Target { rank, is_there } in &self.targets[call] {
            match self.stage {
                _ if !is_there => into.push_absent(),
                Stage::Point | Stage::Miss | Stage::Multiget => {
                    value.clear();
                    set.value(rank, &mut value);
                    into.push_value(&value);
                }
                Stage::Latest | Stage::Scan => {
                    key.clear();
                    value.clear();
                    set.key(rank, &mut key);
                    set.value(rank, &mut value);
                    into.push_pair(&key, &value);
                }
            }
        }
    }
}

/// Records that are there.
fn records(ranks: impl Iterator<Item = usize>) -> Vec<Target> {
    ranks.map(|rank| Target { rank, is_there: true }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::Answer;
    use crate::keys::W1;

    fn right(plan: &Plan, set: &W1, call: usize) -> Answers {
        let mut answers = Answers::default();
        plan.right_answers(set, call, &mut answers);
        answers
    }

    #[test]
    fn each_stage_has_keys_and_right_answers() {
        let set = W1::new(250, 1);
        for stage in Stage::ALL {
            let plan = Plan::new(&set, stage, 30, 1);
            assert_eq!(plan.len(), 30);
            for call in 0..plan.len() {
                let answers = right(&plan, &set, call);
                assert_eq!(answers.word(), plan.word(call));
                let expected = match stage {
                    Stage::Latest => LATEST_RECORDS,
                    Stage::Scan => SCAN_RECORDS.min(set.len() - plan.targets(call)[0].rank),
                    _ => stage.ops_per_call(),
                };
                assert_eq!((answers.len(), plan.targets(call).len()), (expected, expected), "{stage:?}");
            }
        }
    }

    #[test]
    fn latest_asks_inside_its_bounds_and_answers_greatest_first() {
        let set = W1::new(250, 1);
        let plan = Plan::new(&set, Stage::Latest, 30, 1);
        for call in 0..plan.len() {
            let [lower, upper] = plan.keys(call) else { panic!("two bounds") };
            let answers = right(&plan, &set, call);
            let keys: Vec<&[u8]> = answers
                .iter()
                .map(|answer| match answer {
                    Answer::Pair(key, _) => key,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert!(keys.is_sorted_by(|a, b| a > b));
            assert!(keys.iter().all(|key| **lower <= **key && **key < **upper));
        }
    }

    #[test]
    fn parts_take_turns_shift_and_stay_inside() {
        let plan = Plan::new(&W1::new(250, 1), Stage::Point, 100, 1);
        let starts: Vec<usize> = (0..8).map(|no| plan.part(no, 25).start).collect();
        assert_eq!(starts, [0, 25, 50, 75, 25, 50, 75, 0]);
        assert!((0..500).all(|no| plan.part(no, 25) != plan.part(no + 1, 25)));
        assert_eq!((plan.part(3, 30), plan.part(3, 100), plan.part(3, 1_000)), (30..60, 0..100, 0..100));
        assert_eq!(plan.part(3, 0).len(), 1);
    }
}
