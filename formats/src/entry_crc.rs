//! The checksum of an entry, in two halves, so that it goes with the entry from the caller's
//! hand to the reader.
//!
//! ```text
//! payload_crc = crc32(key ++ value)        made once, when the operation is handed in
//! head_sum    = (lengths * M0 + sequence_and_kind * M1 + newer * M2) >> 32, modulo 2^64
//! entry_crc   = payload_crc ^ head_sum     what a table stores
//! ```
//!
//! Lengths: that of the key, and that of the value << 32. A changed bit of a word adds or takes
//! away that bit times an odd constant, which is chosen so that it is never within 2^32 of 0: the
//! upper half of the sum always changes, as a CRC would, for three multiplications.
//!
//! The kind byte is the kind, and bit 4 where no newer version of the key is in the table; else
//! the newer sequence is that version's. A compaction that changes the head (the flag, the newer
//! sequence, a sequence that becomes 0) takes the old head out and puts the new one in, and never
//! makes the payload's checksum anew.

use crate::crc::crc32_parts;
use crate::{Kind, SeqNo};

/// Bit of the kind byte: no newer version of the key is in the table.
pub const NEWEST_BIT: u8 = 1 << 4;

/// The checksum of key and value.
#[inline]
pub fn payload_crc(key: &[u8], value: &[u8]) -> u32 {
    crc32_parts(&[key, value])
}

/// What an entry's checksum covers beside key and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryHead {
    /// Length of the key.
    pub key_len: u32,
    /// Length of the value.
    pub value_len: u32,
    /// The entry's sequence.
    pub seq: SeqNo,
    /// Its kind.
    pub kind: Kind,
    /// The sequence of the next newer version of the key in the table, if there is one.
    pub newer: Option<SeqNo>,
}

impl EntryHead {
    /// Sequence and kind byte as a table stores them.
    #[inline]
    pub fn seq_and_kind(&self) -> u64 {
        let newest = if self.newer.is_none() { NEWEST_BIT } else { 0 };
        self.seq.0 << 8 | u64::from(self.kind as u8 | newest)
    }

    /// The checksum of the head.
    #[inline]
    pub fn sum(&self) -> u32 {
        let lengths = u64::from(self.value_len) << 32 | u64::from(self.key_len);
        let newer = self.newer.map_or(0, |newer| newer.0);
        let words = [lengths, self.seq_and_kind(), newer].into_iter().zip(MULTIPLIERS);
        let sum = words.fold(0, |sum: u64, (word, by)| sum.wrapping_add(word.wrapping_mul(by)));
        (sum >> 32) as u32
    }
}

/// Odd numbers without a pattern: parts of golden ratio, pi and e.
const MULTIPLIERS: [u64; 3] = [0x9E37_79B9_7F4A_7C15, 0x2437_54A6_8885_A309, 0xADF8_5458_A2BB_4A9B];

/// Whether one bit more or less, times `by`, always changes the upper half of a sum.
const fn reaches_upper_half(by: u64) -> bool {
    let mut bit = 0;
    while bit < u64::BITS {
        let change = by << bit;
        if change < 1 << 32 || change.wrapping_neg() < 1 << 32 {
            return false;
        }
        bit += 1;
    }
    true
}

const _: () = assert!(
    reaches_upper_half(MULTIPLIERS[0])
        && reaches_upper_half(MULTIPLIERS[1])
        && reaches_upper_half(MULTIPLIERS[2])
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_the_head_changes_its_sum() {
        let head = EntryHead {
            key_len: 38,
            value_len: 256,
            seq: SeqNo(77),
            kind: Kind::Put,
            newer: Some(SeqNo(90)),
        };
        let changed = |bit: u32| {
            let with = |word: u64| word ^ 1 << (bit % 64);
            match bit / 64 {
                0 => EntryHead { seq: SeqNo(with(77)), ..head },
                1 => EntryHead { newer: Some(SeqNo(with(90))), ..head },
                _ if bit % 64 < 32 => EntryHead { key_len: 38 ^ 1 << (bit % 32), ..head },
                _ => EntryHead { value_len: 256 ^ 1 << (bit % 32), ..head },
            }
        };
        // A sequence has 56 bits.
        let bits = (0..192).filter(|bit| bit % 64 < 56 || bit / 64 == 2);
        let others = [EntryHead { kind: Kind::Delete, ..head }, EntryHead { newer: None, ..head }];
        for other in bits.map(changed).chain(others) {
            assert_ne!(other.sum(), head.sum(), "{other:?}");
        }
    }
}
