//! `ph4`, as the engine builds and asks it.

use std::io;
use std::sync::Arc;

use kiban_formats::accessor_file::{AccessorFile as Directory, AccessorHeader, AccessorWriter};
use kiban_formats::{Kind, PageNo, SeqNo, SlotNo, StoreId, TableId};
use kiban_indexes::{
    Accessor, AccessorFile, AccessorFormat, EntryFacts, EntryPlace, Location, Params, Ph4Format,
    PointAccessor, Probe, Residency, SectionWriter, TableShape, Version,
};

use crate::packed::width;
use crate::{Function, Side};

/// A resident index; the number of a key is the page of its place.
pub(crate) struct Ph4 {
    accessor: Accessor,
    slots: usize,
    /// Bytes of the file but for the slots.
    beside_slots: usize,
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
    const SIDE: Side = Side::Ours;

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
        let built = builder.finish(&mut out).expect("memory takes it");
        out.file.extend(out.writer.finish());
        let slot_bytes: u64 = built.parts.iter().filter(|part| part.0 == "slots").map(|part| part.1).sum();
        let slots = slot_bytes as usize * 8 / width(keys.len()) as usize;
        let beside_slots = out.file.len() - slot_bytes as usize;
        Self { accessor: open(out.file), slots, beside_slots }
    }

    fn index(&self, key: u64) -> usize {
        match self.accessor.locate(&Probe::new(b"", key, SeqNo::MAX)) {
            Location::Entry { page, .. } => page.0 as usize,
            _ => usize::MAX,
        }
    }

    fn slots(&self) -> usize {
        self.slots
    }

    fn bits(&self) -> f64 {
        self.beside_slots as f64 * 8.0
    }
}

fn open(file: Vec<u8>) -> Accessor {
    let len = file.len() as u64;
    let trailer = file.last_chunk().expect("a trailer");
    let end = Directory::directory_bytes(trailer, len).expect("our own trailer");
    let directory = Directory::decode(&file, &file[file.len() - end..], len).expect("our own directory");
    let file = AccessorFile::new(directory.header, directory.sections, Arc::new(file));
    Ph4Format.open(file, Residency::Resident).expect("our own file")
}
