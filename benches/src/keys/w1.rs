//! W1: event-like records in groups of 100.
//!
//! ```text
//! bytes  0..20  three splitmix64 words of the group, big-endian, cut
//! bytes 20..28  big-endian time: grows by 2^20 inside the group, 20 random low bits
//! bytes 28..38  hash bytes; last bit 0: present, 1: an absent neighbour
//! ```
//!
//! Values are 256 bytes that do not compress. Everything is computed from the seed, so the
//! oracle keeps no value.

use super::{Group, KeySet};
use crate::rng::SplitMix;

const GROUP_RECORDS: usize = 100;
const PREFIX_BYTES: usize = 20;
const KEY_BYTES: usize = 38;
const VALUE_BYTES: usize = 256;
const TIME_STEP_BITS: u32 = 20;

/// The set W1.
#[derive(Clone, Debug)]
pub(crate) struct W1 {
    seed: u64,
    len: usize,
    /// Prefixes of the groups in key order, each with the group's number.
    groups: Vec<([u8; PREFIX_BYTES], u32)>,
}

impl W1 {
    /// The set of `len` records, at least 1; the group with the greatest prefix may be short.
    pub(crate) fn new(len: usize, seed: u64) -> Self {
        let mut groups: Vec<_> =
            (0..len.div_ceil(GROUP_RECORDS) as u32).map(|no| (prefix(seed, no), no)).collect();
        groups.sort_unstable();
        Self { seed, len, groups }
    }

    /// The words of one record, in a stream of its own.
    fn words(&self, rank: usize) -> SplitMix {
        let (_, group) = self.groups[rank / GROUP_RECORDS];
        let member = (rank % GROUP_RECORDS) as u64;
        SplitMix::part(!self.seed, u64::from(group) << 8 | member)
    }
}

fn prefix(seed: u64, group: u32) -> [u8; PREFIX_BYTES] {
    let mut words = SplitMix::part(seed, group.into());
    let mut bytes = [0; 24];
    for word in bytes.chunks_exact_mut(8) {
        word.copy_from_slice(&words.next().to_be_bytes());
    }
    let mut prefix = [0; PREFIX_BYTES];
    prefix.copy_from_slice(&bytes[..PREFIX_BYTES]);
    prefix
}

impl KeySet for W1 {
    fn shape(&self) -> &'static str {
        "w1"
    }

    fn len(&self) -> usize {
        self.len
    }

    fn key(&self, rank: usize, into: &mut Vec<u8>) {
        let (prefix, _) = self.groups[rank / GROUP_RECORDS];
        let member = (rank % GROUP_RECORDS) as u64;
        let mut words = self.words(rank);
        let low = words.next() >> (64 - TIME_STEP_BITS);
        let hash = u128::from(words.next()) << 64 | u128::from(words.next());
        into.extend_from_slice(&prefix);
        into.extend_from_slice(&(member << TIME_STEP_BITS | low).to_be_bytes());
        into.extend_from_slice(&hash.to_be_bytes()[..KEY_BYTES - PREFIX_BYTES - 8]);
        if let Some(last) = into.last_mut() {
            *last &= !1;
        }
    }

    fn value(&self, rank: usize, into: &mut Vec<u8>) {
        let mut words = self.words(rank);
        (0..3).for_each(|_| _ = words.next()); // the key's
        for _ in 0..VALUE_BYTES / 8 {
            into.extend_from_slice(&words.next().to_le_bytes());
        }
    }

    fn absent(&self, rank: usize, into: &mut Vec<u8>) {
        self.key(rank, into);
        if let Some(last) = into.last_mut() {
            *last |= 1;
        }
    }

    fn group_of(&self, rank: usize) -> Group {
        let first = rank - rank % GROUP_RECORDS;
        let (prefix, _) = self.groups[rank / GROUP_RECORDS];
        let mut upper = prefix.to_vec();
        upper.extend_from_slice(&[u8::MAX; 8]); // no time reaches it
        Group { ranks: first..self.len.min(first + GROUP_RECORDS), lower: prefix.to_vec(), upper }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_rise_and_neighbours_are_absent() {
        super::super::check_key_set(&W1::new(1_050, 3));
    }

    #[test]
    fn a_key_has_its_groups_prefix_and_a_growing_time() {
        let set = W1::new(300, 3);
        let mut before = None;
        for rank in 100..200 {
            let mut key = Vec::new();
            set.key(rank, &mut key);
            assert_eq!((key.len(), key[KEY_BYTES - 1] & 1), (KEY_BYTES, 0));
            assert_eq!(key[..PREFIX_BYTES], set.groups[1].0);
            let time = u64::from_be_bytes(key[20..28].try_into().unwrap());
            assert_eq!(time >> TIME_STEP_BITS, rank as u64 - 100);
            assert!(before < Some(time));
            before = Some(time);
        }
    }

    #[test]
    fn a_seed_makes_the_same_records_and_another_seed_others() {
        let record = |seed, rank| {
            let (set, mut bytes) = (W1::new(200, seed), Vec::new());
            set.key(rank, &mut bytes);
            set.value(rank, &mut bytes);
            bytes
        };
        assert_eq!(record(1, 150), record(1, 150));
        assert_ne!(record(1, 150), record(2, 150));
        assert_ne!(record(1, 150)[KEY_BYTES..], record(1, 151)[KEY_BYTES..]);
        assert_eq!(record(1, 0).len(), KEY_BYTES + VALUE_BYTES);
    }
}
