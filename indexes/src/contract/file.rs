//! An index's file, as its format reads it.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use kiban_formats::accessor_file::{
    ACCESSOR_HEADER_BYTES, ACCESSOR_TRAILER_BYTES, AccessorHeader, DIRECTORY_ENTRY_BYTES, SectionEntry,
};
use kiban_formats::{FormatError, Problem};
use serde::{Deserialize, Serialize};

/// Where an index's bytes are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Residency {
    /// As the budget allows.
    #[default]
    Auto,
    /// A copy on the heap, checked, charged to the budget.
    Resident,
    /// In a map of the file, not charged; checked piece by piece before it is trusted, once. Whoever changes
    /// or shortens the file of an open store changes what is read, or ends the process, as with mapped tables.
    Mapped,
    /// Not used.
    Off,
}

/// The bytes of a file: a copy on the heap, or a map.
pub type FileBytes = Arc<dyn Deref<Target = [u8]> + Send + Sync>;

/// An index's file: what its header says, its sections, and its bytes.
#[derive(Clone)]
pub struct AccessorFile {
    header: AccessorHeader,
    sections: Vec<SectionEntry>,
    bytes: FileBytes,
}

impl fmt::Debug for AccessorFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { header, sections, .. } = self;
        f.debug_struct("AccessorFile")
            .field("header", header)
            .field("sections", sections)
            .finish_non_exhaustive()
    }
}

impl AccessorFile {
    /// A file of which header and directory have been decoded; its sections are inside `bytes`.
    pub fn new(header: AccessorHeader, sections: Vec<SectionEntry>, bytes: FileBytes) -> Self {
        Self { header, sections, bytes }
    }

    /// What the file says of itself.
    pub fn header(&self) -> &AccessorHeader {
        &self.header
    }

    /// Its sections, in the order of their places.
    pub fn sections(&self) -> &[SectionEntry] {
        &self.sections
    }

    /// The whole file.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The whole file, for a format that keeps nothing else of it.
    pub fn into_bytes(self) -> FileBytes {
        self.bytes
    }

    /// Bytes of the whole file.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Where a section is in the file.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn section(&self, name: &'static str) -> Result<Range<usize>, FormatError> {
        let section = self.sections.iter().find(|section| section.name == name);
        let range = section.map(|section| section.range.start as usize..section.range.end as usize);
        range.filter(|range| range.end <= self.bytes.len()).ok_or_else(|| {
            FormatError::new("accessor file", 0, Problem::Invalid(format!("no section `{name}`").into()))
        })
    }

    /// Compares the checksum of one section.
    ///
    /// # Errors
    /// There is none of this name, or its checksum is wrong.
    pub fn verify_section(&self, name: &'static str) -> Result<(), FormatError> {
        let range = self.section(name)?;
        let section = self.sections.iter().find(|section| section.name == name);
        section.map_or(Ok(()), |section| section.verify(&self.bytes[range]))
    }

    /// Compares the checksum of every section; what is between them is zero.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn verify(&self) -> Result<(), FormatError> {
        let mut end = ACCESSOR_HEADER_BYTES;
        for section in &self.sections {
            let range = section.range.start as usize..section.range.end as usize;
            self.check_padding(end..range.start)?;
            end = range.end;
            section.verify(self.bytes.get(range).unwrap_or_default())?;
        }
        let directory = ACCESSOR_TRAILER_BYTES + self.sections.len() * DIRECTORY_ENTRY_BYTES;
        self.check_padding(end..self.len().saturating_sub(directory))
    }

    fn check_padding(&self, range: Range<usize>) -> Result<(), FormatError> {
        let start = range.start as u64;
        match self.bytes.get(range).unwrap_or_default().iter().all(|byte| *byte == 0) {
            true => Ok(()),
            false => Err(FormatError::invalid("accessor file", start, "padding that is not zero")),
        }
    }
}
