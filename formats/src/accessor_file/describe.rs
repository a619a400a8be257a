//! Annotated dumps of accessor files.

use super::{
    ACCESSOR_HEADER_BYTES, ACCESSOR_TRAILER_BYTES, AccessorFile, DIRECTORY_ENTRY_BYTES, SECTION,
    SECTION_NAME_BYTES_MAX, SectionEntry,
};
use crate::describe::Dump;
use crate::{FormatError, Problem};

/// Writes the fields of an accessor file; what is in a section its format says, through `describe_section`.
///
/// # Errors
/// What does not decode, and the first damage of sections and of what is between them: it is noted where it is, and
/// the rest is written all the same.
pub fn describe_accessor(
    file: &[u8],
    dump: &mut Dump,
    mut describe_section: impl FnMut(&AccessorFile, &SectionEntry, &mut Dump) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    let have = file.len() as u64;
    let truncated = Problem::Truncated { needed: ACCESSOR_TRAILER_BYTES as u64, have };
    let trailer = file.last_chunk().ok_or_else(|| FormatError::new(SECTION, 0, truncated))?;
    let end_bytes = AccessorFile::directory_bytes(trailer, have)?;
    let directory_at = file.len() - end_bytes;
    let opened = AccessorFile::decode(file, &file[directory_at..], have)?;
    describe_header(&file[..ACCESSOR_HEADER_BYTES], &opened, dump);
    let mut damage = Ok(());
    let mut end = ACCESSOR_HEADER_BYTES;
    for section in &opened.sections {
        let (start, stop) = (section.range.start as usize, section.range.end as usize);
        note(padding(file, end, start, dump), dump, &mut damage);
        dump.heading(format!("section {}", section.name));
        note(section.verify(&file[start..stop]), dump, &mut damage);
        let described = describe_section(&opened, section, dump);
        note(described, dump, &mut damage);
        end = stop;
    }
    note(padding(file, end, directory_at, dump), dump, &mut damage);
    describe_directory(file, directory_at, &opened, dump);
    damage
}

/// Writes a section whose format nobody knows.
pub fn describe_unknown(section: &SectionEntry, bytes: &[u8], dump: &mut Dump) {
    dump.field(section.range.start, bytes, format!("{} bytes", bytes.len()));
}

/// Notes damage where it is, and keeps the first.
fn note(result: Result<(), FormatError>, dump: &mut Dump, damage: &mut Result<(), FormatError>) {
    if let Err(error) = result {
        dump.note(format!("DAMAGED: {error}"));
        if damage.is_ok() {
            *damage = Err(error);
        }
    }
}

fn padding(file: &[u8], from: usize, to: usize, dump: &mut Dump) -> Result<(), FormatError> {
    let bytes = &file[from..to];
    if bytes.is_empty() {
        return Ok(());
    }
    dump.field(from as u64, bytes, "zeros");
    match bytes.iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => Err(FormatError::invalid(SECTION, from as u64, "padding that is not zero")),
    }
}

fn describe_header(bytes: &[u8], opened: &AccessorFile, dump: &mut Dump) {
    let number = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let header = &opened.header;
    dump.heading("accessor file");
    let fields = [
        (8, "magic of an accessor file".to_owned()),
        (2, format!("major version {}", number(8))),
        (2, format!("minor version {}", number(10))),
        (4, format!("format id {}", header.format_id)),
        (2, format!("format version {}", header.format_version)),
        (2, "zero".to_owned()),
        (4, "flags".to_owned()),
        (16, format!("table {}", header.table_id)),
        (16, format!("store {}", header.store_id)),
        (8, format!("{} keys", header.keys)),
    ];
    let mut at = 0;
    for (len, what) in fields {
        dump.field(at as u64, &bytes[at..at + len], what);
        at += len;
    }
}

fn describe_directory(file: &[u8], at: usize, opened: &AccessorFile, dump: &mut Dump) {
    let mut at = at;
    let mut field = |len: usize, what: String| {
        dump.field(at as u64, &file[at..at + len], what);
        at += len;
    };
    for section in &opened.sections {
        let range = &section.range;
        field(SECTION_NAME_BYTES_MAX, format!("directory: section {}", section.name));
        field(8, format!("offset {}", range.start));
        field(8, format!("length {}", range.end - range.start));
        field(4, "CRC".to_owned());
        field(DIRECTORY_ENTRY_BYTES - SECTION_NAME_BYTES_MAX - 20, "zero".to_owned());
    }
    field(4, format!("trailer: {} sections", opened.sections.len()));
    field(4, "CRC of header and directory".to_owned());
    field(8, format!("file length {}", file.len()));
    field(8, "zero".to_owned());
    field(8, "magic of a whole file".to_owned());
}
