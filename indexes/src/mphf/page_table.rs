//! Which page a hash belongs to.

/// Pages in the order of their hashes.
///
/// The heads of hashes are cut into equal cells, between one and two for each page. A cell names the
/// page that its first head belongs to. As pages are nearly even too, a head belongs to that page or to
/// the next one: two loads and a comparison, without a branch.
#[derive(Debug)]
pub(super) struct PageTable {
    cells: Box<[u32]>,
    /// By how much a head is shifted to its cell.
    shift: u32,
    /// The greatest head of each page; of the last one the greatest there is.
    lasts: Box<[u32]>,
}

impl PageTable {
    /// Of pages that begin at these heads: rising, the first at 0.
    pub(super) fn new(firsts: Vec<u32>) -> Self {
        let bits = firsts.len().next_power_of_two().trailing_zeros();
        let shift = u32::BITS - bits;
        let mut page = 0;
        let cells = (0..1_u64 << bits).map(|cell| {
            let head = cell << shift;
            while firsts.get(page + 1).is_some_and(|next| u64::from(*next) <= head) {
                page += 1;
            }
            page as u32
        });
        let cells = cells.collect();
        let mut lasts = firsts;
        // Where a page ends is where the next one begins.
        let one = lasts.len().min(1);
        lasts.rotate_left(one);
        lasts.iter_mut().for_each(|last| *last = last.wrapping_sub(1));
        Self { cells, shift, lasts: lasts.into_boxed_slice() }
    }

    /// Bytes of heap.
    pub(super) fn heap_bytes(&self) -> usize {
        size_of_val(&*self.cells) + size_of_val(&*self.lasts)
    }

    /// The page of a head; there are pages.
    #[inline]
    pub(super) fn find(&self, head: u32) -> u32 {
        let page = self.cells[(u64::from(head) >> self.shift) as usize];
        let page = page + u32::from(self.lasts[page as usize] < head);
        if self.lasts[page as usize] < head { self.find_by_halves(head) } else { page }
    }

    /// Where hashes are so uneven that more than two pages begin in one cell.
    #[cold]
    fn find_by_halves(&self, head: u32) -> u32 {
        self.lasts.partition_point(|last| *last < head) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_however_hashes_are_spread() {
        let even: Vec<u32> = (0..1_000).map(|no| no * 4_294_967).collect();
        let clustered: Vec<u32> = (0..1_000).map(|no| no * 3).collect();
        let late: Vec<u32> = [0].into_iter().chain((1..900).map(|no| u32::MAX - 900 + no)).collect();
        let ragged: Vec<u32> = (0..1_024).map(|no: u32| (no << 22) - no % 7 * 600_000).collect();
        for mut firsts in [vec![0], vec![0, 1], vec![0, u32::MAX], even, clustered, late, ragged] {
            firsts.sort_unstable();
            let table = PageTable::new(firsts.clone());
            assert!(table.cells.len() < 2 * firsts.len());
            let near = |first: &u32| [first.wrapping_sub(1), *first, first.wrapping_add(1)];
            let spread = (0..5_000_u32).map(|no| no.wrapping_mul(858_993));
            for head in firsts.iter().flat_map(near).chain(spread).chain([0, 1, u32::MAX - 1, u32::MAX]) {
                let right = firsts.partition_point(|first| *first <= head) - 1;
                assert_eq!(table.find(head) as usize, right, "{head}");
            }
        }
    }
}
