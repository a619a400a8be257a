//! Annotated dumps of accessor files.

use super::{
    ACCESSOR_HEADER_BYTES, ACCESSOR_TRAILER_BYTES, AccessorFile, DIRECTORY_ENTRY_BYTES, SECTION,
    SECTION_NAME_BYTES_MAX,
};
use crate::describe::Dump;
use crate::{FormatError, Problem};

/// Writes the fields of an accessor file; what is in the sections is their format's to say.
///
/// # Errors
/// What does not decode. A section whose checksum is wrong is noted where it is.
pub fn describe_accessor(file: &[u8], dump: &mut Dump) -> Result<(), FormatError> {
    let have = file.len() as u64;
    let truncated = Problem::Truncated { needed: ACCESSOR_TRAILER_BYTES as u64, have };
    let trailer = file.last_chunk().ok_or_else(|| FormatError::new(SECTION, 0, truncated))?;
    let end_bytes = AccessorFile::directory_bytes(trailer, have)?;
    let directory_at = file.len() - end_bytes;
    let opened = AccessorFile::decode(file, &file[directory_at..], have)?;
    describe_header(&file[..ACCESSOR_HEADER_BYTES], &opened, dump);
    let mut end = ACCESSOR_HEADER_BYTES as u64;
    for section in &opened.sections {
        let (start, stop) = (section.range.start as usize, section.range.end as usize);
        padding(file, end, section.range.start, dump);
        dump.heading(format!("section {}", section.name));
        if let Err(error) = section.verify(&file[start..stop]) {
            dump.note(format!("UNREADABLE: {error}"));
        }
        dump.field(section.range.start, &file[start..stop], format!("{} bytes", stop - start));
        end = section.range.end;
    }
    padding(file, end, directory_at as u64, dump);
    describe_directory(file, directory_at, &opened, dump);
    Ok(())
}

fn padding(file: &[u8], from: u64, to: u64, dump: &mut Dump) {
    if from < to {
        dump.field(from, &file[from as usize..to as usize], "zeros");
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
