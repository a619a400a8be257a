//! Packs entries into a page.

use super::checksum::put_crc;
use super::entry::{EntryLens, SealedHead};
use super::fill::Fill;
use super::{COUNT_BITS, COUNT_MASK, NewEntry, PAGE_HEADER_BYTES, PageShape, SLOT_BYTES, shared_len};
use crate::UNIT_BYTES;

/// The ordinals in a page's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstOrdinals {
    /// Of the page's first entry among the table's entries.
    pub entry: u32,
    /// Of that entry's key among the table's distinct keys.
    pub key: u32,
}

/// Packs entries into pages, one after the other.
///
/// Entries are kept whole until the page is full, because the prefix they share is known only
/// then.
#[derive(Debug)]
pub struct PageBuilder {
    fill: Fill,
    records: Vec<Record>,
    /// Key and value of each record, one after the other.
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    at: usize,
    key_len: usize,
    value_len: usize,
    head: SealedHead,
}

impl PageBuilder {
    /// An empty page of this shape.
    pub fn new(shape: PageShape) -> Self {
        Self { fill: Fill::new(shape), records: Vec::new(), bytes: Vec::new() }
    }

    /// The shape of its pages.
    pub fn shape(&self) -> PageShape {
        self.fill.shape()
    }

    /// Entries on the page so far.
    pub fn count(&self) -> usize {
        self.records.len()
    }

    /// No entry is on the page yet.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Bytes of the page in use so far.
    pub fn used_bytes(&self) -> usize {
        self.fill.used_bytes()
    }

    /// An empty page of this shape holds the entry; else it needs a jumbo run.
    pub fn fits_empty(shape: PageShape, entry: &NewEntry<'_>) -> bool {
        Fill::fits_empty(shape, entry.lens())
    }

    /// Adds an entry, which must come after those before, unless it does not fit.
    #[must_use]
    pub fn try_add(&mut self, entry: &NewEntry<'_>) -> bool {
        let lens: EntryLens = entry.lens();
        let prefix = match self.records.first() {
            Some(first) => &self.bytes[first.at..first.at + self.fill.prefix_len()],
            None => &[],
        };
        if !self.fill.offer(lens, shared_len(prefix, entry.key)) {
            return false;
        }
        self.records.push(Record {
            at: self.bytes.len(),
            key_len: lens.key,
            value_len: lens.value,
            head: entry.sealed_head(),
        });
        self.bytes.extend_from_slice(entry.key);
        self.bytes.extend_from_slice(entry.value);
        true
    }

    /// Appends the page, sealed with the [salt](super::TableSalt) of its place, and starts the
    /// next one. At least one entry must be on it. Returns the page's 4 KiB units.
    pub fn finish(&mut self, first: FirstOrdinals, salt: u32, out: &mut Vec<u8>) -> u32 {
        let (shape, prefix_len) = (self.fill.shape(), self.fill.prefix_len());
        let start = out.len();
        let units = self.fill.units();
        out.extend_from_slice(&count_and_units(self.records.len(), units).to_le_bytes());
        out.extend_from_slice(&(prefix_len as u16).to_le_bytes());
        out.extend_from_slice(&first.entry.to_le_bytes());
        out.extend_from_slice(&first.key.to_le_bytes());
        out.resize(start + PAGE_HEADER_BYTES + SLOT_BYTES * self.records.len(), 0);
        out.extend_from_slice(&self.bytes[..prefix_len]);
        for (slot, record) in self.records.iter().enumerate() {
            let offset = shape.align_up(out.len() - start);
            out.resize(start + offset, 0);
            let slot_at = start + PAGE_HEADER_BYTES + SLOT_BYTES * slot;
            out[slot_at..slot_at + SLOT_BYTES].copy_from_slice(&(offset as u16).to_le_bytes());
            record.head.encode(record.key_len - prefix_len, record.value_len, out);
            let end = record.at + record.key_len + record.value_len;
            out.extend_from_slice(&self.bytes[record.at + prefix_len..end]);
        }
        out.resize(start + units * UNIT_BYTES, 0);
        put_crc(&mut out[start..], salt);
        self.fill.clear();
        self.records.clear();
        self.bytes.clear();
        units as u32
    }
}

/// The header's first field: 1 to 16 units, and as many entries as those hold.
fn count_and_units(entries: usize, units: usize) -> u16 {
    assert!(entries <= usize::from(COUNT_MASK), "an entry takes 16 bytes, a page has at most 64 KiB");
    entries as u16 | ((units - 1) as u16) << COUNT_BITS
}
