//! Cutting sorted pairs into pages, and making each page's bytes.

use std::io;

use kiban_formats::crc::crc32;

use super::collect::LISTED;
use super::geometry::{Geometry, SCANNED_BITS};
use super::hash::{BucketScale, PageWords, fingerprint, slot};
use super::lookup::FALLBACK_SEED;
use super::solve::{PageSize, Solver};
use super::sort::Pair;
use super::{bits, directory::Directory};

/// Seeds that a page tries before it falls back.
const PAGE_SEEDS_MAX: u8 = 64;
const _: () = assert!(PAGE_SEEDS_MAX < FALLBACK_SEED);

/// The pages of a table, made in the order of hashes.
pub(crate) struct Pages<N> {
    pub(crate) directory: Directory,
    /// Pairs of pages that fell back.
    pub(crate) fallen_back: usize,
    /// Pairs that stand for several keys.
    pub(crate) shared: usize,
    maker: PageMaker<N>,
    page_keys: usize,
}

impl<N: Fn(u64) -> u64> Pages<N> {
    /// Pages for so many keys; `number` makes numbers of at most `geometry.value_bits` of what was
    /// collected.
    pub(crate) fn new(seed: u64, geometry: Geometry, keys: usize, number: N) -> Self {
        let page_keys = keys.div_ceil(geometry.pages.max(1) as usize);
        let maker = PageMaker::new(geometry, number);
        Self { directory: Directory::new(seed, geometry), fallen_back: 0, shared: 0, maker, page_keys }
    }

    /// Makes page after page of sorted pairs, each given to `sink` as it is done, and tells how many
    /// pairs are in them. Unless they are the last ones of the table, the pairs of the last page
    /// stay behind: those that come next may belong to it.
    ///
    /// # Errors
    /// The sink's.
    pub(crate) fn make(
        &mut self,
        pairs: &[Pair],
        are_last: bool,
        mut sink: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<usize> {
        let mut rest = pairs;
        while rest.len() > self.page_keys || are_last && !rest.is_empty() {
            let (page_pairs, behind) = rest.split_at(cut(rest, self.page_keys));
            let page_seed = self.maker.make(page_pairs).unwrap_or(FALLBACK_SEED);
            if page_seed == FALLBACK_SEED {
                self.fallen_back += page_pairs.len();
                self.maker.page.fill(0);
            }
            self.shared += page_pairs.iter().filter(|pair| pair.value == LISTED).count();
            // The first page begins at the least hash, whoever has it.
            let first = if self.directory.is_empty() { 0 } else { head(&page_pairs[0]) };
            self.directory.push(first, page_seed, crc32(&self.maker.page));
            sink(&self.maker.page)?;
            rest = behind;
        }
        Ok(pairs.len() - rest.len())
    }
}

/// The part of a hash by which the directory finds its page.
fn head(pair: &Pair) -> u32 {
    (pair.hash >> 32) as u32
}

/// How many pairs the next page takes: as many as fit, but never a part of those that the directory
/// cannot tell apart. If they alone are too many they are a page, which falls back.
fn cut(pairs: &[Pair], page_keys: usize) -> usize {
    let Some(next) = pairs.get(page_keys) else { return pairs.len() };
    let run_start = pairs[..page_keys].partition_point(|pair| head(pair) < head(next));
    match run_start {
        0 => pairs.partition_point(|pair| head(pair) <= head(next)),
        start => start,
    }
}

/// Makes pages in memory that it keeps.
struct PageMaker<N> {
    geometry: Geometry,
    number: N,
    solver: Solver,
    hashes: Vec<u64>,
    page: Vec<u8>,
}

impl<N: Fn(u64) -> u64> PageMaker<N> {
    fn new(geometry: Geometry, number: N) -> Self {
        let page = vec![0; geometry.page_bytes as usize];
        Self { geometry, number, solver: Solver::default(), hashes: Vec::new(), page }
    }

    /// Fills the page, by the first page seed that can.
    fn make(&mut self, pairs: &[Pair]) -> Option<u8> {
        if pairs.len() > self.geometry.slots as usize {
            return None;
        }
        self.hashes.clear();
        self.hashes.extend(pairs.iter().map(|pair| pair.hash));
        (0..PAGE_SEEDS_MAX).find(|page_seed| match self.geometry.is_scanned() {
            true => self.scanned(pairs, *page_seed),
            false => self.piloted(pairs, *page_seed),
        })
    }

    fn value(&self, pair: &Pair) -> u64 {
        if pair.value == LISTED { self.geometry.listed_value() } else { (self.number)(pair.value) }
    }

    fn piloted(&mut self, pairs: &[Pair], page_seed: u8) -> bool {
        let Geometry { slots, buckets, .. } = self.geometry;
        let scale = BucketScale::new(buckets);
        let Some(pilots) = self.solver.solve(&self.hashes, page_seed, PageSize { buckets, slots }) else {
            return false;
        };
        let slots_end = self.geometry.slots_range().end;
        // All bits set is an empty slot.
        self.page[..slots_end].fill(0xFF);
        self.page[slots_end..].fill(0);
        self.page[slots_end..slots_end + pilots.len()].copy_from_slice(pilots);
        for pair in pairs {
            let words = PageWords::new(pair.hash, page_seed);
            let pilot = self.page[slots_end + words.bucket(scale) as usize];
            let fingerprint_bits = self.geometry.fingerprint_bits();
            let content = self.value(pair) << fingerprint_bits | fingerprint(pair.hash, fingerprint_bits);
            let slot = slot(words.place(), pilot, slots) as usize;
            bits::set(&mut self.page, slot, self.geometry.slot_bits(), content);
        }
        true
    }

    /// Fingerprints in rising order, none of them twice, then the values in the same order.
    fn scanned(&mut self, pairs: &[Pair], page_seed: u8) -> bool {
        let short = |pair: &Pair| scanned_fingerprint(PageWords::new(pair.hash, page_seed));
        let mut order: Vec<&Pair> = pairs.iter().collect();
        order.sort_unstable_by_key(|pair| short(pair));
        if order.windows(2).any(|two| short(two[0]) == short(two[1])) {
            return false;
        }
        self.page.fill(0);
        let values_start = self.geometry.slots_range().start;
        for (no, pair) in order.into_iter().enumerate() {
            self.page[2 * no..2 * no + 2].copy_from_slice(&short(pair).to_le_bytes());
            let value = self.value(pair);
            bits::set(&mut self.page[values_start..], no, self.geometry.slot_bits(), value);
        }
        true
    }
}

/// The fingerprint of a key in a page that is scanned.
#[inline]
pub(super) fn scanned_fingerprint(words: PageWords) -> u16 {
    (words.place() >> (u64::BITS - SCANNED_BITS)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(heads: &[u32]) -> Vec<Pair> {
        heads.iter().map(|head| Pair { hash: u64::from(*head) << 32, value: 0 }).collect()
    }

    #[test]
    fn a_page_never_ends_among_hashes_that_the_directory_takes_for_one() {
        assert_eq!(cut(&pairs(&[1, 2, 3, 4]), 2), 2);
        assert_eq!(cut(&pairs(&[1, 2, 2, 4]), 2), 1);
        assert_eq!(cut(&pairs(&[2, 2, 2, 4]), 2), 3, "too many alone");
        assert_eq!(cut(&pairs(&[1, 2]), 2), 2);
        assert_eq!(cut(&pairs(&[1]), 2), 1);
    }
}
