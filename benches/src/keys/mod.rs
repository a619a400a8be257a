//! Sets of records that a run loads and asks for, and that the oracle can recompute.

mod file;
mod generated;
mod runs;
mod shape;
mod w1;

use std::ops::Range;

pub(crate) use file::FileSet;
pub(crate) use generated::Generated;
pub(crate) use shape::KeyShape;
pub(crate) use w1::W1;

/// Records in rising key order. A *rank* is a record's place in that order, from 0. Every method
/// that writes bytes appends them.
pub(crate) trait KeySet {
    /// Name of the shape in reports.
    fn shape(&self) -> &'static str;

    /// How many records, at least 1.
    fn len(&self) -> usize;

    /// The key of a record.
    fn key(&self, rank: usize, into: &mut Vec<u8>);

    /// The value of a record.
    fn value(&self, rank: usize, into: &mut Vec<u8>);

    /// A key that is not in the set and looks like the key of `rank`.
    fn absent(&self, rank: usize, into: &mut Vec<u8>);

    /// The group that a record belongs to.
    fn group_of(&self, rank: usize) -> Group;
}

/// Neighbouring records that belong together: the stage `latest` asks for the last ones of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The records; not empty.
    pub(crate) ranks: Range<usize>,
    /// No key of the group is less.
    pub(crate) lower: Vec<u8>,
    /// All keys of the group are less, and no later key is.
    pub(crate) upper: Vec<u8>,
}

/// What every set must keep, for the tests of each.
#[cfg(test)]
fn check_key_set(set: &dyn KeySet) {
    let key = |rank| {
        let mut key = Vec::new();
        set.key(rank, &mut key);
        key
    };
    let keys: Vec<Vec<u8>> = (0..set.len()).map(key).collect();
    assert!(keys.is_sorted_by(|a, b| a < b), "keys rise");
    for rank in 0..set.len() {
        let mut absent = Vec::new();
        set.absent(rank, &mut absent);
        assert!(keys.binary_search(&absent).is_err(), "{absent:?} of rank {rank} is in the set");

        let group = set.group_of(rank);
        assert!(group.ranks.contains(&rank));
        let inside = |key: &Vec<u8>| group.lower <= *key && *key < group.upper;
        let found: Vec<usize> = (0..set.len()).filter(|&rank| inside(&keys[rank])).collect();
        assert_eq!(found, group.ranks.collect::<Vec<_>>());
    }
}
