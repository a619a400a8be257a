//! Files of `ph4` in memory.

use std::io;
use std::sync::Arc;

use kiban_formats::accessor_file::{AccessorFile as Directory, AccessorHeader, AccessorWriter};
use kiban_formats::{FormatError, Kind, PageNo, SeqNo, SlotNo, StoreId, TableId};

use crate::*;

/// A key's hash, and where its newest entry is.
pub(super) type Key = (u64, PageNo, u16);

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

fn facts((hash, page, offset): Key, newest: bool) -> EntryFacts<'static> {
    let place = EntryPlace { page, slot: SlotNo(0), offset };
    EntryFacts::new(b"", hash, place, Version { seq: SeqNo(1), kind: Kind::Put, newest, value: b"" })
}

pub(super) fn builder(keys: &[Key], seed: u64) -> Box<dyn AccessorBuilder> {
    let shape = TableShape { keys: keys.len() as u64, ..TableShape::default() };
    let mut builder = Ph4Format.builder(&shape, &Params::new(), seed).unwrap();
    for (hash, page, offset) in keys {
        builder.add(&facts((*hash, *page, *offset), true)).unwrap();
        // An older version is elsewhere, and is not what is found.
        builder.add(&facts((*hash, PageNo(page.0 ^ 1), 48), false)).unwrap();
    }
    builder
}

/// The file, and what the builder says of it.
pub(super) fn build(keys: &[Key], seed: u64) -> Result<(Vec<u8>, Built), Declined> {
    let header = AccessorHeader {
        format_id: 4,
        format_version: 1,
        table_id: TableId(*b"the-golden-table"),
        store_id: StoreId(*b"the-golden-store"),
        keys: keys.len() as u64,
    };
    let (writer, head) = AccessorWriter::new(&header);
    let mut out = Writer { file: head.to_vec(), writer };
    let built = builder(keys, seed).finish(&mut out)?;
    out.file.extend(out.writer.finish());
    Ok((out.file, built))
}

/// Reads header and directory, as the engine does.
pub(super) fn read(bytes: &[u8]) -> Result<AccessorFile, FormatError> {
    let none = || FormatError::invalid("accessor file", 0, "no trailer");
    let len = bytes.len() as u64;
    let end = Directory::directory_bytes(bytes.last_chunk().ok_or_else(none)?, len)?;
    let Directory { header, sections } = Directory::decode(bytes, &bytes[bytes.len() - end..], len)?;
    Ok(AccessorFile::new(header, sections, Arc::new(bytes.to_vec())))
}

/// Opens as the engine does: what is resident has been checked.
pub(super) fn open(bytes: &[u8], residency: Residency) -> Result<Accessor, FormatError> {
    let file = read(bytes)?;
    if residency == Residency::Resident {
        file.verify()?;
    }
    Ph4Format.open(file, residency)
}

pub(super) fn probe(hash: u64) -> Probe<'static> {
    Probe::new(b"", hash, SeqNo::MAX)
}

/// A stand-in for the hash of key `no`.
pub(super) fn hash(no: u64) -> u64 {
    key_hash(42, &no.to_le_bytes())
}

/// So many keys, `page_keys` of them on a page of 4 KiB, entries at multiples of 2 bytes.
pub(super) fn table(count: u64, page_keys: u64) -> Vec<Key> {
    let place = |no: u64| {
        (PageNo((no / page_keys) as u32 + 1), (64 + no % page_keys * (4_000 / page_keys) / 2 * 2) as u16)
    };
    (0..count).map(|no| (hash(no), place(no).0, place(no).1)).collect()
}

pub(super) fn entry((_, page, offset): Key) -> Location {
    Location::Entry { page, offset }
}
