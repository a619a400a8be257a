//! What a slot of `ph4` holds, for functions that give a slot only.

use crate::Function;

/// Bits of a fingerprint.
const FINGERPRINT_BITS: u32 = 8;

/// Fingerprint and number of each slot, side by side.
pub(crate) struct Packed {
    bytes: Vec<u8>,
    width: u32,
}

impl Packed {
    /// The number of a key is where it stands in `keys`.
    pub(crate) fn new<F: Function>(function: &F, keys: &[u64]) -> Self {
        let width = width(keys.len());
        let bytes = vec![0; (function.slots() * width as usize).div_ceil(8) + 8];
        let mut packed = Self { bytes, width };
        for (number, key) in (0..).zip(keys) {
            packed.set(function.index(*key), number << FINGERPRINT_BITS | fingerprint(*key));
        }
        let right = |(number, key): (usize, &u64)| packed.get(function.index(*key), *key) == number;
        assert!(keys.iter().enumerate().all(right), "{}: a number of another key", F::NAME);
        packed
    }

    fn set(&mut self, slot: usize, content: u64) {
        let bit = slot * self.width as usize;
        let (byte, mut word) = (bit / 8, [0; 8]);
        word.copy_from_slice(&self.bytes[byte..byte + 8]);
        let word = u64::from_le_bytes(word) | content << (bit % 8);
        self.bytes[byte..byte + 8].copy_from_slice(&word.to_le_bytes());
    }

    /// The number of a key; another key is refused but for one in 256.
    #[inline(always)]
    pub(crate) fn get(&self, slot: usize, key: u64) -> usize {
        let bit = slot * self.width as usize;
        let word = self.bytes.get(bit / 8..).and_then(|rest| rest.first_chunk()).copied();
        let content = u64::from_le_bytes(word.unwrap_or_default()) >> (bit % 8) & ((1 << self.width) - 1);
        let same = content & ((1 << FINGERPRINT_BITS) - 1) == fingerprint(key);
        if same { (content >> FINGERPRINT_BITS) as usize } else { usize::MAX }
    }
}

/// Bits of a slot: as many as `ph4` needs for the numbers of so many keys.
pub(crate) fn width(keys: usize) -> u32 {
    // The greatest number, and two more that mean something else.
    FINGERPRINT_BITS + usize::BITS - (keys + 1).leading_zeros()
}

fn fingerprint(key: u64) -> u64 {
    key & ((1 << FINGERPRINT_BITS) - 1)
}
