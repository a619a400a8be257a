//! Reading an accessor file's header and directory.

use super::{
    ACCESSOR_HEADER_BYTES, ACCESSOR_TRAILER_BYTES, AccessorHeader, DIRECTORY_ENTRY_BYTES, END_MAGIC, SECTION,
    SECTION_ALIGN, SECTION_NAME_BYTES_MAX, SECTIONS_MAX, SectionEntry,
};
use crate::crc::crc32_parts;
use crate::fields::Fields;
use crate::{FormatError, Problem};

/// Header and directory of an accessor file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessorFile {
    /// What the file says of itself.
    pub header: AccessorHeader,
    /// Its sections, in the order of their places.
    pub sections: Vec<SectionEntry>,
}

impl AccessorFile {
    /// How many bytes before the end of the file the directory begins, from the trailer.
    ///
    /// # Errors
    /// No trailer of ours, another file length, too many sections.
    pub fn directory_bytes(
        trailer: &[u8; ACCESSOR_TRAILER_BYTES],
        file_len: u64,
    ) -> Result<usize, FormatError> {
        let (count, _) = decode_trailer(trailer, file_len)?;
        Ok(count * DIRECTORY_ENTRY_BYTES + ACCESSOR_TRAILER_BYTES)
    }

    /// Reads the header (the file's first bytes) and the directory with the trailer (its last
    /// [`AccessorFile::directory_bytes`]).
    ///
    /// # Errors
    /// Another format, a newer version, a bad checksum, sections outside the file.
    pub fn decode(header: &[u8], end: &[u8], file_len: u64) -> Result<Self, FormatError> {
        let truncated = || FormatError::invalid(SECTION, 0, "the file is too short");
        let header = header.get(..ACCESSOR_HEADER_BYTES).ok_or_else(truncated)?;
        let (directory, trailer) = end.split_last_chunk().ok_or_else(truncated)?;
        let (count, stored) = decode_trailer(trailer, file_len)?;
        if directory.len() != count * DIRECTORY_ENTRY_BYTES {
            return Err(truncated());
        }
        let decoded = AccessorHeader::decode(header)?;
        let computed = crc32_parts(&[header, directory]);
        if stored != computed {
            return Err(FormatError::new(SECTION, 0, Problem::Checksum { stored, computed }));
        }
        let sections_end = file_len - end.len() as u64;
        let mut sections = Vec::with_capacity(count);
        let mut before = ACCESSOR_HEADER_BYTES as u64;
        for bytes in directory.chunks_exact(DIRECTORY_ENTRY_BYTES) {
            let section = decode_section(bytes, before, sections_end)?;
            before = section.range.end;
            sections.push(section);
        }
        Ok(Self { header: decoded, sections })
    }

    /// The section of this name.
    pub fn section(&self, name: &str) -> Option<&SectionEntry> {
        self.sections.iter().find(|section| section.name == name)
    }
}

fn decode_trailer(
    trailer: &[u8; ACCESSOR_TRAILER_BYTES],
    file_len: u64,
) -> Result<(usize, u32), FormatError> {
    let at = file_len.saturating_sub(ACCESSOR_TRAILER_BYTES as u64);
    let mut fields = Fields::new(SECTION, trailer);
    let (count, crc, len) = (fields.u32()? as usize, fields.u32()?, fields.u64()?);
    if fields.u64()? != 0 || fields.array::<8>()? != END_MAGIC {
        return Err(FormatError::new(SECTION, at, Problem::Magic("whole accessor file")));
    }
    let least = (ACCESSOR_HEADER_BYTES + ACCESSOR_TRAILER_BYTES + count * DIRECTORY_ENTRY_BYTES) as u64;
    if len != file_len || count > SECTIONS_MAX || file_len < least {
        return Err(FormatError::invalid(SECTION, at, "another file length than the trailer says"));
    }
    Ok((count, crc))
}

fn decode_section(bytes: &[u8], before: u64, end: u64) -> Result<SectionEntry, FormatError> {
    let mut fields = Fields::new(SECTION, bytes);
    let name = fields.bytes(SECTION_NAME_BYTES_MAX as u64)?;
    let (start, len, crc) = (fields.u64()?, fields.u64()?, fields.u32()?);
    let name_len = name.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let name = std::str::from_utf8(&name[..name_len]).ok().filter(|name| !name.is_empty());
    let stop = start.checked_add(len).filter(|stop| *stop <= end);
    match (name, stop) {
        (Some(name), Some(stop)) if start >= before && start.is_multiple_of(SECTION_ALIGN) => {
            Ok(SectionEntry { name: name.to_owned(), range: start..stop, crc })
        }
        _ => Err(FormatError::invalid(SECTION, start, "a section that is not inside the file")),
    }
}
