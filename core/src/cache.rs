//! The page cache: pages read by `pread`, checked once when they are loaded.

use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;

use kiban_formats::{FileNo, PageNo, UNIT_BYTES};
use quick_cache::Weighter;
use quick_cache::sync::{Cache, DefaultLifecycle};

/// A page in memory. Values point into it.
pub(crate) type Frame = Arc<[u8]>;

type PageKey = (FileNo, PageNo);

/// Bytes that a page in the cache takes beside its own: reference counts, key, bookkeeping.
const OVERHEAD_BYTES: u64 = 96;
/// Places for which the cache makes room at once; it grows beyond.
const PLACES_MAX: u64 = 1 << 20;

/// Pages of all tables of a store, at most so many bytes.
#[derive(Debug)]
pub(crate) struct PageCache {
    /// `None`: nothing is kept.
    pages: Option<Cache<PageKey, Frame, FrameBytes, PageHash>>,
}

impl PageCache {
    /// A cache of `bytes` bytes; 0 keeps nothing.
    pub(crate) fn new(bytes: u64) -> Self {
        let places = (bytes / UNIT_BYTES as u64).min(PLACES_MAX) as usize;
        let pages = (places > 0)
            .then(|| Cache::with(places, bytes, FrameBytes, PageHash, DefaultLifecycle::default()));
        Self { pages }
    }

    #[inline]
    pub(crate) fn get(&self, file: FileNo, page: PageNo) -> Option<Frame> {
        self.pages.as_ref()?.get(&(file, page))
    }

    pub(crate) fn insert(&self, file: FileNo, page: PageNo, frame: &Frame) {
        if let Some(pages) = &self.pages {
            pages.insert((file, page), frame.clone());
        }
    }

    /// Bytes of the pages in it.
    pub(crate) fn bytes(&self) -> u64 {
        self.pages.as_ref().map_or(0, Cache::weight)
    }
}

#[derive(Clone, Debug)]
struct FrameBytes;

impl Weighter<PageKey, Frame> for FrameBytes {
    fn weight(&self, _: &PageKey, frame: &Frame) -> u64 {
        frame.len() as u64 + OVERHEAD_BYTES
    }
}

/// Numbers of files and pages are small and dense: one multiplication spreads each over all
/// bits.
#[derive(Clone, Copy, Debug)]
struct PageHash;

impl BuildHasher for PageHash {
    type Hasher = PageHasher;
    fn build_hasher(&self) -> PageHasher {
        PageHasher(0)
    }
}

struct PageHasher(u64);

impl PageHasher {
    #[inline]
    fn mix(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number ^ 0x9E37_79B9_7F4A_7C15) * 0xD6E8_FEB8_6659_FD93;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

impl Hasher for PageHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.mix(u64::from(*byte)));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.mix(u64::from(number));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(byte: u8) -> Frame {
        Arc::from(vec![byte; UNIT_BYTES])
    }

    #[test]
    fn pages_are_told_apart_by_file_and_number() {
        let cache = PageCache::new(1 << 20);
        cache.insert(FileNo(1), PageNo(2), &frame(12));
        cache.insert(FileNo(2), PageNo(1), &frame(21));
        assert_eq!(cache.get(FileNo(1), PageNo(2)).unwrap()[0], 12);
        assert_eq!(cache.get(FileNo(2), PageNo(1)).unwrap()[0], 21);
        assert!(cache.get(FileNo(1), PageNo(1)).is_none());
    }

    #[test]
    fn stays_under_its_bytes_and_none_keeps_nothing() {
        for bytes in [0, 5_000, 64 << 10, 1 << 20] {
            let cache = PageCache::new(bytes);
            for page in 0..1_000 {
                cache.insert(FileNo(7), PageNo(page), &frame(1));
            }
            assert!(cache.bytes() <= bytes, "{} of {bytes}", cache.bytes());
            let kept = (0..1_000).filter(|page| cache.get(FileNo(7), PageNo(*page)).is_some()).count();
            assert_eq!(kept as u64 * (UNIT_BYTES as u64 + OVERHEAD_BYTES), cache.bytes());
            assert_eq!(kept > 0, bytes >= 64 << 10 || kept == 1);
        }
    }
}
