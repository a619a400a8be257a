//! Files of `ph4` in memory.

use std::sync::Arc;

use kiban_formats::{FormatError, Kind, PageNo, SeqNo, SlotNo};

use crate::conformance::sidecar;
use crate::*;

/// A key's hash, and where its newest entry is.
pub(super) type Key = (u64, PageNo, u16);

fn facts((hash, page, offset): Key, newest: bool) -> EntryFacts<'static> {
    let place = EntryPlace { page, slot: SlotNo(0), offset };
    EntryFacts::new(b"", hash, place, Version { seq: SeqNo(1), kind: Kind::Put, newest, value: b"" })
}

pub(super) fn builder(keys: &[Key], seed: u64) -> Box<dyn AccessorBuilder> {
    let shape = TableShape { keys: keys.len() as u64, ..TableShape::default() };
    let mut builder = Ph4Format.builder(&shape, &Params::new(), seed).unwrap();
    add_all(&mut *builder, keys);
    builder
}

/// One scan of the table.
pub(super) fn add_all(builder: &mut dyn AccessorBuilder, keys: &[Key]) {
    for (hash, page, offset) in keys {
        builder.add(&facts((*hash, *page, *offset), true)).unwrap();
        // An older version is elsewhere, and is not what is found.
        builder.add(&facts((*hash, PageNo(page.0 ^ 1), 48), false)).unwrap();
    }
}

/// The file, and what the builder says of it.
pub(super) fn build(keys: &[Key], seed: u64) -> Result<(Vec<u8>, Built), Declined> {
    sidecar::finish(builder(keys, seed), &sidecar::header(&Ph4Format, keys.len() as u64))
}

/// Reads header and directory.
pub(super) fn read(bytes: &[u8]) -> Result<AccessorFile, FormatError> {
    sidecar::read(bytes, Arc::new(bytes.to_vec()))
}

/// Opens as the engine does: what is resident has been checked.
pub(super) fn open(bytes: &[u8], residency: Residency) -> Result<Accessor, FormatError> {
    sidecar::open(&Ph4Format, bytes, residency)
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
