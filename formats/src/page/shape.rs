//! The shape of a table's pages, and how a writer chooses it.

use super::entry::EntryLens;
use super::fill::Fill;
use super::jumbo::jumbo_units;
use super::{SLOT_BYTES, shared_len};
use crate::UNIT_BYTES;

/// Sizes a page may have, ascending.
const PAGE_BYTES: [usize; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
/// Alignment units, the most wanted first.
const ALIGNS: [usize; 4] = [8, 4, 2, 1];
/// The smallest page that wastes at most this part is taken.
const WASTE_MAX: f64 = 0.08;
/// The largest alignment unit that adds at most this part is taken.
const ALIGN_GROWTH_MAX: f64 = 0.005;

/// Page size and alignment unit of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageShape {
    page_bytes: u32,
    align: u8,
}

impl PageShape {
    /// The smallest pages, entries not aligned.
    pub const SMALLEST: Self = Self { page_bytes: 4 << 10, align: 1 };

    /// A shape: pages of 4, 8, 16, 32 or 64 KiB, entries at multiples of 1, 2, 4 or 8 bytes.
    /// `None` for anything else.
    pub fn new(page_bytes: u32, align: u8) -> Option<Self> {
        let known = PAGE_BYTES.contains(&(page_bytes as usize)) && ALIGNS.contains(&usize::from(align));
        known.then_some(Self { page_bytes, align })
    }

    /// Bytes of the longest page.
    #[inline]
    pub fn page_bytes(self) -> usize {
        self.page_bytes as usize
    }

    /// 4 KiB units of the longest page.
    #[inline]
    pub fn page_units(self) -> u32 {
        self.page_bytes / UNIT_BYTES as u32
    }

    /// Entries start at multiples of this.
    pub fn align(self) -> usize {
        usize::from(self.align)
    }

    /// Pages store the prefix of their keys once.
    pub fn shares_prefix(self) -> bool {
        self.page_bytes() == PAGE_BYTES[0]
    }

    pub(super) fn align_up(self, bytes: usize) -> usize {
        bytes.next_multiple_of(self.align())
    }
}

/// What the choice needs to know of a record.
#[derive(Clone, Copy, Debug)]
pub struct SampleRecord<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Bytes of its value.
    pub value_len: usize,
}

impl SampleRecord<'_> {
    fn lens(&self) -> EntryLens {
        EntryLens::new(self.key.len(), self.value_len, None)
    }
}

/// Chooses the pages for a table that begins with `sample`, in order; `whole`: and ends with it.
///
/// The smallest page whose waste is at most 8 %, else the one that wastes least: a page that
/// ends early costs no space, but a read of it may fetch bytes of the next one. A record that
/// does not fit a page is a jumbo run, so pages of 4 KiB with nothing but jumbo runs are one of
/// the choices. Then the largest alignment unit that costs at most 0.5 %.
pub fn choose_shape(sample: &[SampleRecord<'_>], whole: bool) -> PageShape {
    let unaligned = |page_bytes: usize| PageShape { page_bytes: page_bytes as u32, align: 1 };
    let mut best = (f64::INFINITY, PageShape::SMALLEST);
    for shape in PAGE_BYTES.map(unaligned) {
        // A short last page is no reason for larger ones.
        let waste = expansion(sample, shape, false) - 1.0;
        if waste < best.0 {
            best = (waste, shape);
        }
        if waste <= WASTE_MAX {
            break;
        }
    }
    let allowed = expansion(sample, best.1, whole) * (1.0 + ALIGN_GROWTH_MAX);
    let aligned = ALIGNS.map(|align| PageShape { align: align as u8, ..best.1 });
    aligned.into_iter().find(|shape| expansion(sample, *shape, whole) <= allowed).unwrap_or(best.1)
}

/// Bytes stored for a byte that the entries take when they stand alone; `whole`: the last page
/// counts as it is.
fn expansion(sample: &[SampleRecord<'_>], shape: PageShape, whole: bool) -> f64 {
    let mut packing = Packing { fill: Fill::new(shape), stored: 0, wanted: 0, open: 0 };
    let mut first: &[u8] = &[];
    for record in sample {
        let lens = record.lens();
        if packing.fill.count() == 0 {
            first = record.key;
        }
        if packing.fill.offer(lens, shared_len(first, record.key)) {
            packing.open += lens.encoded(0) + SLOT_BYTES;
            continue;
        }
        packing.close();
        first = record.key;
        if packing.fill.offer(lens, lens.key) {
            packing.open = lens.encoded(0) + SLOT_BYTES;
        } else {
            packing.stored += jumbo_units(lens) * UNIT_BYTES as u64;
            packing.wanted += (lens.encoded(0) + SLOT_BYTES) as u64;
        }
    }
    // The last page goes on with records that are not in the sample, if there are any.
    if whole || packing.stored == 0 {
        packing.close();
    }
    packing.stored as f64 / packing.wanted.max(1) as f64
}

/// Pages so far.
struct Packing {
    fill: Fill,
    stored: u64,
    /// Bytes of the entries on pages that are counted in `stored`.
    wanted: u64,
    /// Bytes of the entries on the page that is not closed yet.
    open: usize,
}

impl Packing {
    fn close(&mut self) {
        if self.fill.count() > 0 {
            self.stored += (self.fill.units() * UNIT_BYTES) as u64;
            self.wanted += self.open as u64;
        }
        self.fill.clear();
        self.open = 0;
    }
}
