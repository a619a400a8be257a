//! Which hash pages of a mapped file have been checked.

use std::sync::atomic::{AtomicU64, Ordering};

use kiban_formats::crc::crc32;

/// Two bits a page: it was right, it was wrong.
const PAGES_A_WORD: usize = 32;
const RIGHT: u64 = 0b01;
const WRONG: u64 = 0b10;

/// The checksums of the pages, and what came of them. A page is checked at first use.
#[derive(Debug)]
pub(super) struct Checked {
    crcs: Box<[u32]>,
    /// It follows from the file's bytes alone, so that any order of loads and stores will do.
    known: Box<[AtomicU64]>,
}

impl Checked {
    /// Pages of these checksums, none of them checked.
    pub(super) fn new(crcs: Vec<u32>) -> Self {
        let words = crcs.len().div_ceil(PAGES_A_WORD);
        let known = (0..words).map(|_| AtomicU64::new(0)).collect();
        Self { crcs: crcs.into_boxed_slice(), known }
    }

    /// Bytes of heap.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.crcs) + size_of_val(&*self.known)
    }

    /// Whether a page's bytes are those that were written; `pages` are all pages.
    #[inline]
    pub(super) fn is_right(&self, page: u32, pages: &[u8], page_bytes: usize) -> bool {
        let (word, shift) = (page as usize / PAGES_A_WORD, page as usize % PAGES_A_WORD * 2);
        match self.known[word].load(Ordering::Relaxed) >> shift & (RIGHT | WRONG) {
            0 => self.check(page as usize, pages, page_bytes),
            known => known == RIGHT,
        }
    }

    #[cold]
    fn check(&self, page: usize, pages: &[u8], page_bytes: usize) -> bool {
        let start = page * page_bytes;
        let right = pages.get(start..start + page_bytes).is_some_and(|bytes| crc32(bytes) == self.crcs[page]);
        let known = if right { RIGHT } else { WRONG };
        self.known[page / PAGES_A_WORD].fetch_or(known << (page % PAGES_A_WORD * 2), Ordering::Relaxed);
        right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_checked_once_and_alone() {
        let mut pages: Vec<u8> = (0..100 * 64).map(|no| (no * 7 % 251) as u8).collect();
        let checked = Checked::new(pages.chunks(64).map(crc32).collect());
        pages[40 * 64 + 3] ^= 1;
        for _ in 0..2 {
            (0..100).for_each(|page| assert_eq!(checked.is_right(page, &pages, 64), page != 40));
        }
        pages[41 * 64] ^= 1;
        assert!(checked.is_right(41, &pages, 64), "checked before");
        assert!(!Checked::new(vec![0]).is_right(0, &[], 64));
        assert_eq!(checked.heap_bytes(), 100 * 4 + 4 * 8);
    }
}
