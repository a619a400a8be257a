//! Finding a hash's value, in steps that a caller can spread over many keys.

use super::bits;
use super::build::scanned_fingerprint;
use super::directory::Directory;
use super::geometry::{FINGERPRINT_BITS, Geometry};
use super::hash::{BucketScale, PageWords, fingerprint, remix, slot};
use super::page_table::PageTable;

/// The seed of a page that has no pilots: it says nothing of its keys.
pub(super) const FALLBACK_SEED: u8 = u8::MAX;
/// The seed of nearly all pages: the first that is tried.
const COMMON_SEED: u8 = 0;

/// What a map says of a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The value, if the map has the hash.
    Value(u64),
    /// The map does not have it.
    Absent,
    /// It cannot tell: several keys share the hash, or the page fell back.
    Unknown,
}

/// A hash on its way: it is known in which page and bucket it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InPage {
    /// The page.
    pub(crate) page: u32,
    page_at: usize,
    /// The byte of the pages that step 2 reads.
    pub(crate) pilot_at: usize,
    hash: u64,
    words: PageWords,
}

/// A hash on its way: it is known in which slot of which page it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InSlot {
    hash: u64,
    page_at: usize,
    slot: u32,
}

/// A map from hashes to values; its pages are with the caller.
#[derive(Debug)]
pub(crate) struct HashPages {
    seed: u64,
    geometry: Geometry,
    buckets: BucketScale,
    /// Where pilots begin in a page; 0 of a page that is scanned from its start.
    pilots_at: usize,
    pages: PageTable,
    seeds: Box<[u8]>,
}

impl HashPages {
    pub(crate) fn new(directory: Directory) -> Self {
        let Directory { seed, firsts, seeds, geometry, .. } = directory;
        let pilots_at = if geometry.is_scanned() { 0 } else { geometry.slots_range().end };
        let pages = PageTable::new(firsts, |page| seeds[page] == COMMON_SEED);
        Self {
            seed,
            geometry,
            buckets: BucketScale::new(geometry.buckets),
            pilots_at,
            pages,
            seeds: seeds.into_boxed_slice(),
        }
    }

    /// Bytes of heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.pages.heap_bytes() + size_of_val(&*self.seeds)
    }

    /// Bytes of a page.
    #[inline]
    pub(crate) fn page_bytes(&self) -> usize {
        self.geometry.page_bytes as usize
    }

    /// Step 1, in the directory: the page. `Err`: there is no page to look at.
    #[inline]
    pub(crate) fn page(&self, hash: u64) -> Result<InPage, Found> {
        match self.geometry.pages {
            0 => Err(Found::Absent),
            _ => self.page_of_mixed(remix(self.seed, hash)),
        }
    }

    /// The page of a hash that is the table's own already.
    #[inline]
    pub(super) fn page_of_mixed(&self, hash: u64) -> Result<InPage, Found> {
        match self.pages.find_common(hash) {
            Some((page, is_next)) => Ok(self.in_page(page, is_next, hash, COMMON_SEED)),
            None => self.search_page(hash),
        }
    }

    /// Of a page that fell back or has another seed, or whose neighbours do.
    #[cold]
    fn search_page(&self, hash: u64) -> Result<InPage, Found> {
        let page = self.pages.find(hash);
        match self.seeds[page as usize] {
            FALLBACK_SEED => Err(Found::Unknown),
            page_seed => Ok(self.in_page(page, false, hash, page_seed)),
        }
    }

    /// The way into a page, or into the next one.
    #[inline]
    fn in_page(&self, page: u32, is_next: bool, hash: u64, page_seed: u8) -> InPage {
        let words = PageWords::new(hash, page_seed);
        let in_page = self.pilots_at + words.bucket(self.buckets) as usize;
        // Not the product of the sum: the comparison and the product go on side by side.
        let page_at = page as usize * self.page_bytes() + if is_next { self.page_bytes() } else { 0 };
        InPage { page: page + u32::from(is_next), page_at, pilot_at: page_at + in_page, hash, words }
    }

    /// Step 2, with the page's pilot: the slot. `Err`: there is none to look at.
    #[inline]
    pub(crate) fn slot(&self, pages: &[u8], found: InPage) -> Result<InSlot, Found> {
        let InPage { page_at, pilot_at, hash, words, .. } = found;
        if self.geometry.is_scanned() {
            return Err(self.scan(&pages[page_at..], words));
        }
        let pilot = pages.get(pilot_at).copied().unwrap_or_default();
        Ok(InSlot { hash, page_at, slot: slot(words.place(), pilot, self.geometry.slots) })
    }

    /// The byte of the pages that step 3 reads.
    #[inline]
    pub(crate) fn slot_at(&self, found: InSlot) -> usize {
        found.page_at + found.slot as usize * self.geometry.slot_bits() as usize / 8
    }

    /// Step 3, with the slot: the value.
    #[inline]
    pub(crate) fn value(&self, pages: &[u8], found: InSlot) -> Found {
        let page = pages.get(found.page_at..).unwrap_or_default();
        let content = bits::get(page, found.slot as usize, self.geometry.slot_bits());
        match content & bits::mask(FINGERPRINT_BITS) == fingerprint(found.hash, FINGERPRINT_BITS) {
            true => self.known(content >> FINGERPRINT_BITS),
            false => Found::Absent,
        }
    }

    /// What a stored value says.
    #[inline]
    fn known(&self, value: u64) -> Found {
        match value {
            value if value < self.geometry.listed_value() => Found::Value(value),
            value if value == self.geometry.empty_value() => Found::Absent,
            _ => Found::Unknown,
        }
    }

    /// Finds a fingerprint among few that stand in rising order. All are compared: that is quicker
    /// than a branch for each.
    fn scan(&self, page: &[u8], words: PageWords) -> Found {
        let wanted = scanned_fingerprint(words);
        let values_at = self.geometry.slots_range().start;
        let (fingerprints, values) = page.split_at(values_at.min(page.len()));
        let (fingerprints, _) = fingerprints.as_chunks();
        let below = |found: &[u8; 2]| u16::from(u16::from_le_bytes(*found) < wanted);
        let at = usize::from(fingerprints.iter().map(below).sum::<u16>());
        match fingerprints.get(at).is_some_and(|found| u16::from_le_bytes(*found) == wanted) {
            true => self.known(bits::get(values, at, self.geometry.slot_bits())),
            false => Found::Absent,
        }
    }
}
