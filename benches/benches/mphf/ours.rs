//! `ph4`, as the engine builds and asks it.

use std::io;
use std::sync::Arc;

use kiban_formats::accessor_file::{AccessorFile as Directory, AccessorHeader, AccessorWriter};
use kiban_formats::{Kind, PageNo, SeqNo, SlotNo, StoreId, TableId};
use kiban_indexes::{
    Accessor, AccessorFile, AccessorFormat, EntryFacts, EntryPlace, Location, Params, Ph4Format,
    PointAccessor, Probe, Residency, SectionWriter, TableShape, Version,
};

use crate::Function;

/// A resident index; the number of a key is the page of its place.
pub(crate) struct Ph4 {
    accessor: Accessor,
    file_bytes: usize,
    keys: usize,
}

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

impl Function for Ph4 {
    const NAME: &'static str = "ph4";
    const NOTE: &'static str = "whole file: values and checksums too";

    fn build(keys: &[u64]) -> Self {
        let mut shape = TableShape::default();
        shape.keys = keys.len() as u64;
        let mut builder = Ph4Format.builder(&shape, &Params::new(), 1).expect("it declines no table");
        for (no, hash) in (0..).zip(keys) {
            let place = EntryPlace { page: PageNo(no), slot: SlotNo(0), offset: 0 };
            let version = Version { seq: SeqNo(0), kind: Kind::Put, newest: true, value: b"" };
            builder.add(&EntryFacts::new(b"", *hash, place, version)).expect("it takes every entry");
        }
        let header = AccessorHeader {
            format_id: 4,
            format_version: 1,
            table_id: TableId([0; 16]),
            store_id: StoreId([0; 16]),
            keys: keys.len() as u64,
        };
        let (writer, head) = AccessorWriter::new(&header);
        let mut out = Writer { file: head.to_vec(), writer };
        builder.finish(&mut out).expect("memory takes it");
        out.file.extend(out.writer.finish());
        open(out.file, keys.len())
    }

    fn index(&self, key: u64) -> usize {
        match self.accessor.locate(&Probe::new(b"", key, SeqNo::MAX)) {
            Location::Entry { page, .. } => page.0 as usize,
            _ => usize::MAX,
        }
    }

    fn slots(&self) -> usize {
        self.keys
    }

    fn bits(&self) -> f64 {
        self.file_bytes as f64 * 8.0
    }

    fn is_map() -> bool {
        true
    }
}

fn open(file: Vec<u8>, keys: usize) -> Ph4 {
    let (len, file_bytes) = (file.len() as u64, file.len());
    let trailer = file.last_chunk().expect("a trailer");
    let end = Directory::directory_bytes(trailer, len).expect("our own trailer");
    let directory = Directory::decode(&file, &file[file.len() - end..], len).expect("our own directory");
    let file = AccessorFile::new(directory.header, directory.sections, Arc::new(file));
    let accessor = Ph4Format.open(file, Residency::Resident).expect("our own file");
    Ph4 { accessor, file_bytes, keys }
}
