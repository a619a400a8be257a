//! Building data pages.

use std::ops::Range;

use super::entry::NewEntry;
use super::view::PageGeometry;
use super::{
    CRC, FIRST_ENTRY, FIRST_KEY, JUMBO, JUMBO_ENTRY_OFFSET, PAGE_HEADER_BYTES, PREFIX_LEN, RUN_UNITS,
    SLOT_BYTES, shared_len, units,
};
use crate::crc::crc32_parts;
use crate::{Kind, SeqNo, UNIT_BYTES};

/// Where an entry of a finished page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its slot.
    pub slot: u16,
    /// Its offset in the page.
    pub offset: u16,
}

/// Puts entries on a page until it is full.
#[derive(Debug)]
pub struct PageBuilder {
    geometry: PageGeometry,
    entries: Vec<Pending>,
    /// Keys and values of the entries.
    arena: Vec<u8>,
    /// Bytes that all keys share, 0 for pages above 4 KiB.
    shared: usize,
    /// Bytes of all entries with that prefix, aligned.
    entry_bytes: usize,
    keys: u32,
}

#[derive(Debug)]
struct Pending {
    key: Range<usize>,
    value: Range<usize>,
    seq: SeqNo,
    kind: Kind,
    newer: Option<SeqNo>,
    payload_crc: u32,
}

impl Pending {
    fn entry<'a>(&self, arena: &'a [u8]) -> NewEntry<'a> {
        NewEntry {
            key: &arena[self.key.clone()],
            seq: self.seq,
            kind: self.kind,
            newer: self.newer,
            value: &arena[self.value.clone()],
            payload_crc: self.payload_crc,
        }
    }
}

impl PageBuilder {
    /// An empty page.
    pub fn new(geometry: PageGeometry) -> Self {
        Self { geometry, entries: Vec::new(), arena: Vec::new(), shared: 0, entry_bytes: 0, keys: 0 }
    }

    /// There is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Number of distinct keys.
    pub fn keys(&self) -> u32 {
        self.keys
    }

    /// The last key; empty if there is no entry.
    pub fn last_key(&self) -> &[u8] {
        self.entries.last().map_or(&[], |last| &self.arena[last.key.clone()])
    }

    /// Adds an entry, greater than all before, if it fits; else the page is as it was.
    pub fn try_add(&mut self, entry: &NewEntry<'_>) -> bool {
        let shared = match self.entries.first() {
            _ if !self.geometry.shares_prefix() => 0,
            None => entry.key.len(),
            Some(first) => self.shared.min(shared_len(&self.arena[first.key.clone()], entry.key)),
        };
        let before = if shared == self.shared { self.entry_bytes } else { self.entry_bytes_with(shared) };
        let entry_bytes = before + self.geometry.aligned(entry.encoded_len(shared));
        let start = self.geometry.aligned(PAGE_HEADER_BYTES + SLOT_BYTES * (self.entries.len() + 1) + shared);
        if start + entry_bytes > self.geometry.page_bytes as usize {
            return false;
        }
        self.keys += u32::from(self.entries.is_empty() || self.last_key() != entry.key);
        let key_start = self.arena.len();
        self.arena.extend_from_slice(entry.key);
        let value_start = self.arena.len();
        self.arena.extend_from_slice(entry.value);
        self.entries.push(Pending {
            key: key_start..value_start,
            value: value_start..self.arena.len(),
            seq: entry.seq,
            kind: entry.kind,
            newer: entry.newer,
            payload_crc: entry.payload_crc,
        });
        (self.shared, self.entry_bytes) = (shared, entry_bytes);
        true
    }

    fn entry_bytes_with(&self, shared: usize) -> usize {
        let len = |pending: &Pending| self.geometry.aligned(pending.entry(&self.arena).encoded_len(shared));
        self.entries.iter().map(len).sum()
    }

    /// Appends the page's bytes, says where each entry is, and begins the next page. The page's
    /// first entry and key have these ordinals in the table.
    pub fn finish(
        &mut self,
        (first_entry, first_key): (u32, u32),
        salt: u32,
        out: &mut Vec<u8>,
        mut placed: impl FnMut(&NewEntry<'_>, Placed),
    ) {
        let start = out.len();
        let first = self.entries.first().map_or(0..0, |entry| entry.key.start..entry.key.start + self.shared);
        // Both fit: 64 KiB hold fewer entries, and only 4 KiB pages share a prefix.
        let (count, prefix_len) = (self.entries.len() as u16, self.shared as u16);
        push_header(count, prefix_len, (first_entry, first_key), out);
        let slots = out.len();
        out.resize(slots + SLOT_BYTES * self.entries.len(), 0);
        out.extend_from_slice(&self.arena[first]);
        for (slot, pending) in self.entries.iter().enumerate() {
            out.resize(start + self.geometry.aligned(out.len() - start), 0);
            let offset = (out.len() - start) as u16;
            out[slots + SLOT_BYTES * slot..][..SLOT_BYTES].copy_from_slice(&offset.to_le_bytes());
            let entry = pending.entry(&self.arena);
            entry.encode_head(self.shared, out);
            out.extend_from_slice(entry.value);
            placed(&entry, Placed { slot: slot as u16, offset });
        }
        out.resize(start + self.geometry.page_bytes as usize, 0);
        let page = &mut out[start..];
        let crc = crc32_parts(&[&page[..CRC], &page[CRC + 4..]]) ^ salt;
        page[CRC..CRC + 4].copy_from_slice(&crc.to_le_bytes());
        self.entries.clear();
        self.arena.clear();
        (self.shared, self.entry_bytes, self.keys) = (0, 0, 0);
    }
}

fn push_header(count: u16, prefix_len: u16, (first_entry, first_key): (u32, u32), out: &mut Vec<u8>) {
    let mut header = [0; PAGE_HEADER_BYTES];
    header[..PREFIX_LEN].copy_from_slice(&count.to_le_bytes());
    header[PREFIX_LEN..FIRST_ENTRY].copy_from_slice(&prefix_len.to_le_bytes());
    header[FIRST_ENTRY..FIRST_KEY].copy_from_slice(&first_entry.to_le_bytes());
    header[FIRST_KEY..CRC].copy_from_slice(&first_key.to_le_bytes());
    out.extend_from_slice(&header);
}

/// A jumbo run: the bytes before the value, and how many zeros follow it.
pub fn jumbo_parts(entry: &NewEntry<'_>, ordinals: (u32, u32), salt: u32) -> (Vec<u8>, usize) {
    let used = JUMBO_ENTRY_OFFSET as u64 + entry.encoded_len(0) as u64;
    let run_units = units(used);
    let mut head = Vec::with_capacity(JUMBO_ENTRY_OFFSET + entry.key.len() + 64);
    push_header(1, JUMBO, ordinals, &mut head);
    // A value and a key within the limits take about 2^20 units.
    head.extend_from_slice(&(run_units as u32).to_le_bytes());
    head.extend_from_slice(&[0; JUMBO_ENTRY_OFFSET - RUN_UNITS - 4]);
    entry.encode_head(0, &mut head);
    let crc = crc32_parts(&[&head[..CRC], &head[CRC + 4..]]) ^ salt;
    head[CRC..CRC + 4].copy_from_slice(&crc.to_le_bytes());
    (head, (run_units * UNIT_BYTES as u64 - used) as usize)
}
