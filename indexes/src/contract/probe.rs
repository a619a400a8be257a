//! What a point read asks.

use kiban_formats::SeqNo;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The hash of a key: xxh3-64 under the store's random seed, so that nobody outside can choose
/// keys that collide.
#[inline]
pub fn key_hash(seed: u64, key: &[u8]) -> u64 {
    xxh3_64_with_seed(key, seed)
}

/// A point read's question, made once per get.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Probe<'k> {
    /// The key asked for.
    pub key: &'k [u8],
    /// [`key_hash`] of the key.
    pub hash: u64,
    /// Versions above this sequence are invisible. Most formats ignore it.
    pub snapshot: SeqNo,
}

impl<'k> Probe<'k> {
    /// Asks for the newest version of `key` that `snapshot` may see.
    #[inline]
    pub fn new(key: &'k [u8], hash: u64, snapshot: SeqNo) -> Self {
        Self { key, hash, snapshot }
    }
}
