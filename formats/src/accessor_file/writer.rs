//! Writing accessor files.

use super::{
    ACCESSOR_HEADER_BYTES, ACCESSOR_TRAILER_BYTES, AccessorHeader, DIRECTORY_ENTRY_BYTES, END_MAGIC,
    SECTION_ALIGN, SECTION_NAME_BYTES_MAX, SECTIONS_MAX, SectionEntry,
};
use crate::crc::crc32_parts;

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
