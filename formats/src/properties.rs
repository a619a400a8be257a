//! Properties: what is worth knowing of a table without reading it.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | entries |
//! | 8 | 8 | distinct keys |
//! | 16 | 8 | tombstones |
//! | 24 | 8 | least sequence |
//! | 32 | 8 | greatest sequence |
//! | 40 | 8 | bytes of all keys |
//! | 48 | 8 | bytes of all values |
//! | 56 | 8 | data pages, jumbo runs among them |
//! | 64 | 8 | jumbo runs |
//! | 72 | 19 x 8 | distinct keys by length: 0, 1, 2-3, 4-7 ... 65,536-131,071, 131,072 |
//! | 224 | 32 | a bit for each byte seen behind the bytes that all keys share |
//! | 256 | 4 | bytes that all keys share |
//! | 260 | 4 | length of the smallest key |
//! | 264 | 4 | length of the largest key |
//! | 268 | | smallest key, largest key |
//!
//! A later minor version may append fields; they are skipped.

use crate::describe::{Dump, printable};
use crate::fields::Fields;
use crate::page::{KEY_BYTES_MAX, NewEntry, shared_len};
use crate::{FormatError, Kind, SeqNo};

/// Bytes before the keys.
pub const PROPERTIES_FIXED_BYTES: usize = FIELD_KEYS;
/// Classes of key lengths.
pub const LENGTH_CLASSES: usize = 19;

const SECTION: &str = "properties";
const COUNTERS: usize = 9;
const FIELD_LENGTHS: usize = 8 * COUNTERS;
const FIELD_ALPHABET: usize = FIELD_LENGTHS + 8 * LENGTH_CLASSES;
const FIELD_COMMON: usize = FIELD_ALPHABET + 32;
const FIELD_KEYS: usize = FIELD_COMMON + 4 + 4 + 4;
const _: () = assert!(FIELD_ALPHABET == 224 && FIELD_COMMON == 256 && FIELD_KEYS == 268);
const _: () = assert!(length_class(KEY_BYTES_MAX) == LENGTH_CLASSES - 1);

/// Counts, ranges and the shape of the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    /// Entries: all versions and tombstones.
    pub entries: u64,
    /// Distinct keys.
    pub keys: u64,
    /// Tombstones.
    pub tombstones: u64,
    /// Least sequence of an entry.
    pub min_seq: SeqNo,
    /// Greatest sequence of an entry.
    pub max_seq: SeqNo,
    /// Bytes of the keys of all entries.
    pub raw_key_bytes: u64,
    /// Bytes of all values.
    pub raw_value_bytes: u64,
    /// Data pages, jumbo runs among them.
    pub data_pages: u64,
    /// Jumbo runs.
    pub jumbo_runs: u64,
    /// Distinct keys by length: class 0 has the empty key, class n the lengths with n bits.
    pub key_lengths: [u64; LENGTH_CLASSES],
    /// A bit for each byte seen behind the common prefix; bit b % 8 of byte b / 8.
    pub alphabet: [u8; 32],
    /// Bytes that all keys share at their start.
    pub common_len: u32,
    /// Smallest key.
    pub smallest: Vec<u8>,
    /// Largest key.
    pub largest: Vec<u8>,
}

const fn length_class(len: usize) -> usize {
    (usize::BITS - len.leading_zeros()) as usize
}

impl Properties {
    /// Bytes of memory behind this.
    pub fn heap_bytes(&self) -> usize {
        self.smallest.capacity() + self.largest.capacity()
    }

    /// Counts an entry. Entries come in their order, so the last key is the largest.
    pub(crate) fn add(&mut self, entry: &NewEntry<'_>) {
        let is_first = self.entries == 0;
        self.entries += 1;
        self.tombstones += u64::from(entry.kind == Kind::Delete);
        self.min_seq = if is_first { entry.seq } else { self.min_seq.min(entry.seq) };
        self.max_seq = self.max_seq.max(entry.seq);
        self.raw_key_bytes += entry.key.len() as u64;
        self.raw_value_bytes += entry.value.len() as u64;
        if entry.newer.is_none() {
            self.add_key(entry.key);
        }
    }

    fn add_key(&mut self, key: &[u8]) {
        if self.keys == 0 {
            self.smallest = key.to_vec();
            self.common_len = key.len() as u32;
        }
        self.keys += 1;
        self.key_lengths[length_class(key.len())] += 1;
        let common = self.common_len as usize;
        let shared = shared_len(&self.smallest[..common], key);
        if shared < common {
            // These bytes of the smallest key are behind the common prefix from here on.
            let released = shared..common;
            self.common_len = shared as u32;
            released.for_each(|at| mark(&mut self.alphabet, self.smallest[at]));
        }
        // Bytes shared with the key before have been marked with it.
        let known = shared_len(&self.largest, key).max(shared);
        key[known..].iter().for_each(|byte| mark(&mut self.alphabet, *byte));
        self.largest.clear();
        self.largest.extend_from_slice(key);
    }

    /// What all keys share.
    pub fn common(&self) -> &[u8] {
        &self.smallest[..self.common_len as usize]
    }

    /// Appends the section's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let counters: [u64; COUNTERS] = [
            self.entries,
            self.keys,
            self.tombstones,
            self.min_seq.0,
            self.max_seq.0,
            self.raw_key_bytes,
            self.raw_value_bytes,
            self.data_pages,
            self.jumbo_runs,
        ];
        counters
            .iter()
            .chain(&self.key_lengths)
            .for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        out.extend_from_slice(&self.alphabet);
        out.extend_from_slice(&self.common_len.to_le_bytes());
        // Keys have at most 131,072 bytes.
        out.extend_from_slice(&(self.smallest.len() as u32).to_le_bytes());
        out.extend_from_slice(&(self.largest.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.smallest);
        out.extend_from_slice(&self.largest);
    }

    /// Reads a section.
    ///
    /// # Errors
    /// It ends early, or its numbers contradict each other.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut fields = Fields::new(SECTION, bytes);
        let mut counters = [0; COUNTERS + LENGTH_CLASSES];
        for counter in &mut counters {
            *counter = fields.u64()?;
        }
        let (counters, lengths) = counters.split_at(COUNTERS);
        let &[
            entries,
            keys,
            tombstones,
            min_seq,
            max_seq,
            raw_key_bytes,
            raw_value_bytes,
            data_pages,
            jumbo_runs,
        ] = counters
        else {
            return Err(FormatError::invalid(SECTION, 0, "another number of counters"));
        };
        let mut key_lengths = [0; LENGTH_CLASSES];
        key_lengths.copy_from_slice(lengths);
        let alphabet = fields.array()?;
        let (common_len, smallest_len, largest_len) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let properties = Self {
            entries,
            keys,
            tombstones,
            min_seq: SeqNo(min_seq),
            max_seq: SeqNo(max_seq),
            raw_key_bytes,
            raw_value_bytes,
            data_pages,
            jumbo_runs,
            key_lengths,
            alphabet,
            common_len,
            smallest: fields.bytes(smallest_len.into())?.to_vec(),
            largest: fields.bytes(largest_len.into())?.to_vec(),
        };
        match properties.contradiction() {
            Some(what) => Err(FormatError::invalid(SECTION, 0, what)),
            None => Ok(properties),
        }
    }

    fn contradiction(&self) -> Option<&'static str> {
        if self.entries == 0 || self.keys == 0 || self.keys > self.entries || self.tombstones > self.entries {
            return Some("counts of entries, keys and tombstones that cannot be");
        }
        if self.min_seq > self.max_seq || self.max_seq > SeqNo::MAX || self.smallest > self.largest {
            return Some("a range of keys or sequences that cannot be");
        }
        if self.jumbo_runs > self.data_pages || self.data_pages > self.entries {
            return Some("more pages than entries");
        }
        let counted = self.key_lengths.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
        if counted != Some(self.keys) {
            return Some("lengths of another number of keys");
        }
        if self.common_len as usize != shared_len(&self.smallest, &self.largest) {
            return Some("a common prefix that the smallest and the largest key do not have");
        }
        None
    }
}

fn mark(alphabet: &mut [u8; 32], byte: u8) {
    alphabet[usize::from(byte / 8)] |= 1 << (byte % 8);
}

/// Writes a properties section's fields.
///
/// # Errors
/// What does not decode.
pub fn describe_properties(bytes: &[u8], base: u64, dump: &mut Dump) -> Result<(), FormatError> {
    let properties = Properties::decode(bytes)?;
    let numbers = [
        ("entries", properties.entries),
        ("distinct keys", properties.keys),
        ("tombstones", properties.tombstones),
        ("least sequence", properties.min_seq.0),
        ("greatest sequence", properties.max_seq.0),
        ("bytes of keys", properties.raw_key_bytes),
        ("bytes of values", properties.raw_value_bytes),
        ("data pages", properties.data_pages),
        ("jumbo runs", properties.jumbo_runs),
    ];
    for (no, (name, number)) in numbers.into_iter().enumerate() {
        dump.field(base + 8 * no as u64, &bytes[8 * no..8 * no + 8], format!("{name}: {number}"));
    }
    for (class, count) in properties.key_lengths.iter().enumerate().filter(|(_, count)| **count > 0) {
        let at = FIELD_LENGTHS + 8 * class;
        dump.field(
            base + at as u64,
            &bytes[at..at + 8],
            format!("keys whose length has {class} bits: {count}"),
        );
    }
    let symbols: u32 = properties.alphabet.iter().map(|byte| byte.count_ones()).sum();
    dump.field(
        base + FIELD_ALPHABET as u64,
        &bytes[FIELD_ALPHABET..FIELD_COMMON],
        format!("{symbols} bytes occur"),
    );
    let shared = format!("bytes that all keys share: {}", properties.common_len);
    dump.field(base + FIELD_COMMON as u64, &bytes[FIELD_COMMON..FIELD_COMMON + 4], shared);
    dump.field(
        base + FIELD_COMMON as u64 + 4,
        &bytes[FIELD_COMMON + 4..FIELD_KEYS],
        "lengths of the keys below",
    );
    let (smallest, largest) = (&properties.smallest, &properties.largest);
    dump.field(base + FIELD_KEYS as u64, smallest, format!("smallest key {}", printable(smallest)));
    let largest_at = (FIELD_KEYS + smallest.len()) as u64;
    dump.field(base + largest_at, largest, format!("largest key {}", printable(largest)));
    Ok(())
}
