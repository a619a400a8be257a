//! Index files in memory, written and read as the engine does.

use std::io;
use std::sync::Arc;

use kiban_formats::accessor_file::{AccessorFile as Directory, AccessorHeader, AccessorWriter};
use kiban_formats::{FormatError, StoreId, TableId};

use crate::accessor::Accessor;
use crate::contract::{
    AccessorBuilder, AccessorFile, AccessorFormat, Built, Declined, FileBytes, Residency, SectionWriter,
};

/// What the header of a file of the kit says.
pub(crate) fn header(format: &dyn AccessorFormat, keys: u64) -> AccessorHeader {
    AccessorHeader {
        format_id: format.id().0,
        format_version: format.version(),
        table_id: TableId(*b"conformance-kit!"),
        store_id: StoreId(*b"conformance-kit!"),
        keys,
    }
}

/// Takes sections into memory.
pub(crate) struct MemSections {
    file: Vec<u8>,
    writer: AccessorWriter,
    /// Calls that succeed before all fail.
    calls_left: u64,
    has_failed: bool,
}

impl MemSections {
    pub(crate) fn new(header: &AccessorHeader) -> Self {
        let (writer, head) = AccessorWriter::new(header);
        Self { file: head.to_vec(), writer, calls_left: u64::MAX, has_failed: false }
    }

    /// Fails after so many calls, as a full disk does.
    pub(super) fn failing_after(header: &AccessorHeader, calls: u64) -> Self {
        Self { calls_left: calls, ..Self::new(header) }
    }

    /// Whether a call failed.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// The whole file.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.file.extend(self.writer.finish());
        self.file
    }

    fn call(&mut self) -> io::Result<()> {
        match self.calls_left.checked_sub(1) {
            Some(left) => self.calls_left = left,
            None => self.has_failed = true,
        }
        if self.has_failed { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl SectionWriter for MemSections {
    fn section(&mut self, name: &str) -> io::Result<()> {
        self.call()?;
        self.file.extend(self.writer.begin_section(name));
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.call()?;
        self.writer.push(bytes);
        self.file.extend_from_slice(bytes);
        Ok(())
    }
}

/// Finishes a build: the file, and what the builder says of it.
pub(crate) fn finish(
    builder: Box<dyn AccessorBuilder>,
    header: &AccessorHeader,
) -> Result<(Vec<u8>, Built), Declined> {
    let mut out = MemSections::new(header);
    let built = builder.finish(&mut out)?;
    Ok((out.finish(), built))
}

/// Reads header and directory.
pub(crate) fn read(bytes: &[u8], map: FileBytes) -> Result<AccessorFile, FormatError> {
    let none = || FormatError::invalid("accessor file", 0, "no trailer");
    let len = bytes.len() as u64;
    let end = Directory::directory_bytes(bytes.last_chunk().ok_or_else(none)?, len)?;
    let Directory { header, sections } = Directory::decode(bytes, &bytes[bytes.len() - end..], len)?;
    Ok(AccessorFile::new(header, sections, map))
}

/// Opens a file; what is resident has been checked.
pub(crate) fn open(
    format: &dyn AccessorFormat,
    bytes: &[u8],
    residency: Residency,
) -> Result<Accessor, FormatError> {
    let file = read(bytes, Arc::new(Box::<[u8]>::from(bytes)))?;
    if residency == Residency::Resident {
        file.verify()?;
    }
    format.open(file, residency)
}

/// A file of these sections, with the checksums that they have.
pub(super) fn assemble(header: &AccessorHeader, sections: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut out = MemSections::new(header);
    for (name, bytes) in sections {
        out.file.extend(out.writer.begin_section(name));
        out.writer.push(bytes);
        out.file.extend_from_slice(bytes);
    }
    out.finish()
}

/// The same sections under another header, with right checksums: a file of another table, say, or of
/// a newer version.
///
/// # Errors
/// The file is not whole.
pub fn with_header(bytes: &[u8], change: impl FnOnce(&mut AccessorHeader)) -> Result<Vec<u8>, FormatError> {
    let mut header = *read(bytes, Arc::new(Vec::new()))?.header();
    change(&mut header);
    Ok(assemble(&header, &sections(bytes)?))
}

/// The sections of a file that is whole.
pub(super) fn sections(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, FormatError> {
    let file = read(bytes, Arc::new(Vec::new()))?;
    let of = |range: &std::ops::Range<u64>| bytes[range.start as usize..range.end as usize].to_vec();
    Ok(file.sections().iter().map(|section| (section.name.clone(), of(&section.range))).collect())
}
