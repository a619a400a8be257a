//! One entry: as it is handed to a builder, and as it is read.

use std::cmp::Ordering;

use super::{ENTRY_FIXED_BYTES, SECTION};
use crate::crc::{crc32, crc32_parts};
use crate::fields::Fields;
use crate::{EntryHead, FormatError, Kind, NEWEST_BIT, Problem, SeqNo, varint};

/// An entry to be written.
#[derive(Clone, Copy, Debug)]
pub struct NewEntry<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its sequence.
    pub seq: SeqNo,
    /// Its kind.
    pub kind: Kind,
    /// The sequence of the next newer version of the key in the table, if there is one.
    pub newer: Option<SeqNo>,
    /// Its value; empty for a tombstone.
    pub value: &'a [u8],
    /// [`payload_crc`](crate::payload_crc) of key and value, made when the caller handed them in.
    pub payload_crc: u32,
}

/// The lengths that decide how many bytes an entry takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryLens {
    pub(super) key: usize,
    pub(super) value: usize,
    /// Bytes of checksum, sequence, kind, newer sequence and value length.
    head: usize,
}

impl EntryLens {
    pub(super) fn new(key: usize, value: usize, newer_by: Option<u64>) -> Self {
        let newer = newer_by.map_or(0, varint::encoded_len);
        Self { key, value, head: ENTRY_FIXED_BYTES + newer + varint::encoded_len(value as u64) }
    }

    /// Bytes of the entry on a page whose keys share `prefix_len` bytes.
    #[inline]
    pub(super) fn encoded(self, prefix_len: usize) -> usize {
        let suffix = self.key - prefix_len;
        self.head + varint::encoded_len(suffix as u64) + suffix + self.value
    }
}

impl NewEntry<'_> {
    fn head(&self) -> EntryHead {
        let len = |len: usize| u32::try_from(len).expect("lengths were checked before they were logged");
        EntryHead {
            key_len: len(self.key.len()),
            value_len: len(self.value.len()),
            seq: self.seq,
            kind: self.kind,
            newer: self.newer,
        }
    }

    pub(super) fn newer_by(&self) -> Option<u64> {
        self.newer.map(|newer| newer.0 - self.seq.0)
    }

    pub(super) fn lens(&self) -> EntryLens {
        EntryLens::new(self.key.len(), self.value.len(), self.newer_by())
    }

    /// The parts that are neither key, value nor length.
    pub(super) fn sealed_head(&self) -> SealedHead {
        let head = self.head();
        SealedHead {
            crc: self.payload_crc ^ head.sum(),
            seq_and_kind: head.seq_and_kind(),
            newer_by: self.newer_by(),
        }
    }
}

/// The parts of an entry that are neither key nor value nor a length.
#[derive(Clone, Copy, Debug)]
pub(super) struct SealedHead {
    crc: u32,
    seq_and_kind: u64,
    newer_by: Option<u64>,
}

impl SealedHead {
    /// Appends all that stands before the key's suffix.
    pub(super) fn encode(&self, suffix_len: usize, value_len: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.crc.to_le_bytes());
        out.extend_from_slice(&self.seq_and_kind.to_le_bytes());
        if let Some(newer_by) = self.newer_by {
            varint::encode(newer_by, out);
        }
        varint::encode(suffix_len as u64, out);
        varint::encode(value_len as u64, out);
    }
}

/// What stands before an entry's suffix, read.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryStart {
    pub(super) crc: u32,
    pub(super) seq: SeqNo,
    pub(super) kind: Kind,
    pub(super) newer: Option<SeqNo>,
    pub(super) suffix_len: u64,
    pub(super) value_len: u64,
}

impl EntryStart {
    #[inline]
    pub(super) fn decode(fields: &mut Fields<'_>) -> Result<Self, FormatError> {
        let at = fields.offset();
        let crc = fields.u32()?;
        let seq_and_kind = fields.u64()?;
        let [kind_byte, ..] = seq_and_kind.to_le_bytes();
        let seq = SeqNo(seq_and_kind >> 8);
        let Some(kind) = Kind::from_bits(kind_byte & !NEWEST_BIT) else {
            return Err(FormatError::invalid(
                SECTION,
                at + 4,
                format!("no such entry kind: {kind_byte:#04x}"),
            ));
        };
        let newer = match kind_byte & NEWEST_BIT {
            0 => Some(newer_seq(seq, fields)?),
            _ => None,
        };
        let suffix_len = fields.varint()?;
        let value_len = fields.varint()?;
        if kind == Kind::Delete && value_len != 0 || value_len > u64::from(u32::MAX) {
            return Err(FormatError::invalid(SECTION, at, "a value of a length that cannot be"));
        }
        Ok(Self { crc, seq, kind, newer, suffix_len, value_len })
    }
}

fn newer_seq(seq: SeqNo, fields: &mut Fields<'_>) -> Result<SeqNo, FormatError> {
    let at = fields.offset();
    let newer = seq.0.checked_add(fields.varint()?).map(SeqNo);
    newer.filter(|newer| *newer > seq && *newer <= SeqNo::MAX).ok_or_else(|| {
        FormatError::invalid(SECTION, at, "a newer version whose sequence is not newer, or above 2^56 - 1")
    })
}

/// An entry of a page.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// The start of its key, which all keys of the page share.
    pub prefix: &'a [u8],
    /// The rest of its key.
    pub suffix: &'a [u8],
    /// Its sequence.
    pub seq: SeqNo,
    /// Its kind.
    pub kind: Kind,
    /// The sequence of the next newer version of the key in the table; `None`: this is the newest.
    pub newer: Option<SeqNo>,
    /// Its value.
    pub value: &'a [u8],
    /// Where the value starts: bytes from the start of the page, or of the jumbo run.
    pub value_offset: usize,
    /// The entry checksum stored.
    pub crc: u32,
    /// Suffix and value, which stand together on a page; empty of a jumbo run.
    body: &'a [u8],
}

impl<'a> Entry<'a> {
    /// The entry at `offset` of a page whose keys share `prefix`.
    #[inline]
    pub(super) fn decode(page: &'a [u8], offset: usize, prefix: &'a [u8]) -> Result<Self, FormatError> {
        let place = |error: FormatError| error.moved_by(offset as u64);
        let Some(bytes) = page.get(offset..) else {
            let problem = Problem::Truncated { needed: offset as u64, have: page.len() as u64 };
            return Err(FormatError::new(SECTION, 0, problem));
        };
        let mut fields = Fields::new(SECTION, bytes);
        let start = EntryStart::decode(&mut fields).map_err(place)?;
        let start_bytes = fields.offset();
        // Of 64 and of 32 bits: a sum that is too large is longer than any page.
        let body = fields.bytes(start.suffix_len.saturating_add(start.value_len)).map_err(place)?;
        let (suffix, value) = body.split_at(start.suffix_len as usize);
        let value_offset = offset + start_bytes as usize + suffix.len();
        Ok(Self { body, ..Self::from_parts(&start, KeyParts { prefix, suffix }, value, value_offset) })
    }

    pub(super) fn from_parts(
        start: &EntryStart,
        key: KeyParts<'a>,
        value: &'a [u8],
        value_offset: usize,
    ) -> Self {
        Self {
            prefix: key.prefix,
            suffix: key.suffix,
            seq: start.seq,
            kind: start.kind,
            newer: start.newer,
            value,
            value_offset,
            crc: start.crc,
            body: &[],
        }
    }

    /// Bytes of the whole key.
    #[inline]
    pub fn key_len(&self) -> usize {
        self.prefix.len() + self.suffix.len()
    }

    /// The whole key is `key`.
    #[inline]
    pub fn has_key(&self, key: &[u8]) -> bool {
        key.len() == self.key_len() && key.ends_with(self.suffix) && key.starts_with(self.prefix)
    }

    /// The whole key, copied.
    pub fn to_key(&self) -> Vec<u8> {
        [self.prefix, self.suffix].concat()
    }

    /// Compares the whole key with `key`.
    pub fn cmp_key(&self, key: &[u8]) -> Ordering {
        let (start, rest) = key.split_at(key.len().min(self.prefix.len()));
        self.prefix.cmp(start).then_with(|| self.suffix.cmp(rest))
    }

    fn head_sum(&self) -> u32 {
        // Lengths above 32 bits cannot be: keys end inside a page, values are checked.
        EntryHead {
            key_len: self.key_len() as u32,
            value_len: self.value.len() as u32,
            seq: self.seq,
            kind: self.kind,
            newer: self.newer,
        }
        .sum()
    }

    /// The checksum of key and value that the entry claims, to be handed on with them.
    #[inline]
    pub fn payload_crc(&self) -> u32 {
        self.crc ^ self.head_sum()
    }

    /// Compares the entry's checksum with its bytes. An entry that passes is one that was
    /// written: this key, this sequence, this value.
    #[inline]
    pub fn verify(&self) -> Result<(), FormatError> {
        // As few parts as there can be: each costs as much as a hundred bytes more.
        let payload = match (self.prefix, self.body) {
            ([], body) if !body.is_empty() => crc32(body),
            (prefix, body) if !body.is_empty() => crc32_parts(&[prefix, body]),
            (prefix, _) => crc32_parts(&[prefix, self.suffix, self.value]),
        };
        let computed = payload ^ self.head_sum();
        if computed != self.crc {
            let problem = Problem::Checksum { stored: self.crc, computed };
            return Err(FormatError::new("entry", self.value_offset as u64, problem));
        }
        Ok(())
    }
}

/// A key in two parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyParts<'a> {
    pub(super) prefix: &'a [u8],
    pub(super) suffix: &'a [u8],
}
