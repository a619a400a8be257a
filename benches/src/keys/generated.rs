//! Sets of generated keys of one shape, kept in memory in key order. Values are 256 bytes that do not
//! compress, computed from the seed.

use super::runs::{group_of, make_absent};
use super::{Group, KeySet, KeyShape};
use crate::rng::SplitMix;

const VALUE_BYTES: usize = 256;

/// The records of a shape.
#[derive(Clone, Debug)]
pub(crate) struct Generated {
    shape: KeyShape,
    seed: u64,
    /// All keys in their order.
    bytes: Vec<u8>,
    /// Where each key ends in `bytes`; it begins where the one before ends.
    ends: Vec<usize>,
}

impl Generated {
    /// `len` records, at least 1.
    pub(crate) fn new(shape: KeyShape, len: usize, seed: u64) -> Self {
        let mut made = Keys::default();
        let mut next = shape.keys(len, seed);
        let mut spans: Vec<(usize, usize)> = Vec::with_capacity(len);
        // What was drawn twice is drawn again.
        while spans.len() < len {
            for _ in spans.len()..len {
                spans.push(made.add(|key| next(key)));
            }
            spans.sort_unstable_by(|a, b| made.key(*a).cmp(made.key(*b)));
            spans.dedup_by(|a, b| made.key(*a) == made.key(*b));
        }
        let mut set =
            Self { shape, seed, bytes: Vec::with_capacity(made.0.len()), ends: Vec::with_capacity(len) };
        for span in spans {
            set.bytes.extend_from_slice(made.key(span));
            set.ends.push(set.bytes.len());
        }
        set
    }

    fn key_at(&self, rank: usize) -> &[u8] {
        let start = if rank == 0 { 0 } else { self.ends[rank - 1] };
        &self.bytes[start..self.ends[rank]]
    }

    fn has(&self, key: &[u8]) -> bool {
        let first_not_below = self.partition_point(|other| other < key);
        first_not_below < self.len() && self.key_at(first_not_below) == key
    }

    /// How many keys, from the first, are `below`.
    fn partition_point(&self, below: impl Fn(&[u8]) -> bool) -> usize {
        let (mut least, mut most) = (0, self.len());
        while least < most {
            let middle = least + (most - least) / 2;
            if below(self.key_at(middle)) { least = middle + 1 } else { most = middle }
        }
        least
    }
}

/// Keys as they were drawn.
#[derive(Default)]
struct Keys(Vec<u8>);

impl Keys {
    fn add(&mut self, next: impl FnOnce(&mut Vec<u8>)) -> (usize, usize) {
        let start = self.0.len();
        next(&mut self.0);
        (start, self.0.len())
    }

    fn key(&self, (start, end): (usize, usize)) -> &[u8] {
        &self.0[start..end]
    }
}

impl KeySet for Generated {
    fn shape(&self) -> &'static str {
        self.shape.name()
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn key(&self, rank: usize, into: &mut Vec<u8>) {
        into.extend_from_slice(self.key_at(rank));
    }

    fn value(&self, rank: usize, into: &mut Vec<u8>) {
        let mut words = SplitMix::part(!self.seed, rank as u64);
        (0..VALUE_BYTES / 8).for_each(|_| into.extend_from_slice(&words.next().to_le_bytes()));
    }

    fn absent(&self, rank: usize, into: &mut Vec<u8>) {
        let (start, key) = (into.len(), self.key_at(rank));
        into.extend_from_slice(key);
        make_absent(into, start, Some(self.shape.varied_byte(key.len())), |key| self.has(key));
    }

    fn group_of(&self, rank: usize) -> Group {
        group_of(self.len(), rank, |rank| self.key_at(rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_has_as_many_keys_as_asked_in_order_and_others_beside_them() {
        for shape in KeyShape::ALL {
            for len in [1, 2, 1_111] {
                let set = Generated::new(shape, len, 3);
                assert_eq!(set.len(), len, "{shape:?}");
                super::super::check_key_set(&set);
            }
        }
    }

    #[test]
    fn a_seed_makes_the_same_records_and_another_seed_others() {
        let record = |shape, seed| {
            let (set, mut bytes) = (Generated::new(shape, 200, seed), Vec::new());
            set.key(150, &mut bytes);
            let key = bytes.clone();
            set.value(150, &mut bytes);
            (key, bytes)
        };
        for shape in KeyShape::ALL {
            assert_eq!(record(shape, 1), record(shape, 1), "{shape:?}");
            assert_ne!(record(shape, 1).1, record(shape, 2).1, "{shape:?}");
        }
        let set = Generated::new(KeyShape::Uniform, 2, 1);
        let value = |rank| {
            let mut value = Vec::new();
            set.value(rank, &mut value);
            value
        };
        assert_ne!(value(0), value(1));
    }
}
