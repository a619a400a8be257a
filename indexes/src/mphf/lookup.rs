//! Finding a hash's value, in steps that a caller can spread over many keys.

use super::bits;
use super::build::scanned_fingerprint;
use super::directory::Directory;
use super::geometry::{FINGERPRINT_BITS, Geometry};
use super::hash::{PageWords, fingerprint, remix, slot};
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

/// A hash on its way: it is known in which page it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InPage {
    /// The page.
    pub(crate) page: u32,
    hash: u64,
    /// By the seed that nearly all pages have. They are made while the page is looked for, so that
    /// neither waits for the other.
    words: PageWords,
    bucket: u32,
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
    /// Where pilots begin in a page.
    pilots_at: usize,
    pages: PageTable,
    seeds: Box<[u8]>,
}

impl HashPages {
    pub(crate) fn new(directory: Directory) -> Self {
        let Directory { seed, firsts, seeds, geometry, .. } = directory;
        let pilots_at = geometry.slots_range().end;
        Self { seed, geometry, pilots_at, pages: PageTable::new(firsts), seeds: seeds.into_boxed_slice() }
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

    /// Step 1, in the directory: the page. `None`: there is no key.
    #[inline]
    pub(crate) fn page(&self, hash: u64) -> Option<InPage> {
        (self.geometry.pages > 0).then(|| self.page_of_mixed(remix(self.seed, hash)))
    }

    /// The page of a hash that is the table's own already.
    #[inline]
    pub(super) fn page_of_mixed(&self, hash: u64) -> InPage {
        let words = PageWords::new(hash, COMMON_SEED);
        let head = (hash >> 32) as u32;
        let page = self.pages.find(head);
        InPage { page, hash, words, bucket: words.bucket(self.geometry.buckets) }
    }

    /// The byte of the pages that step 2 reads.
    #[inline]
    pub(crate) fn pilot_at(&self, found: InPage) -> usize {
        let page_at = found.page as usize * self.page_bytes();
        if self.geometry.is_scanned() { page_at } else { page_at + self.pilots_at + found.bucket as usize }
    }

    /// Step 2, with the page's pilot: the slot. `Err`: there is none to look at.
    #[inline]
    pub(crate) fn slot(&self, pages: &[u8], found: InPage) -> Result<InSlot, Found> {
        match self.seeds[found.page as usize] {
            COMMON_SEED if !self.geometry.is_scanned() => Ok(self.slot_of(pages, found)),
            page_seed => self.uncommon_slot(pages, found, page_seed),
        }
    }

    #[inline]
    fn slot_of(&self, pages: &[u8], found: InPage) -> InSlot {
        let page_at = found.page as usize * self.page_bytes();
        let pilot = pages.get(page_at + self.pilots_at + found.bucket as usize).copied().unwrap_or_default();
        let slot = slot(found.words.place(), pilot, self.geometry.slots);
        InSlot { hash: found.hash, page_at, slot }
    }

    /// Of a page that is scanned, fell back, or has another seed.
    #[cold]
    fn uncommon_slot(&self, pages: &[u8], found: InPage, page_seed: u8) -> Result<InSlot, Found> {
        if page_seed == FALLBACK_SEED {
            return Err(Found::Unknown);
        }
        if self.geometry.is_scanned() {
            let page_at = found.page as usize * self.page_bytes();
            return Err(self.scan(&pages[page_at..], found.hash, page_seed));
        }
        let words = PageWords::new(found.hash, page_seed);
        let bucket = words.bucket(self.geometry.buckets);
        Ok(self.slot_of(pages, InPage { words, bucket, ..found }))
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
    fn scan(&self, page: &[u8], hash: u64, page_seed: u8) -> Found {
        let wanted = scanned_fingerprint(hash, page_seed);
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
