//! Building: hash and place of every key, sorted by hash and solved page by page.

use kiban_formats::UNIT_BYTES;
use kiban_formats::accessor_file::ACCESSOR_HEADER_BYTES;

use super::place::{PLACE_BYTES, PlacesSeen, raw};
use super::{DIRECTORY, PAGES};
use crate::contract::{AccessorBuilder, Built, Declined, EntryFacts, SectionWriter, TableShape};
use crate::mphf::{Collector, Directory, Geometry, value_bits};

/// One key in so many may share its hash with another.
const LISTED_ONE_IN: usize = 256;
/// Zeros before the first page, so that pages of 4 KiB begin at multiples of 4 KiB in the file: the
/// section is the first one, right behind the container's header.
pub(super) const LEAD_BYTES: usize = UNIT_BYTES - ACCESSOR_HEADER_BYTES;

/// Collects a table's keys.
#[derive(Debug)]
pub(super) struct Builder {
    keys: Collector,
    places: PlacesSeen,
}

impl Builder {
    pub(super) fn new(shape: &TableShape, seed: u64) -> Self {
        Self { keys: Collector::new(seed, shape.keys), places: PlacesSeen::default() }
    }
}

impl AccessorBuilder for Builder {
    fn add(&mut self, entry: &EntryFacts<'_>) -> Result<(), Declined> {
        if entry.newest {
            self.places.add(entry.page, entry.offset);
            self.keys.add(entry.hash, raw(entry.page, entry.offset));
        }
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.keys.memory_bytes()
    }

    fn estimate_bytes(&self) -> u64 {
        let geometry = Geometry::new(self.keys.len(), value_bits(self.places.number_max()));
        let lead = lead(&geometry).len() as u64;
        let directory = PLACE_BYTES as u64 + Directory::encoded_bytes(geometry.pages);
        lead + geometry.pages_bytes() + directory
    }

    fn finish(self: Box<Self>, out: &mut dyn SectionWriter) -> Result<Built, Declined> {
        let Self { keys, places } = *self;
        let (count, coding) = (keys.len(), places.coding());
        let sorted = keys.sort(|raw| coding.number(raw));
        let listed = sorted.listed_keys;
        if listed > count / LISTED_ONE_IN {
            return Err(Declined::new(format!("duplicate hashes: {listed} of {count} keys share theirs")));
        }
        out.section(PAGES)?;
        out.write(lead(&sorted.geometry))?;
        let solved = sorted.solve(|page| out.write(page))?;
        out.section(DIRECTORY)?;
        out.write(&coding.encode())?;
        let directory = solved.directory.encode();
        out.write(&directory)?;
        let directory_bytes = (PLACE_BYTES + directory.len()) as u64;
        let parts = [solved.directory.parts().as_slice(), &[("directory", directory_bytes)]].concat();
        Ok(Built::new((count - listed - solved.fallen_back) as u64, parts))
    }
}

/// What stands before the first page.
fn lead(geometry: &Geometry) -> &'static [u8] {
    if geometry.is_aligned() { &[0; LEAD_BYTES] } else { &[] }
}
