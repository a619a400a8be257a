//! What is kept of each page: where it begins in the order of hashes, its seed, its checksum.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | seed of the table |
//! | 8 | 4 | number p of pages |
//! | 12 | 4 | bytes of a page |
//! | 16 | 4 | slots of a page |
//! | 20 | 4 | pilots of a page; 0: its fingerprints are scanned |
//! | 24 | 2 | bits of a value |
//! | 26 | 2 | bits of a fingerprint |
//! | 28 | 4 | zero |
//! | 32 | 4p | high 32 bits of each page's first hash, rising; of the first page 0 |
//! | | 4p | CRC-32 of each page |
//! | | p | seed of each page; 255: it fell back |

use std::ops::Range;

use kiban_formats::crc::crc32;
use kiban_formats::describe::Dump;
use kiban_formats::{FormatError, Problem};

use super::geometry::Geometry;
use super::lookup::FALLBACK_SEED;

const SECTION: &str = "directory of hash pages";
const FIELD_PAGES: usize = 8;
const FIELD_PAGE_BYTES: usize = FIELD_PAGES + 4;
const FIELD_SLOTS: usize = FIELD_PAGE_BYTES + 4;
const FIELD_BUCKETS: usize = FIELD_SLOTS + 4;
const FIELD_VALUE_BITS: usize = FIELD_BUCKETS + 4;
const FIELD_FINGERPRINT_BITS: usize = FIELD_VALUE_BITS + 2;
const FIELD_ZERO: usize = FIELD_FINGERPRINT_BITS + 2;
/// Bytes before the pages' own.
const HEAD_BYTES: usize = FIELD_ZERO + 4;
const _: () = assert!(HEAD_BYTES == 32);
/// Bytes for a page.
const ENTRY_BYTES: usize = 4 + 4 + 1;

/// The directory, as it is built and as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    pub(crate) seed: u64,
    pub(crate) geometry: Geometry,
    pub(super) firsts: Vec<u32>,
    pub(super) crcs: Vec<u32>,
    pub(super) seeds: Vec<u8>,
}

impl Directory {
    pub(super) fn new(seed: u64, geometry: Geometry) -> Self {
        Self { seed, geometry, firsts: Vec::new(), crcs: Vec::new(), seeds: Vec::new() }
    }

    pub(super) fn push(&mut self, first: u32, page_seed: u8, crc: u32) {
        self.firsts.push(first);
        self.crcs.push(crc);
        self.seeds.push(page_seed);
    }

    /// Bytes of heap.
    pub(crate) fn memory_bytes(&self) -> usize {
        (self.firsts.capacity() + self.crcs.capacity()) * size_of::<u32>() + self.seeds.capacity()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.seeds.is_empty()
    }

    /// The checksum of each page.
    pub(crate) fn crcs(&self) -> &[u32] {
        &self.crcs
    }

    /// Bytes of slots and of pilots in all pages.
    pub(crate) fn parts(&self) -> [(&'static str, u64); 2] {
        let pages = self.seeds.len() as u64;
        let (slots, pilots) = (self.geometry.slots_range().end as u64, u64::from(self.geometry.buckets));
        [("slots", pages * slots), ("pilots", pages * pilots)]
    }

    /// Bytes of the directory of so many pages.
    pub(crate) fn encoded_bytes(pages: u32) -> u64 {
        HEAD_BYTES as u64 + u64::from(pages) * ENTRY_BYTES as u64
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let geometry = &self.geometry;
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.seeds.len() * ENTRY_BYTES);
        bytes.extend_from_slice(&self.seed.to_le_bytes());
        // A cut before hashes that the directory cannot tell apart may have made more pages.
        for number in [self.seeds.len() as u32, geometry.page_bytes, geometry.slots, geometry.buckets] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&(geometry.value_bits as u16).to_le_bytes());
        bytes.extend_from_slice(&(geometry.fingerprint_bits() as u16).to_le_bytes());
        bytes.extend_from_slice(&[0; HEAD_BYTES - FIELD_ZERO]);
        bytes.extend(self.firsts.iter().flat_map(|first| first.to_le_bytes()));
        bytes.extend(self.crcs.iter().flat_map(|crc| crc.to_le_bytes()));
        bytes.extend_from_slice(&self.seeds);
        bytes
    }

    /// Reads a directory whose checksum has been compared. That there are as many bytes of pages as
    /// it says is the caller's to check.
    ///
    /// # Errors
    /// Another length than the number of pages gives, a geometry that cannot be.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let (seed, geometry) = decode_head(bytes)?;
        let [firsts, crcs, seeds] = columns(geometry.pages as usize).map(|column| &bytes[column]);
        let firsts = numbers(firsts);
        if firsts.first().is_some_and(|first| *first != 0) || firsts.windows(2).any(|two| two[0] >= two[1]) {
            return Err(FormatError::invalid(SECTION, HEAD_BYTES as u64, "pages that are not in order"));
        }
        Ok(Self { seed, geometry, firsts, crcs: numbers(crcs), seeds: seeds.to_vec() })
    }

    /// Writes the parts of the pages.
    pub(crate) fn describe_pages(&self, pages: &[u8], offset: u64, dump: &mut Dump) {
        let page_bytes = self.geometry.page_bytes as usize;
        for (no, page) in pages.chunks_exact(page_bytes.max(1)).enumerate() {
            dump.heading(format!("hash page {no}, seed {}", self.seeds[no]));
            if crc32(page) != self.crcs[no] {
                dump.note("UNREADABLE: another checksum than the directory has");
            }
            describe_page(&self.geometry, page, offset + (no * page_bytes) as u64, dump);
        }
    }

    /// Writes the fields of a directory.
    ///
    /// # Errors
    /// What does not decode.
    pub(crate) fn describe(bytes: &[u8], offset: u64, dump: &mut Dump) -> Result<(), FormatError> {
        let (seed, geometry) = decode_head(bytes)?;
        let mut field = |range: Range<usize>, what: String| {
            dump.field(offset + range.start as u64, &bytes[range], what);
        };
        field(0..FIELD_PAGES, format!("seed {seed:016x}"));
        field(FIELD_PAGES..FIELD_PAGE_BYTES, format!("{} hash pages", geometry.pages));
        field(FIELD_PAGE_BYTES..FIELD_SLOTS, format!("of {} bytes", geometry.page_bytes));
        field(FIELD_SLOTS..FIELD_BUCKETS, format!("{} slots each", geometry.slots));
        field(FIELD_BUCKETS..FIELD_VALUE_BITS, format!("{} pilots each", geometry.buckets));
        field(FIELD_VALUE_BITS..FIELD_FINGERPRINT_BITS, format!("values of {} bits", geometry.value_bits));
        let fingerprint = format!("fingerprints of {} bits", geometry.fingerprint_bits());
        field(FIELD_FINGERPRINT_BITS..FIELD_ZERO, fingerprint);
        field(FIELD_ZERO..HEAD_BYTES, "zero".to_owned());
        let [firsts, crcs, seeds] = columns(geometry.pages as usize);
        field(firsts, "first hash of each page, high 32 bits".to_owned());
        field(crcs, "CRC of each page".to_owned());
        let fallen = bytes[seeds.clone()].iter().filter(|seed| **seed == FALLBACK_SEED).count();
        field(seeds, format!("seed of each page; {fallen} fell back"));
        Ok(())
    }
}

/// Writes the parts of each page.
fn describe_page(geometry: &Geometry, bytes: &[u8], offset: u64, dump: &mut Dump) {
    let slots = geometry.slots_range();
    let mut field = |range: Range<usize>, what: String| {
        if !range.is_empty() {
            dump.field(offset + range.start as u64, &bytes[range], what);
        }
    };
    let fingerprint_bits = geometry.fingerprint_bits();
    field(0..slots.start, format!("{} fingerprints of {fingerprint_bits} bits", geometry.slots));
    field(slots.clone(), format!("{} slots of {} bits", geometry.slots, geometry.slot_bits()));
    let pilots_end = slots.end + geometry.buckets as usize;
    field(slots.end..pilots_end, format!("{} pilots", geometry.buckets));
    field(pilots_end..bytes.len(), "zeros".to_owned());
}

/// Where the columns of so many pages stand.
fn columns(pages: usize) -> [Range<usize>; 3] {
    let (firsts, crcs) = (HEAD_BYTES, HEAD_BYTES + 4 * pages);
    let seeds = crcs + 4 * pages;
    [firsts..crcs, crcs..seeds, seeds..seeds + pages]
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Seed and geometry; the columns are there.
fn decode_head(bytes: &[u8]) -> Result<(u64, Geometry), FormatError> {
    let truncated =
        |needed: u64| FormatError::new(SECTION, 0, Problem::Truncated { needed, have: bytes.len() as u64 });
    let head: &[u8; HEAD_BYTES] = bytes.first_chunk().ok_or_else(|| truncated(HEAD_BYTES as u64))?;
    let mut words = [0; HEAD_BYTES / 4];
    for (word, bytes) in words.iter_mut().zip(head.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let [seed_low, seed_high, pages, page_bytes, slots, buckets, widths, zero] = words;
    let geometry = Geometry { pages, page_bytes, slots, buckets, value_bits: widths & 0xFFFF };
    let fault = |offset: usize, what: &'static str| FormatError::invalid(SECTION, offset as u64, what);
    geometry.check().map_err(|what| fault(FIELD_PAGES, what))?;
    if widths >> 16 != geometry.fingerprint_bits() {
        return Err(fault(FIELD_FINGERPRINT_BITS, "fingerprints of an unknown width"));
    }
    if zero != 0 {
        return Err(fault(FIELD_ZERO, "unknown flags"));
    }
    let needed = Directory::encoded_bytes(pages);
    if bytes.len() as u64 != needed {
        return Err(truncated(needed));
    }
    Ok((u64::from(seed_high) << 32 | u64::from(seed_low), geometry))
}
