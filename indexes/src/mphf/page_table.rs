//! Which page a hash belongs to.

/// Cells for each page at least, as a ratio. Where a cell is a fifth narrower than the average page, and pages of
/// hundreds of keys differ by a few parts in a hundred, hardly a cell meets three pages.
const CELLS_A_PAGE: (usize, usize) = (5, 4);
/// The page of a cell that does not tell.
const UNTOLD: u32 = u32::MAX;

/// Pages in the order of their hashes.
///
/// The heads of hashes are cut into equal cells, more of them than pages. A cell says which page its first head
/// belongs to and where that page ends: a head belongs to that page or to the next one. So the page is found by
/// one load and a comparison, without a branch. A cell in which several pages end, or a page that is not common, says
/// so; then all pages are searched.
#[derive(Debug)]
pub(super) struct PageTable {
    cells: Box<[Cell]>,
    /// By how much a hash is shifted to its cell: less than 64.
    shift: u32,
    /// The greatest head of each page; of the last one the greatest there is.
    lasts: Box<[u32]>,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The page of the first head, or [`UNTOLD`].
    page: u32,
    /// The greatest head of that page.
    last: u32,
}

impl PageTable {
    /// Of pages that begin at these heads: rising, the first at 0. `is_common` says of which pages
    /// [`find_common`](Self::find_common) may tell.
    pub(super) fn new(firsts: Vec<u32>, is_common: impl Fn(usize) -> bool) -> Self {
        let (cells, pages) = CELLS_A_PAGE;
        let cells = (firsts.len() * cells).div_ceil(pages).next_power_of_two().max(2);
        let bits = cells.trailing_zeros().min(u32::BITS);
        let mut lasts = firsts;
        // Where a page ends is where the next one begins.
        let one = lasts.len().min(1);
        lasts.rotate_left(one);
        lasts.iter_mut().for_each(|last| *last = last.wrapping_sub(1));
        let mut table =
            Self { cells: Box::default(), shift: u64::BITS - bits, lasts: lasts.into_boxed_slice() };
        table.cells = table.make_cells(is_common);
        table
    }

    fn make_cells(&self, is_common: impl Fn(usize) -> bool) -> Box<[Cell]> {
        let Some(end) = self.lasts.len().checked_sub(1) else { return Box::default() };
        let mut page = 0;
        let head_shift = self.shift - u32::BITS;
        let cells = (0..1_u64 << (u64::BITS - self.shift)).map(|cell| {
            let (first, last) = (cell << head_shift, ((cell + 1) << head_shift) - 1);
            while u64::from(self.lasts[page]) < first {
                page += 1;
            }
            let next = (page + 1).min(end);
            let ends_in = |page: usize| u64::from(self.lasts[page]) < last;
            let told = !ends_in(next) && is_common(page) && (!ends_in(page) || is_common(next));
            Cell { page: if told { page as u32 } else { UNTOLD }, last: self.lasts[page] }
        });
        cells.collect()
    }

    /// Bytes of heap.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.cells) + size_of_val(&*self.lasts)
    }

    /// The page of a hash, if it is a common page and easily told: a page, and whether it is the next one
    /// instead. There are pages.
    #[inline]
    pub(super) fn find_common(&self, hash: u64) -> Option<(u32, bool)> {
        let cell = self.cells[(hash >> self.shift) as usize];
        (cell.page != UNTOLD).then_some((cell.page, cell.last < head(hash)))
    }

    /// The page of a hash, whichever.
    #[cold]
    pub(super) fn find(&self, hash: u64) -> u32 {
        let head = head(hash);
        self.lasts.partition_point(|last| *last < head) as u32
    }
}

/// The part of a hash by which its page is told.
#[inline]
fn head(hash: u64) -> u32 {
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails where a page is told wrongly; how many parts in a hundred of the heads are told at once.
    fn check(firsts: &[u32], is_common: impl Fn(usize) -> bool) -> usize {
        let table = PageTable::new(firsts.to_vec(), &is_common);
        let near = |first: &u32| [first.wrapping_sub(1), *first, first.wrapping_add(1)];
        let spread = || (0..5_000_u32).map(|no| no.wrapping_mul(858_993));
        for head in firsts.iter().flat_map(near).chain(spread()).chain([0, 1, u32::MAX - 1, u32::MAX]) {
            let right = firsts.partition_point(|first| *first <= head) - 1;
            let hash = u64::from(head) << 32 | u64::from(head.reverse_bits());
            assert_eq!(table.find(hash) as usize, right, "{head}");
            let told = table.find_common(hash).map(|(page, is_next)| page + u32::from(is_next));
            assert!(told.is_none_or(|page| page as usize == right && is_common(right)), "{head}: {told:?}");
        }
        spread().filter(|head| table.find_common(u64::from(*head) << 32).is_some()).count() / 50
    }

    #[test]
    fn a_page_is_found_however_hashes_are_spread() {
        let clustered: Vec<u32> = (0..1_000).map(|no| no * 3).collect();
        let late: Vec<u32> = [0].into_iter().chain((1..900).map(|no| u32::MAX - 900 + no)).collect();
        for firsts in [vec![0], vec![0, 1], vec![0, u32::MAX], clustered, late] {
            check(&firsts, |_| true);
        }
    }

    #[test]
    fn pages_of_nearly_even_size_are_found_by_one_load() {
        for pages in [1, 2, 3, 5, 8, 100, 900, 1_000, 1_024, 1_025] {
            let width = u32::MAX / pages;
            // Up to a tenth of a page early.
            let firsts: Vec<u32> = (0..pages).map(|no| no * width - no % 7 * (width / 64)).collect();
            assert_eq!(check(&firsts, |_| true), 100, "{pages} pages");
            let told = check(&firsts, |page| page % 100 != 1);
            assert!((95..100).contains(&told) || pages < 100, "{told} % of {pages} pages");
        }
    }

    #[test]
    fn there_are_few_cells_and_none_without_pages() {
        assert_eq!(PageTable::new(Vec::new(), |_| true).heap_bytes(), 0);
        for pages in [1, 100, 1_000, 1_700] {
            let table = PageTable::new((0..pages).collect(), |_| true);
            let bytes = table.heap_bytes() / pages as usize;
            assert!(bytes <= 24, "{bytes} bytes a page of {pages}");
        }
    }
}
