//! The checksum of an entry, in two halves, so that it goes with the entry from the caller's
//! hand to the reader.
//!
//! ```text
//! payload_crc = crc32(key ++ value)        made once, when the operation is handed in
//! head_crc    = crc32(head)                head: key length u32, value length u32,
//!                                                sequence << 8 | kind byte u64, newer sequence u64
//! entry_crc   = payload_crc ^ head_crc     what a table stores
//! ```
//!
//! The kind byte is the kind, and bit 4 where no newer version of the key is in the table; else
//! the newer sequence is that version's. A compaction that changes the head (the flag, the newer
//! sequence, a sequence that becomes 0) takes the old head out and puts the new one in, and never
//! makes the payload's checksum anew.

use crate::crc::{crc32, crc32_parts};
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
    pub fn crc(&self) -> u32 {
        let mut bytes = [0; 24];
        bytes[..4].copy_from_slice(&self.key_len.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.value_len.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.seq_and_kind().to_le_bytes());
        bytes[16..].copy_from_slice(&self.newer.map_or(0, |newer| newer.0).to_le_bytes());
        crc32(&bytes)
    }
}
