//! Random writes, and what they make of the contents of a store.

use std::collections::BTreeMap;

use super::rng::Rng;

/// The keyspaces of all these tests.
pub(crate) const SPACES: [&str; 2] = ["default", "other"];

/// All keys and values of the keyspaces.
pub(crate) type Contents = [BTreeMap<Vec<u8>, Vec<u8>>; SPACES.len()];

/// A put, or a delete if there is no value.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) space: usize,
    pub(crate) key: Vec<u8>,
    pub(crate) value: Option<Vec<u8>>,
}

/// Changes that happen all or not at all.
pub(crate) type Batch = Vec<Change>;

pub(crate) fn apply(contents: &mut Contents, batch: &Batch) {
    for change in batch {
        let space = &mut contents[change.space];
        match &change.value {
            Some(value) => space.insert(change.key.clone(), value.clone()),
            None => space.remove(&change.key),
        };
    }
}

/// Draws keys from a small set, so that they are overwritten and deleted often, and values that
/// are never the same twice, so that a stale one is seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Writer {
    values: u64,
}

/// Keys that may be drawn.
pub(crate) const KEYS: usize = 48;

/// The n-th key: empty, zeros, 0xFF bytes, a long one, and ordinary ones.
pub(crate) fn key(no: usize) -> Vec<u8> {
    match no {
        0 => Vec::new(),
        1 => vec![0],
        2 => vec![0; 2],
        3 => vec![0xFF],
        4 => vec![0xFF; 3],
        5 => vec![b'k'; 700],
        _ => format!("key-{:03}", no * 7 % 1000).into_bytes(),
    }
}

impl Writer {
    /// A value that says which it is. Sometimes empty, larger than a page, or larger than a memtable.
    pub(crate) fn value(&mut self, rng: &mut Rng) -> Vec<u8> {
        self.values += 1;
        let bytes = match rng.below(100) {
            0..5 => return Vec::new(),
            5..60 => 8 + rng.below(40),
            60..95 => 48 + rng.below(600),
            95..99 => 4000 + rng.below(3000),
            _ => 20_000,
        };
        let stamp = self.values.to_le_bytes();
        (0..bytes).map(|at| stamp[at % 8] ^ (at / 8) as u8).collect()
    }

    pub(crate) fn change(&mut self, rng: &mut Rng) -> Change {
        let space = usize::from(rng.percent(30));
        let key = key(rng.below(KEYS));
        let value = (!rng.percent(25)).then(|| self.value(rng));
        Change { space, key, value }
    }

    /// One change, or up to a dozen.
    pub(crate) fn batch(&mut self, rng: &mut Rng) -> Batch {
        let count = if rng.percent(65) { 1 } else { 2 + rng.below(11) };
        (0..count).map(|_| self.change(rng)).collect()
    }
}
