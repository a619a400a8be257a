//! A sidecar in memory, as the engine writes and opens it.

use std::io;
use std::sync::Arc;

use kiban_formats::accessor_file::{AccessorFile as Directory, AccessorHeader, AccessorWriter};
use kiban_formats::{StoreId, TableId};
use kiban_indexes::{
    Accessor, AccessorBuilder, AccessorFile, AccessorFormat, Built, Residency, SectionWriter,
};

struct Writer {
    file: Vec<u8>,
    writer: AccessorWriter,
}

impl SectionWriter for Writer {
    fn section(&mut self, name: &str) -> io::Result<()> {
        self.file.extend(self.writer.begin_section(name));
        Ok(())
    }
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.push(bytes);
        self.file.extend_from_slice(bytes);
        Ok(())
    }
}

/// Solves and writes what a builder has collected of so many keys: the file, and what is in it.
pub(crate) fn finish(
    format: &dyn AccessorFormat,
    builder: Box<dyn AccessorBuilder>,
    keys: u64,
) -> (Vec<u8>, Built) {
    let header = AccessorHeader {
        format_id: format.id().0,
        format_version: format.version(),
        table_id: TableId([0; 16]),
        store_id: StoreId([0; 16]),
        keys,
    };
    let (writer, head) = AccessorWriter::new(&header);
    let mut out = Writer { file: head.to_vec(), writer };
    let built = builder.finish(&mut out).expect("memory takes it");
    out.file.extend(out.writer.finish());
    (out.file, built)
}

/// Opens a file that is on the heap.
pub(crate) fn open(format: &dyn AccessorFormat, file: Vec<u8>) -> Accessor {
    let len = file.len() as u64;
    let trailer = file.last_chunk().expect("a trailer");
    let end = Directory::directory_bytes(trailer, len).expect("our own trailer");
    let directory = Directory::decode(&file, &file[file.len() - end..], len).expect("our own directory");
    let file = AccessorFile::new(directory.header, directory.sections, Arc::new(file));
    format.open(file, Residency::Resident).expect("our own file")
}
