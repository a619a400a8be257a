//! Groups of sets that have none of their own: runs of 100 neighbours. And keys beside those of a set.

use std::ops::Range;

use super::Group;

const RUN_RECORDS: usize = 100;

/// The run of the record at `rank` of `len`; `key` gives the key at a rank.
pub(super) fn group_of<'a>(len: usize, rank: usize, key: impl Fn(usize) -> &'a [u8]) -> Group {
    let first = rank - rank % RUN_RECORDS;
    let ranks: Range<usize> = first..len.min(first + RUN_RECORDS);
    // The least key above the last one, where there is no next.
    let after_last = || [key(ranks.end - 1), &[0]].concat();
    let upper = if ranks.end < len { key(ranks.end).to_vec() } else { after_last() };
    Group { lower: key(first).to_vec(), upper, ranks }
}

/// Changes the key of a set that begins at `start` into one that is not in it: another byte at `at`, counted from
/// its start; bytes more, if that is a key too.
pub(super) fn make_absent(
    into: &mut Vec<u8>,
    start: usize,
    at: Option<usize>,
    exists: impl Fn(&[u8]) -> bool,
) {
    match at.and_then(|at| into.get_mut(start + at)) {
        Some(byte) => *byte ^= 1,
        None => into.push(1),
    }
    while exists(&into[start..]) {
        into.push(1);
    }
}
