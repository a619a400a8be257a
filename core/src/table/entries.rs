//! All entries of a table with their places, for builders of indexes.

use kiban_formats::footer::Footer;
use kiban_formats::page::{Entry, Jumbo, NewEntry, Page, is_jumbo};
use kiban_formats::properties::Properties;
use kiban_formats::{FormatError, Level, PageNo, SeqNo, SlotNo, UNIT_BYTES};
use kiban_indexes::{EntryFacts, EntryPlace, TableShape, Version, key_hash};

use super::reader::Table;
use crate::error::{Error, Result};

/// What an index is planned by; `level` is where the table is now.
pub(crate) fn table_shape(footer: &Footer, properties: &Properties, level: Level) -> TableShape {
    let mut shape = TableShape::default();
    shape.level = level;
    shape.table_bytes = footer.file_bytes;
    shape.entries = properties.entries;
    shape.keys = properties.keys;
    shape.tombstones = properties.tombstones;
    shape.data_units = footer.data_units;
    shape.align_bytes = footer.shape.align() as u32;
    shape.page_bytes = footer.shape.page_units() * UNIT_BYTES as u32;
    shape
}

/// What the facts of a table's entries follow from, beside the entries themselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FactsReader {
    /// The store's.
    pub(crate) hash_seed: u64,
    /// The sequence of every entry of an ingested table.
    pub(crate) assigned: Option<SeqNo>,
}

impl FactsReader {
    /// Shows every entry of a page.
    pub(crate) fn visit_page<E>(
        &self,
        no: PageNo,
        page: &Page<'_>,
        damaged: impl Fn(FormatError) -> E,
        visit: &mut impl FnMut(&EntryFacts<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut key = Vec::new();
        for slot in 0..page.count() as u16 {
            let slot = SlotNo(slot);
            let entry = page.entry(slot).map_err(&damaged)?;
            key.clear();
            key.extend_from_slice(entry.prefix);
            key.extend_from_slice(entry.suffix);
            let place = EntryPlace { page: no, slot, offset: page.entry_offset(slot) };
            visit(&self.facts(&key, &entry, place))?;
        }
        Ok(())
    }

    /// An entry that is about to get a jumbo run.
    pub(crate) fn jumbo<'a>(&self, no: PageNo, entry: &NewEntry<'a>) -> EntryFacts<'a> {
        let NewEntry { key, seq, kind, newer, value, .. } = *entry;
        let version = Version { seq: self.assigned.unwrap_or(seq), kind, newest: newer.is_none(), value };
        EntryFacts::new(key, key_hash(self.hash_seed, key), jumbo_place(no), version)
    }

    fn facts<'a>(&self, key: &'a [u8], entry: &Entry<'a>, place: EntryPlace) -> EntryFacts<'a> {
        let version = Version {
            seq: self.assigned.unwrap_or(entry.seq),
            kind: entry.kind,
            newest: entry.newer.is_none(),
            value: entry.value,
        };
        EntryFacts::new(key, key_hash(self.hash_seed, key), place, version)
    }
}

fn jumbo_place(no: PageNo) -> EntryPlace {
    EntryPlace { page: no, slot: SlotNo(0), offset: 0 }
}

impl Table {
    /// What an index is planned by; `level` is where the table is now.
    pub(crate) fn shape(&self, level: Level) -> TableShape {
        table_shape(&self.footer, &self.properties, level)
    }

    /// Shows every entry, in order, after the checksum that covers it has been compared: its page's,
    /// or its own where it is a jumbo run. Reads past the frames: a scan must not push out what
    /// others read.
    pub(crate) fn for_each_entry<E: From<Error>>(
        &self,
        mut visit: impl FnMut(&EntryFacts<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let pages = self.data_page_numbers()?;
        let end = PageNo(self.footer.data_units);
        let ends = pages.iter().skip(1).copied().chain([end]);
        for (no, end) in pages.iter().copied().zip(ends) {
            let units = end.0.checked_sub(no.0).filter(|units| *units > 0);
            let Some(units) = units else {
                return Err(Error::corruption(self.pages.path(), "data pages out of order").into());
            };
            let bytes = self.pages.read(no, units as usize * UNIT_BYTES)?;
            self.visit_page(no, &bytes, &mut visit)?;
        }
        Ok(())
    }

    fn visit_page<E: From<Error>>(
        &self,
        no: PageNo,
        bytes: &[u8],
        visit: &mut impl FnMut(&EntryFacts<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let damaged = |error| self.pages.damaged(no, error);
        let salt = self.pages.salt(no);
        let reader = FactsReader { hash_seed: self.footer.hash_seed, assigned: self.assigned() };
        if is_jumbo(bytes) {
            let jumbo = Jumbo::parse(bytes, salt).map_err(damaged)?;
            let value_end = jumbo.value_offset + jumbo.value_len as usize;
            let value = bytes.get(jumbo.value_offset..value_end).unwrap_or_default();
            let entry = jumbo.entry(value);
            entry.verify().map_err(damaged)?;
            return visit(&reader.facts(jumbo.key, &entry, jumbo_place(no)));
        }
        let page =
            Page::parse(bytes).and_then(|page| page.check_crc(salt).map(|()| page)).map_err(damaged)?;
        reader.visit_page(no, &page, |error| damaged(error).into(), visit)
    }

    /// The numbers of all data pages, from the fences.
    fn data_page_numbers(&self) -> Result<Vec<PageNo>> {
        let in_top = |error| Error::format(self.pages.path(), error);
        let mut numbers = Vec::new();
        for (_, fence) in self.top.node().separators().map_err(in_top)? {
            let fence_ref = self.pages.fence_page(fence)?;
            let node = kiban_formats::fence::FenceNode::parse(self.pages.bytes(&fence_ref));
            let separators = node.and_then(|node| node.separators());
            let separators = separators.map_err(|error| self.pages.damaged(fence, error))?;
            numbers.extend(separators.into_iter().map(|(_, page)| page));
        }
        Ok(numbers)
    }
}
