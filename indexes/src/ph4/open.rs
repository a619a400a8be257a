//! Opening: the directory is read and checked, the pages are left where they are.

use std::ops::Range;

use kiban_formats::FormatError;
use kiban_formats::accessor_file::SectionEntry;
use kiban_formats::describe::Dump;

use super::build::LEAD_BYTES;
use super::checked::Checked;
use super::place::{PLACE_BYTES, PlaceCoding};
use super::{DIRECTORY, PAGES, Ph4};
use crate::contract::{AccessorFile, Residency};
use crate::mphf::{Directory, HashPages};

/// Opens a file. The pages of one that is not resident are checked at first use.
pub(super) fn open(file: AccessorFile, residency: Residency) -> Result<Ph4, FormatError> {
    let (directory_range, section) = (file.section(DIRECTORY)?, file.section(PAGES)?);
    file.verify_section(DIRECTORY)?;
    let bytes = &file.bytes()[directory_range.clone()];
    let moved = |error: FormatError| error.moved_by(directory_range.start as u64);
    let (places, rest) = PlaceCoding::decode(bytes).map_err(moved)?;
    let directory = Directory::decode(rest).map_err(|error| moved(error.moved_by(PLACE_BYTES as u64)))?;
    if !places.takes(directory.geometry.value_bits) {
        return Err(moved(FormatError::invalid(DIRECTORY, 0, "places with pages that no table has")));
    }
    let pages = pages_in(section, &directory)?;
    let resident = residency == Residency::Resident;
    let checked = (!resident).then(|| Checked::new(directory.crcs().to_vec()));
    Ok(Ph4 { pages, places, checked, resident, map: HashPages::new(directory), bytes: file.into_bytes() })
}

/// Where the pages are in the file.
fn pages_in(section: Range<usize>, directory: &Directory) -> Result<Range<usize>, FormatError> {
    let pages_bytes = directory.geometry.pages_bytes();
    match (section.len() as u64).checked_sub(pages_bytes) {
        Some(0) => Ok(section),
        Some(lead) if lead == LEAD_BYTES as u64 => Ok(section.start + LEAD_BYTES..section.end),
        _ => {
            let what = format!("{} bytes of hash pages, {pages_bytes} in the directory", section.len());
            Err(FormatError::invalid(PAGES, section.start as u64, what))
        }
    }
}

/// Writes the fields of a section.
pub(super) fn describe(
    file: &AccessorFile,
    section: &SectionEntry,
    dump: &mut Dump,
) -> Result<(), FormatError> {
    let directory = file.section(DIRECTORY)?;
    let (start, bytes) = (directory.start as u64, &file.bytes()[directory]);
    let places_moved = |error: FormatError| error.moved_by(start);
    let moved = |error: FormatError| error.moved_by(start + PLACE_BYTES as u64);
    let (_, rest) = PlaceCoding::decode(bytes).map_err(places_moved)?;
    if section.name == DIRECTORY {
        PlaceCoding::describe(bytes, start, dump).map_err(places_moved)?;
        return Directory::describe(rest, start + PLACE_BYTES as u64, dump).map_err(moved);
    }
    let (section, directory) = (file.section(PAGES)?, Directory::decode(rest).map_err(moved)?);
    let pages = pages_in(section.clone(), &directory)?;
    if section.start < pages.start {
        dump.field(section.start as u64, &file.bytes()[section.start..pages.start], "zeros");
    }
    directory.describe_pages(&file.bytes()[pages.clone()], pages.start as u64, dump);
    Ok(())
}
