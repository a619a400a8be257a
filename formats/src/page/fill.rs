//! How full a page is: the arithmetic that the builder and the choice of a page size share.

use super::entry::EntryLens;
use super::{PAGE_HEADER_BYTES, PageShape, SLOT_BYTES};
use crate::UNIT_BYTES;

/// The bytes that a page's entries take, without the bytes themselves.
#[derive(Debug)]
pub(super) struct Fill {
    shape: PageShape,
    lens: Vec<EntryLens>,
    /// Bytes that all keys share; 0 on pages that share none.
    prefix_len: usize,
    /// Bytes of the entries, each rounded up to the unit, without that prefix.
    entry_bytes: usize,
}

impl Fill {
    pub(super) fn new(shape: PageShape) -> Self {
        Self { shape, lens: Vec::new(), prefix_len: 0, entry_bytes: 0 }
    }

    pub(super) fn shape(&self) -> PageShape {
        self.shape
    }

    pub(super) fn count(&self) -> usize {
        self.lens.len()
    }

    pub(super) fn prefix_len(&self) -> usize {
        self.prefix_len
    }

    pub(super) fn clear(&mut self) {
        self.lens.clear();
        self.prefix_len = 0;
        self.entry_bytes = 0;
    }

    /// Where the first of `count` entries starts on a page that shares `prefix_len` bytes.
    pub(super) fn entries_start(&self, count: usize, prefix_len: usize) -> usize {
        self.shape.align_up(PAGE_HEADER_BYTES + SLOT_BYTES * count + prefix_len)
    }

    /// Bytes used so far.
    pub(super) fn used_bytes(&self) -> usize {
        self.entries_start(self.count(), self.prefix_len) + self.entry_bytes
    }

    /// Units of the page: it ends with the one in which its last entry ends.
    pub(super) fn units(&self) -> usize {
        self.used_bytes().div_ceil(UNIT_BYTES)
    }

    /// The prefix the page would share with a key that shares `shared` bytes with its first.
    fn prefix_with(&self, key_len: usize, shared: usize) -> usize {
        match (self.shape.shares_prefix(), self.lens.is_empty()) {
            (false, _) => 0,
            (true, true) => key_len,
            (true, false) => self.prefix_len.min(shared),
        }
    }

    fn entry_bytes_at(&self, prefix_len: usize) -> usize {
        // Only pages of 4 KiB come here twice: few entries, and a prefix that only shrinks.
        self.lens.iter().map(|lens| self.shape.align_up(lens.encoded(prefix_len))).sum()
    }

    /// Takes an entry in if the page still holds it; `shared` is what its key shares with the
    /// page's first, at least as far as the present prefix goes.
    pub(super) fn offer(&mut self, lens: EntryLens, shared: usize) -> bool {
        let prefix_len = self.prefix_with(lens.key, shared);
        let before = match prefix_len == self.prefix_len {
            true => self.entry_bytes,
            false => self.entry_bytes_at(prefix_len),
        };
        let entry_bytes = before + self.shape.align_up(lens.encoded(prefix_len));
        let start = self.entries_start(self.count() + 1, prefix_len);
        // The page is a multiple of the unit, so rounding the last entry up costs nothing.
        if start + entry_bytes > self.shape.page_bytes() {
            return false;
        }
        self.lens.push(lens);
        self.prefix_len = prefix_len;
        self.entry_bytes = entry_bytes;
        true
    }

    /// An empty page holds the entry.
    pub(super) fn fits_empty(shape: PageShape, lens: EntryLens) -> bool {
        Self::new(shape).offer(lens, lens.key)
    }
}
