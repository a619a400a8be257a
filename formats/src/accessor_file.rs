//! The container of accessor files: `NNNNNNNN.<format name>`, derived data beside a table.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic `KIBANIDX` |
//! | 8 | 2 | major version of the container |
//! | 10 | 2 | minor version of the container |
//! | 12 | 4 | format id |
//! | 16 | 2 | format version |
//! | 18 | 2 | zero |
//! | 20 | 4 | flags, none known: others are refused |
//! | 24 | 16 | table id |
//! | 40 | 16 | store id |
//! | 56 | 8 | number of distinct keys |
//! | 64 | | sections, each at a multiple of 64, zeros between |
//! | end − 32 − 48s | 48 a section | directory: name 16 bytes padded with zeros, offset u64, length u64, CRC-32 u32, zero to 48 |
//! | end − 32 | 4 | number s of sections |
//! | end − 28 | 4 | CRC-32 of header and directory |
//! | end − 24 | 8 | file length |
//! | end − 16 | 8 | zero |
//! | end − 8 | 8 | magic `KIBANEND` |
//!
//! Opening reads header, directory and trailer. A section is checked when it is first trusted:
//! whole, or by what the format keeps for its chunks.

use std::ops::Range;

use crate::crc::{crc32, crc32_parts};
use crate::fields::Fields;
use crate::{FormatError, Problem, StoreId, TableId};

/// Bytes of the header.
pub const ACCESSOR_HEADER_BYTES: usize = 64;
/// Bytes of the trailer.
pub const ACCESSOR_TRAILER_BYTES: usize = 32;
/// Sections begin at multiples of this, so that they can be used from a map.
pub const SECTION_ALIGN: u64 = 64;
/// Most sections of a file.
pub const SECTIONS_MAX: usize = 64;
/// Bytes of the longest section name.
pub const SECTION_NAME_BYTES_MAX: usize = 16;

const MAGIC: [u8; 8] = *b"KIBANIDX";
const END_MAGIC: [u8; 8] = *b"KIBANEND";
const MAJOR_VERSION: u16 = 1;
const MINOR_VERSION: u16 = 0;
const DIRECTORY_ENTRY_BYTES: usize = 48;
const SECTION: &str = "accessor file";
const _: () = assert!(ACCESSOR_HEADER_BYTES as u64 % SECTION_ALIGN == 0);

/// What an accessor file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessorHeader {
    /// Which format the sections are of.
    pub format_id: u32,
    /// Which version of it.
    pub format_version: u16,
    /// The table it belongs to.
    pub table_id: TableId,
    /// The store it belongs to.
    pub store_id: StoreId,
    /// Distinct keys of the table.
    pub keys: u64,
}

impl AccessorHeader {
    fn encode(&self) -> [u8; ACCESSOR_HEADER_BYTES] {
        let mut bytes = Vec::with_capacity(ACCESSOR_HEADER_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&MAJOR_VERSION.to_le_bytes());
        bytes.extend_from_slice(&MINOR_VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.format_id.to_le_bytes());
        bytes.extend_from_slice(&self.format_version.to_le_bytes());
        bytes.extend_from_slice(&[0; 6]);
        bytes.extend_from_slice(&self.table_id.0);
        bytes.extend_from_slice(&self.store_id.0);
        bytes.extend_from_slice(&self.keys.to_le_bytes());
        let mut header = [0; ACCESSOR_HEADER_BYTES];
        header.copy_from_slice(&bytes);
        header
    }

    fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let mut fields = Fields::new(SECTION, bytes);
        if fields.array::<8>()? != MAGIC {
            return Err(FormatError::new(SECTION, 0, Problem::Magic("accessor file")));
        }
        let found = fields.u16()?;
        if found != MAJOR_VERSION {
            let (oldest, newest) = (MAJOR_VERSION, MAJOR_VERSION);
            return Err(FormatError::new(SECTION, 8, Problem::Version { found, oldest, newest }));
        }
        fields.u16()?;
        let (format_id, format_version) = (fields.u32()?, fields.u16()?);
        if fields.array::<6>()? != [0; 6] {
            return Err(FormatError::invalid(SECTION, 18, "unknown flags"));
        }
        let (table_id, store_id) = (TableId(fields.array()?), StoreId(fields.array()?));
        Ok(Self { format_id, format_version, table_id, store_id, keys: fields.u64()? })
    }
}

/// A section of an accessor file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionEntry {
    /// Its name.
    pub name: String,
    /// Where it is in the file.
    pub range: Range<u64>,
    /// CRC-32 of its bytes.
    pub crc: u32,
}

/// Writes an accessor file piece by piece: what each call returns is appended to the file.
#[derive(Debug)]
pub struct AccessorWriter {
    header: [u8; ACCESSOR_HEADER_BYTES],
    directory: Vec<SectionEntry>,
    len: u64,
    open: Option<(String, u64, crc32fast::Hasher)>,
}

impl AccessorWriter {
    /// Begins a file: the writer, and its first bytes.
    pub fn new(header: &AccessorHeader) -> (Self, [u8; ACCESSOR_HEADER_BYTES]) {
        let header = header.encode();
        let writer = Self { header, directory: Vec::new(), len: header.len() as u64, open: None };
        (writer, header)
    }

    /// Begins a section. Its name has 1 to 16 bytes, and no other section has it.
    ///
    /// # Panics
    /// On a name that is not allowed, and beyond [`SECTIONS_MAX`].
    pub fn begin_section(&mut self, name: &str) -> Vec<u8> {
        let padding = self.end_section();
        assert!((1..=SECTION_NAME_BYTES_MAX).contains(&name.len()), "section name {name:?}");
        assert!(self.directory.iter().all(|section| section.name != name), "two sections {name:?}");
        assert!(self.directory.len() < SECTIONS_MAX, "too many sections");
        self.open = Some((name.to_owned(), self.len, crc32fast::Hasher::new()));
        padding
    }

    /// Counts bytes that the caller appends to the open section.
    ///
    /// # Panics
    /// If no section was begun.
    pub fn push(&mut self, bytes: &[u8]) {
        let Some((_, _, crc)) = &mut self.open else { panic!("no section was begun") };
        crc.update(bytes);
        self.len += bytes.len() as u64;
    }

    fn end_section(&mut self) -> Vec<u8> {
        if let Some((name, start, crc)) = self.open.take() {
            self.directory.push(SectionEntry { name, range: start..self.len, crc: crc.finalize() });
        }
        let padding = self.len.next_multiple_of(SECTION_ALIGN) - self.len;
        self.len += padding;
        vec![0; padding as usize]
    }

    /// The last bytes of the file.
    pub fn finish(mut self) -> Vec<u8> {
        let mut out = self.end_section();
        let start = out.len();
        for section in &self.directory {
            let mut name = [0; SECTION_NAME_BYTES_MAX];
            name[..section.name.len()].copy_from_slice(section.name.as_bytes());
            out.extend_from_slice(&name);
            out.extend_from_slice(&section.range.start.to_le_bytes());
            out.extend_from_slice(&(section.range.end - section.range.start).to_le_bytes());
            out.extend_from_slice(&section.crc.to_le_bytes());
            out.extend_from_slice(&[0; DIRECTORY_ENTRY_BYTES - SECTION_NAME_BYTES_MAX - 20]);
        }
        let file_len = self.len + (out.len() - start + ACCESSOR_TRAILER_BYTES) as u64;
        let crc = crc32_parts(&[&self.header, &out[start..]]);
        out.extend_from_slice(&(self.directory.len() as u32).to_le_bytes());
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(&file_len.to_le_bytes());
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&END_MAGIC);
        out
    }
}

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

impl SectionEntry {
    /// Checks the section's bytes.
    ///
    /// # Errors
    /// Another length, another checksum.
    pub fn verify(&self, bytes: &[u8]) -> Result<(), FormatError> {
        let computed = crc32(bytes);
        if bytes.len() as u64 != self.range.end - self.range.start || computed != self.crc {
            let problem = Problem::Checksum { stored: self.crc, computed };
            return Err(FormatError::new(SECTION, self.range.start, problem));
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: AccessorHeader = AccessorHeader {
        format_id: 4,
        format_version: 1,
        table_id: TableId([1; 16]),
        store_id: StoreId([2; 16]),
        keys: 1000,
    };

    fn file(sections: &[(&str, &[u8])]) -> Vec<u8> {
        let (mut writer, header) = AccessorWriter::new(&HEADER);
        let mut bytes = header.to_vec();
        for (name, content) in sections {
            bytes.extend(writer.begin_section(name));
            writer.push(content);
            bytes.extend_from_slice(content);
        }
        bytes.extend(writer.finish());
        bytes
    }

    /// Opens as the engine does, and checks all sections.
    fn open(bytes: &[u8]) -> Result<AccessorFile, FormatError> {
        let truncated = || FormatError::invalid(SECTION, 0, "short");
        let trailer = bytes.last_chunk().ok_or_else(truncated)?;
        let len = bytes.len() as u64;
        let end = AccessorFile::directory_bytes(trailer, len)?;
        let file = AccessorFile::decode(bytes, &bytes[bytes.len() - end..], len)?;
        for section in &file.sections {
            section.verify(&bytes[section.range.start as usize..section.range.end as usize])?;
        }
        Ok(file)
    }

    #[test]
    fn sections_come_back_aligned() {
        let sections: [(&str, &[u8]); 3] =
            [("pilots", &[1; 100]), ("empty", &[]), ("sixteen bytes on", &[3; 64])];
        let bytes = file(&sections);
        let opened = open(&bytes).unwrap();
        assert_eq!(opened.header, HEADER);
        for (name, content) in sections {
            let section = opened.section(name).unwrap();
            assert_eq!(section.range.start % SECTION_ALIGN, 0);
            assert_eq!(&bytes[section.range.start as usize..section.range.end as usize], content);
        }
        assert_eq!(opened.section("other"), None);
        assert_eq!(open(&file(&[])).unwrap().sections, []);
    }

    #[test]
    fn every_changed_bit_is_refused_or_harmless_and_every_cut_refused() {
        let whole = file(&[("a", &[7; 70]), ("b", &[8; 3])]);
        let opened = open(&whole).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            // Between sections nothing is read.
            assert!(open(&bytes).is_err() || open(&bytes) == Ok(opened.clone()), "bit {bit}");
        }
        for cut in 0..whole.len() {
            assert!(open(&whole[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn a_newer_container_is_refused_by_version() {
        let mut bytes = file(&[]);
        bytes[8] = 7;
        let problem = open(&bytes).unwrap_err().problem;
        assert_eq!(problem, Problem::Version { found: 7, oldest: 1, newest: 1 });
    }
}
