//! Locating: directory, pilot, slot.

use std::fmt;
use std::ops::Range;

use super::checked::Checked;
use super::place::PlaceCoding;
use crate::contract::{FileBytes, Location, PointAccessor, Probe};
use crate::mphf::{Found, HashPages, InPage, InSlot};
use crate::prefetch::prefetch;

/// Keys that are on their way at once: more than a core keeps loads in flight, few enough for
/// their lines to stay in the first cache.
const PIPELINED: usize = 32;

/// An open `ph4` index.
pub struct Ph4 {
    /// The file.
    pub(super) bytes: FileBytes,
    /// Where the hash pages are in the file.
    pub(super) pages: Range<usize>,
    pub(super) map: HashPages,
    pub(super) places: PlaceCoding,
    /// Of a file that is not resident.
    pub(super) checked: Option<Checked>,
    pub(super) resident: bool,
}

impl fmt::Debug for Ph4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pages, places, resident, .. } = self;
        f.debug_struct("Ph4")
            .field("pages", pages)
            .field("places", places)
            .field("resident", resident)
            .finish_non_exhaustive()
    }
}

impl Ph4 {
    #[inline]
    fn pages(&self) -> &[u8] {
        self.bytes.get(self.pages.clone()).unwrap_or_default()
    }

    /// From the page to the slot. `Err`: there is no slot to look at.
    #[inline]
    fn slot(&self, pages: &[u8], found: InPage) -> Result<InSlot, Found> {
        let page_bytes = self.map.page_bytes();
        if self.checked.as_ref().is_some_and(|checked| !checked.is_right(found.page, pages, page_bytes)) {
            return Err(Found::Unknown);
        }
        self.map.slot(pages, found)
    }

    #[inline]
    fn location(&self, found: Found) -> Location {
        match found {
            Found::Value(number) => self.places.location(number),
            Found::Absent => Location::Absent,
            Found::Unknown => Location::Unknown,
        }
    }

    fn locate_some(&self, probes: &[Probe<'_>], out: &mut [Location]) {
        let pages = self.pages();
        let mut in_page = [Err(Found::Absent); PIPELINED];
        for (probe, in_page) in probes.iter().zip(&mut in_page) {
            *in_page = self.map.page(probe.hash);
            in_page.iter().for_each(|found| prefetch(pages, found.pilot_at));
        }
        let mut in_slot = [Err(Found::Absent); PIPELINED];
        for (in_page, in_slot) in in_page.into_iter().zip(&mut in_slot).take(probes.len()) {
            *in_slot = in_page.and_then(|found| self.slot(pages, found));
            in_slot.iter().for_each(|found| prefetch(pages, self.map.slot_at(*found)));
        }
        for (in_slot, out) in in_slot.into_iter().zip(out) {
            *out = self.location(in_slot.map_or_else(|known| known, |found| self.map.value(pages, found)));
        }
    }
}

impl PointAccessor for Ph4 {
    #[inline]
    fn locate(&self, probe: &Probe<'_>) -> Location {
        let pages = self.pages();
        let in_slot = self.map.page(probe.hash).and_then(|found| self.slot(pages, found));
        self.location(in_slot.map_or_else(|known| known, |found| self.map.value(pages, found)))
    }

    fn locate_many(&self, probes: &[Probe<'_>], out: &mut [Location]) {
        assert_eq!(probes.len(), out.len(), "a location for each probe");
        let some = probes.chunks(PIPELINED).zip(out.chunks_mut(PIPELINED));
        some.for_each(|(probes, out)| self.locate_some(probes, out));
    }

    fn prefetch(&self, hash: u64) {
        self.map.page(hash).iter().for_each(|found| prefetch(self.pages(), found.pilot_at));
    }

    fn resident_bytes(&self) -> usize {
        let file = if self.resident { self.bytes.len() } else { 0 };
        let checked = self.checked.as_ref().map_or(0, Checked::heap_bytes);
        size_of::<Self>() + file + self.map.heap_bytes() + checked
    }

    fn rejects_absent(&self) -> bool {
        true
    }
}
