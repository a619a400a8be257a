//! Sorting what a builder collected, in place.

/// A key's hash and what is to be found by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) hash: u64,
    pub(crate) value: u64,
}

/// Runs of at most this many pairs are sorted by comparing.
const COMPARED_MAX: usize = 512;
const DIGIT_BITS: u32 = 8;
const DIGITS: usize = 1 << DIGIT_BITS;

/// Sorts by hash; pairs of one hash by value.
///
/// One digit of the hash at a time, from the top, every pair swapped to where its digit's run is
/// (McIlroy, Bostic, McIlroy, "Engineering Radix Sort", 1993, the *American flag* sort): hashes are
/// spread evenly, so two digits leave runs that fit the first cache.
pub(crate) fn sort(pairs: &mut [Pair]) {
    sort_from(pairs, u64::BITS);
}

/// Sorts pairs whose hashes agree above `bits`.
fn sort_from(pairs: &mut [Pair], bits: u32) {
    if pairs.len() <= COMPARED_MAX || bits == 0 {
        pairs.sort_unstable_by_key(|pair| (pair.hash, pair.value));
        return;
    }
    let shift = bits - DIGIT_BITS;
    let ends = partition(pairs, shift);
    let mut start = 0;
    for end in ends {
        sort_from(&mut pairs[start..end], shift);
        start = end;
    }
}

/// Brings pairs of one digit together; where each digit's run ends.
fn partition(pairs: &mut [Pair], shift: u32) -> [usize; DIGITS] {
    let digit = |pair: &Pair| (pair.hash >> shift) as usize % DIGITS;
    let mut ends = [0; DIGITS];
    pairs.iter().for_each(|pair| ends[digit(pair)] += 1);
    let (mut heads, mut before) = ([0; DIGITS], 0);
    for (head, end) in heads.iter_mut().zip(&mut ends) {
        *head = before;
        *end += before;
        before = *end;
    }
    for no in 0..DIGITS {
        while heads[no] < ends[no] {
            let mut pair = pairs[heads[no]];
            let mut to = digit(&pair);
            while to != no {
                std::mem::swap(&mut pair, &mut pairs[heads[to]]);
                heads[to] += 1;
                to = digit(&pair);
            }
            pairs[heads[no]] = pair;
            heads[no] += 1;
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mphf::hash::remix;

    #[test]
    fn it_sorts_as_the_standard_sort_does() {
        let all = |count: u64, hash: fn(u64) -> u64| -> Vec<Pair> {
            (0..count).map(|no| Pair { hash: hash(no), value: count - no }).collect()
        };
        for mut pairs in [
            all(0, |no| no),
            all(513, |no| no),
            all(40_000, |no| remix(3, no)),
            all(5_000, |_| 7),
            all(5_000, |no| (no % 3) << 60),
            all(5_000, |no| remix(3, no) >> 50),
            all(5_000, |no| remix(3, no) << 50),
        ] {
            let mut expected = pairs.clone();
            expected.sort_by_key(|pair| (pair.hash, pair.value));
            sort(&mut pairs);
            assert!(pairs == expected);
        }
    }
}
