//! Building: hash and place of every key, sorted by hash and solved page by page.

use kiban_formats::UNIT_BYTES;
use kiban_formats::accessor_file::ACCESSOR_HEADER_BYTES;

use super::place::{PLACE_BYTES, PlacesSeen, raw};
use super::{DIRECTORY, PAGES};
use crate::contract::{AccessorBuilder, Built, Declined, EntryFacts, SectionWriter, TableShape};
use crate::mphf::{Collector, Directory, Geometry, PAIR_BYTES, Pages, value_bits};

/// One key in so many may share its hash with another.
const LISTED_ONE_IN: usize = 256;
/// Zeros before the first page, so that pages of 4 KiB begin at multiples of 4 KiB in the file: the
/// section is the first one, right behind the container's header.
pub(super) const LEAD_BYTES: usize = UNIT_BYTES - ACCESSOR_HEADER_BYTES;

/// Most passes over a table: one that needs more is not worth the reading.
const PASSES_MAX: u64 = 64;

/// A page of 4 KiB has more keys than this for each byte of its entry in the directory.
const KEYS_A_DIRECTORY_BYTE: u64 = 32;
/// Pairs that are carried from one pass to the next: those of a page that is not full.
const CARRIED_MAX: u64 = 1024;

/// Collects a table's keys: all at once, or where they are too many a slice of the hashes in each of
/// several passes. The bytes are the same.
pub(super) struct Builder {
    keys: Collector,
    places: PlacesSeen,
    /// Keys of the table, counted in the first pass.
    count: usize,
    /// Keys whose hash another one has, and which have no pair of their own.
    merged: usize,
    pass: u32,
    passes: u32,
    pages: Option<Pages<Number>>,
}

/// From what was collected to a place's number.
type Number = Box<dyn Fn(u64) -> u64 + Send>;

impl Builder {
    pub(super) fn new(shape: &TableShape, seed: u64) -> Result<Self, Declined> {
        let passes = passes(shape)?;
        let slice = shape.keys.div_ceil(passes.into());
        let more = if passes > 1 { slice / 16 + CARRIED_MAX } else { 0 };
        let mut keys = Collector::new(seed, slice + more);
        keys.only(0, passes);
        let places = PlacesSeen::default();
        Ok(Self { keys, places, count: 0, merged: 0, pass: 0, passes, pages: None })
    }

    fn geometry(&self, hashes: usize) -> (Geometry, usize) {
        Geometry::of(self.count, hashes, value_bits(self.places.number_max()))
    }

    /// Makes the pages of what was collected.
    fn make_pages(&mut self, out: &mut dyn SectionWriter) -> Result<(), Declined> {
        self.merged += self.keys.sort();
        if self.pages.is_none() {
            let (geometry, keys) = self.geometry(self.keys.pairs().len());
            let coding = self.places.coding();
            out.section(PAGES)?;
            out.write(lead(&geometry))?;
            let number: Number = Box::new(move |raw| coding.number(raw));
            self.pages = Some(Pages::new(self.keys.seed(), geometry, keys, number));
        }
        if let Some(pages) = &mut self.pages {
            let are_last = self.pass + 1 == self.passes;
            let made = pages.make(self.keys.pairs(), are_last, |page| out.write(page))?;
            self.keys.forget(made);
        }
        Ok(())
    }
}

/// How many passes a table takes.
fn passes(shape: &TableShape) -> Result<u32, Declined> {
    let collected = shape.keys.saturating_mul(PAIR_BYTES);
    // The directory, and the builder itself.
    let beside = shape.keys / KEYS_A_DIRECTORY_BYTE + 1024;
    if shape.memory_max == 0 || collected.saturating_add(beside) <= shape.memory_max {
        return Ok(1);
    }
    let room = shape.memory_max.saturating_sub(CARRIED_MAX * PAIR_BYTES + beside).max(1);
    // Slices are not quite even.
    let passes = collected.saturating_add(collected / 8).div_ceil(room);
    match u32::try_from(passes) {
        Ok(passes) if u64::from(passes) <= PASSES_MAX => Ok(passes),
        _ => Err(Declined::new(format!(
            "{} keys would take {passes} passes with {} bytes of memory; at most {PASSES_MAX} are made",
            shape.keys, shape.memory_max
        ))),
    }
}

impl AccessorBuilder for Builder {
    fn add(&mut self, entry: &EntryFacts<'_>) -> Result<(), Declined> {
        if entry.newest {
            if self.pass == 0 {
                self.places.add(entry.page, entry.offset);
                self.count += 1;
            }
            self.keys.add(entry.hash, raw(entry.page, entry.offset));
        }
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        let directory = self.pages.as_ref().map_or(0, |pages| pages.directory.memory_bytes());
        size_of::<Self>() + self.keys.memory_bytes() + directory
    }

    fn estimate_bytes(&self) -> u64 {
        let (geometry, _) = self.geometry(self.count);
        let lead = lead(&geometry).len() as u64;
        let directory = PLACE_BYTES as u64 + Directory::encoded_bytes(geometry.pages);
        lead + geometry.pages_bytes() + directory
    }

    fn next_pass(&mut self, out: &mut dyn SectionWriter) -> Result<bool, Declined> {
        if self.pass + 1 == self.passes {
            return Ok(false);
        }
        self.make_pages(out)?;
        self.pass += 1;
        self.keys.only(self.pass, self.passes);
        Ok(true)
    }

    fn finish(mut self: Box<Self>, out: &mut dyn SectionWriter) -> Result<Built, Declined> {
        self.make_pages(out)?;
        let Self { count, merged, places, pages, .. } = *self;
        let Some(pages) = pages else { return Err(Declined::new("no page was begun".to_owned())) };
        let listed = merged + pages.shared;
        if listed > count / LISTED_ONE_IN {
            return Err(Declined::new(format!("duplicate hashes: {listed} of {count} keys share theirs")));
        }
        out.section(DIRECTORY)?;
        out.write(&places.coding().encode())?;
        let directory = pages.directory.encode();
        out.write(&directory)?;
        let directory_bytes = (PLACE_BYTES + directory.len()) as u64;
        let parts = [pages.directory.parts().as_slice(), &[("directory", directory_bytes)]].concat();
        Ok(Built::new((count - listed - pages.fallen_back) as u64, parts))
    }
}

/// What stands before the first page.
fn lead(geometry: &Geometry) -> &'static [u8] {
    if geometry.is_aligned() { &[0; LEAD_BYTES] } else { &[] }
}
