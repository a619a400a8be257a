//! Finding a hash's value, in steps that a caller can spread over many keys.

use super::bits;
use super::build::scanned_fingerprint;
use super::directory::Directory;
use super::geometry::{FINGERPRINT_BITS, Geometry};
use super::hash::{PageWords, fingerprint, remix, slot};

/// The seed of a page that has no pilots: it says nothing of its keys.
pub(super) const FALLBACK_SEED: u8 = u8::MAX;
/// Pages that are compared one by one around the guess; where more would be needed, by halves.
const WINDOW_MAX: u32 = 32;

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
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InPage {
    /// The page.
    pub(crate) page: u32,
    hash: u64,
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
    firsts: Box<[u32]>,
    seeds: Box<[u8]>,
    window: Window,
}

/// How far a page can be from the guess.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    back: u32,
    len: u32,
}

impl HashPages {
    pub(crate) fn new(directory: Directory) -> Self {
        let Directory { seed, geometry, firsts, seeds, .. } = directory;
        let window = Window::around(&firsts);
        let pilots_at = geometry.slots_range().end;
        let (firsts, seeds) = (firsts.into_boxed_slice(), seeds.into_boxed_slice());
        Self { seed, geometry, pilots_at, firsts, seeds, window }
    }

    /// Bytes of heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.firsts) + size_of_val(&*self.seeds)
    }

    /// Bytes of a page.
    #[inline]
    pub(crate) fn page_bytes(&self) -> usize {
        self.geometry.page_bytes as usize
    }

    /// Step 1, in the directory: the page. `None`: there is no key.
    #[inline]
    pub(crate) fn page(&self, hash: u64) -> Option<InPage> {
        (!self.firsts.is_empty()).then(|| self.page_of_mixed(remix(self.seed, hash)))
    }

    /// The page of a hash that is the table's own already.
    #[inline]
    pub(super) fn page_of_mixed(&self, hash: u64) -> InPage {
        let head = (hash >> 32) as u32;
        let pages = self.firsts.len() as u32;
        let page = match self.window.len {
            0 => 0,
            len @ 1..=WINDOW_MAX => {
                let start = guess(head, pages).saturating_sub(self.window.back) + 1;
                let near = &self.firsts[start as usize..(start + len).min(pages).max(start) as usize];
                start - 1 + near.iter().map(|first| u32::from(*first <= head)).sum::<u32>()
            }
            // The first page begins at 0.
            _ => self.firsts.partition_point(|first| *first <= head) as u32 - 1,
        };
        InPage { page, hash }
    }

    /// The byte of the pages that step 2 reads.
    #[inline]
    pub(crate) fn pilot_at(&self, found: InPage) -> usize {
        let page_at = found.page as usize * self.page_bytes();
        if self.geometry.is_scanned() {
            return page_at;
        }
        let words = PageWords::new(found.hash, self.seeds[found.page as usize]);
        page_at + self.pilots_at + words.bucket(self.geometry.buckets) as usize
    }

    /// Step 2, with the page's pilot: the slot.
    #[inline]
    pub(crate) fn slot(&self, pages: &[u8], found: InPage) -> Result<InSlot, Found> {
        let page_seed = self.seeds[found.page as usize];
        if page_seed == FALLBACK_SEED {
            return Err(Found::Unknown);
        }
        let page_at = found.page as usize * self.page_bytes();
        if self.geometry.is_scanned() {
            return Err(self.scan(&pages[page_at..], found.hash, page_seed));
        }
        let words = PageWords::new(found.hash, page_seed);
        let pilot_at = page_at + self.pilots_at + words.bucket(self.geometry.buckets) as usize;
        let pilot = pages.get(pilot_at).copied().unwrap_or_default();
        let slot = slot(words.place(), pilot, self.geometry.slots);
        Ok(InSlot { hash: found.hash, page_at, slot })
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

/// The page in which a hash would be if pages took equal parts of the hashes.
#[inline]
fn guess(head: u32, pages: u32) -> u32 {
    ((u64::from(head) * u64::from(pages)) >> 32) as u32
}

impl Window {
    /// The window of pages that begin at these hashes: for every hash the right page is among
    /// `guess - back ..= guess - back + len`.
    fn around(firsts: &[u32]) -> Self {
        let pages = firsts.len() as u32;
        let (mut back, mut ahead) = (0, 0);
        for (page, first) in firsts.iter().enumerate() {
            let last = firsts.get(page + 1).map_or(u32::MAX, |next| next - 1);
            let page = page as u32;
            back = back.max(guess(last, pages).saturating_sub(page));
            ahead = ahead.max(page.saturating_sub(guess(*first, pages)));
        }
        Self { back, len: back + ahead }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_however_hashes_are_spread() {
        let even: Vec<u32> = (0..1_000).map(|no| no * 4_294_967).collect();
        let few: Vec<u32> = vec![0, 1];
        let clustered: Vec<u32> = (0..1_000).map(|no| no * 3).collect();
        let ragged: Vec<u32> = (0..1_000).map(|no: u32| no * 4_294_967 - no % 7 * 600_000).collect();
        for mut firsts in [vec![0], few, even, clustered, ragged] {
            firsts.sort_unstable();
            let pages = firsts.len() as u32;
            let map = HashPages::new(Directory {
                seed: 0,
                geometry: Geometry { pages, ..Geometry::new(100_000, 20) },
                crcs: vec![0; firsts.len()],
                seeds: vec![0; firsts.len()],
                firsts: firsts.clone(),
            });
            for hash in 0..20_000 {
                let found = map.page(hash).unwrap();
                let head = (found.hash >> 32) as u32;
                let right = firsts.partition_point(|first| *first <= head) - 1;
                assert_eq!(found.page as usize, right);
            }
        }
    }
}
