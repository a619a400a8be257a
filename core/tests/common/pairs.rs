//! Sorted pairs, for ingests.

use std::collections::BTreeSet;

use super::history::{KEYS, Writer, key};
use super::rng::Rng;

/// Sorted pairs.
pub(crate) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Pairs with rising keys, possibly none.
pub(crate) fn pairs(writer: &mut Writer, rng: &mut Rng) -> Pairs {
    let keys: BTreeSet<_> = (0..rng.below(30)).map(|_| key(rng.below(KEYS))).collect();
    keys.into_iter().map(|key| (key, writer.value(rng))).collect()
}
