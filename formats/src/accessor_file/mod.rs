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

mod describe;
mod reader;
mod writer;

pub use describe::{describe_accessor, describe_unknown};
pub use reader::AccessorFile;
pub use writer::AccessorWriter;

use std::ops::Range;

use crate::crc::crc32;
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
/// Bytes of a section's entry in the directory.
pub const DIRECTORY_ENTRY_BYTES: usize = 48;
const SECTION: &str = "accessor file";
const _: () = assert!((ACCESSOR_HEADER_BYTES as u64).is_multiple_of(SECTION_ALIGN));

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

#[cfg(test)]
mod tests;
