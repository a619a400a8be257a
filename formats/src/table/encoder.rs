//! From entries in order to the bytes of a table file.

use super::sample::Sample;
use crate::crc::crc32;
use crate::fence::{FenceBuilder, separator_between};
use crate::filter::build_filter;
use crate::footer::{FOOTER_BYTES, Footer, Section};
use crate::page::{FirstOrdinals, NewEntry, PageBuilder, PageShape, TableSalt, encode_jumbo_head};
use crate::properties::Properties;
use crate::{FormatError, KeyspaceId, Kind, PageNo, SeqNo, StoreId, TableId, UNIT_BYTES};

/// Bytes of finished pages that are handed to the sink at once.
const APPEND_BYTES: usize = 256 << 10;

/// Takes a file's bytes, in order.
pub trait TableSink {
    /// Why it cannot, or why the encoder cannot.
    type Error: From<FormatError>;

    /// Appends all parts.
    ///
    /// # Errors
    /// The sink's own.
    fn append(&mut self, parts: &[&[u8]]) -> Result<(), Self::Error>;

    /// Is shown a page that is finished, before it is appended.
    fn page_packed(&mut self, _no: PageNo, _page: &[u8]) {}

    /// Is shown an entry that has a jumbo run of its own.
    fn jumbo_packed(&mut self, _no: PageNo, _entry: &NewEntry<'_>) {}
}

/// What a table is made with.
#[derive(Clone, Copy, Debug)]
pub struct TableFacts {
    /// The store.
    pub store_id: StoreId,
    /// The table; random.
    pub table_id: TableId,
    /// The store's hash seed.
    pub hash_seed: u64,
    /// The keyspace.
    pub keyspace: KeyspaceId,
    /// Filter bits a distinct key; 0: no filter.
    pub filter_bits_per_key: u32,
    /// [`Footer::base_seq`]; if it is not 0, all entries are added with sequence 0.
    pub base_seq: SeqNo,
}

/// An entry of a table.
#[derive(Clone, Copy, Debug)]
pub struct TableEntry<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// The key's hash under the store's seed.
    pub hash: u64,
    /// Its sequence.
    pub seq: SeqNo,
    /// Its kind.
    pub kind: Kind,
    /// Its value; empty for a tombstone.
    pub value: &'a [u8],
    /// [`payload_crc`](crate::payload_crc) of key and value.
    pub payload_crc: u32,
}

/// A finished table.
#[derive(Clone, Debug)]
pub struct TableSummary {
    /// Its footer.
    pub footer: Footer,
    /// Its properties.
    pub properties: Properties,
}

/// Turns entries, in the order (key ascending, sequence descending), into a table file.
#[derive(Debug)]
pub struct TableEncoder {
    facts: TableFacts,
    stage: Stage,
    /// The entry added last, if there is one.
    last: Option<Last>,
    packed: Packed,
    hashes: Vec<u64>,
    properties: Properties,
}

#[derive(Debug)]
enum Stage {
    Sampling(Sample),
    Packing(PageBuilder),
}

#[derive(Debug, Default)]
struct Last {
    key: Vec<u8>,
    seq: SeqNo,
}

impl Last {
    fn set(&mut self, key: &[u8], seq: SeqNo) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.seq = seq;
    }
}

impl TableEncoder {
    /// Begins a table.
    pub fn new(facts: TableFacts) -> Self {
        Self {
            facts,
            stage: Stage::Sampling(Sample::default()),
            last: None,
            packed: Packed::new(TableSalt::new(facts.table_id)),
            hashes: Vec::new(),
            properties: Properties::default(),
        }
    }

    /// About how many bytes of memory it takes: what waits for the sink, and what is kept for the
    /// sections at the end. The open page is not in it.
    pub fn memory_bytes(&self) -> u64 {
        let hashes = self.hashes.capacity() * size_of::<u64>();
        (hashes + self.packed.out.capacity()) as u64 + self.packed.fences.estimated_bytes()
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// Those of the sink, and a table of more entries or pages than numbers have bits for.
    ///
    /// # Panics
    /// The entry does not come after the one before, or has a sequence that the table's facts forbid.
    pub fn add<S: TableSink>(&mut self, entry: &TableEntry<'_>, sink: &mut S) -> Result<(), S::Error> {
        let newer = self.last.as_ref().and_then(|last| {
            let order = entry.key.cmp(&last.key).then(last.seq.cmp(&entry.seq));
            assert!(order.is_gt(), "entries are added in the order (key ascending, sequence descending)");
            (entry.key == last.key).then_some(last.seq)
        });
        let TableEntry { key, seq, kind, value, payload_crc, hash } = *entry;
        assert!(self.facts.base_seq.0 == 0 || seq.0 == 0, "an ingested entry is stored with sequence 0");
        let new = NewEntry { key, seq, kind, newer, value, payload_crc };
        self.properties.add(&new);
        if newer.is_none() && self.facts.filter_bits_per_key > 0 {
            self.hashes.push(hash);
        }
        if let Stage::Sampling(sample) = &mut self.stage {
            if sample.is_full_with(&new) {
                let shape = sample.choose(Some(&new));
                self.end_sampling(shape, sink)?;
            } else {
                sample.push(&new);
            }
        }
        if let Stage::Packing(builder) = &mut self.stage {
            self.packed.add(builder, self.last.as_ref(), &new, sink)?;
        }
        self.last.get_or_insert_default().set(key, seq);
        Ok(())
    }

    /// Packs the sample into pages of the chosen shape.
    fn end_sampling<S: TableSink>(&mut self, shape: PageShape, sink: &mut S) -> Result<(), S::Error> {
        let mut builder = PageBuilder::new(shape);
        if let Stage::Sampling(sample) = &self.stage {
            let mut last: Option<Last> = None;
            for entry in sample.entries() {
                self.packed.add(&mut builder, last.as_ref(), &entry, sink)?;
                last.get_or_insert_default().set(entry.key, entry.seq);
            }
        }
        self.stage = Stage::Packing(builder);
        Ok(())
    }

    /// About how many bytes the file would have if it were finished now.
    pub fn estimated_bytes(&self) -> u64 {
        let open = match &self.stage {
            Stage::Sampling(sample) => sample.bytes() as u64,
            Stage::Packing(builder) => builder.used_bytes() as u64,
        };
        let filter = self.hashes.len() as u64 * u64::from(self.facts.filter_bits_per_key) / 8;
        self.packed.bytes() + open + filter + self.packed.fences.estimated_bytes() + FOOTER_BYTES as u64
    }

    /// Entries so far.
    pub fn entries(&self) -> u64 {
        self.properties.entries
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// Those of the sink; no entry was added.
    pub fn finish<S: TableSink>(mut self, sink: &mut S) -> Result<TableSummary, S::Error> {
        if self.properties.entries == 0 {
            return Err(FormatError::invalid("table", 0, "a table without an entry").into());
        }
        if let Stage::Sampling(sample) = &self.stage {
            let shape = sample.choose(None);
            self.end_sampling(shape, sink)?;
        }
        let shape = match &mut self.stage {
            Stage::Packing(builder) => {
                self.packed.close_page(builder, sink)?;
                builder.shape()
            }
            Stage::Sampling(_) => PageShape::SMALLEST,
        };
        self.properties.data_pages = self.packed.pages;
        self.properties.jumbo_runs = self.packed.jumbo_runs;
        let Packed { fences, mut out, units: data_units, salt, .. } = self.packed;
        let mut fence_units = 0;
        let top_tier = fences.finish(self.properties.common(), PageNo(data_units), salt, |page| {
            out.extend_from_slice(page.bytes);
            fence_units += (page.bytes.len() / UNIT_BYTES) as u32;
            flush_if_large(&mut out, sink)
        })?;
        let mut footer = Footer {
            store_id: self.facts.store_id,
            table_id: self.facts.table_id,
            hash_seed: self.facts.hash_seed,
            file_bytes: 0,
            shape,
            data_units,
            fence_units,
            filter: Section::default(),
            top_tier: Section::default(),
            properties: Section::default(),
            base_seq: self.facts.base_seq,
            keyspace: self.facts.keyspace,
        };
        let filter = build_filter(&self.hashes, self.facts.filter_bits_per_key);
        let mut properties = Vec::new();
        self.properties.encode(&mut properties);
        let mut offset = footer.sections_start();
        let mut section = |bytes: &[u8]| {
            let section = Section { offset, len: bytes.len() as u64, crc: crc32(bytes) };
            offset += section.len;
            section
        };
        footer.filter = section(&filter);
        footer.top_tier = section(&top_tier);
        footer.properties = section(&properties);
        footer.file_bytes = offset + FOOTER_BYTES as u64;
        sink.append(&[&out, &filter, &top_tier, &properties, &footer.encode()])?;
        Ok(TableSummary { footer, properties: self.properties })
    }
}

/// Hands finished pages on once there are enough for one write.
fn flush_if_large<S: TableSink>(out: &mut Vec<u8>, sink: &mut S) -> Result<(), S::Error> {
    if out.len() >= APPEND_BYTES {
        sink.append(&[out])?;
        out.clear();
    }
    Ok(())
}

/// The data pages so far.
#[derive(Debug)]
struct Packed {
    salt: TableSalt,
    /// Finished pages that the sink does not have yet.
    out: Vec<u8>,
    /// Units of all finished pages.
    units: u32,
    /// Entries and distinct keys on all pages, the open one too.
    placed: FirstOrdinals,
    /// The ordinals of the page that is open.
    first: FirstOrdinals,
    pages: u64,
    jumbo_runs: u64,
    fences: FenceBuilder,
}

impl Packed {
    fn new(salt: TableSalt) -> Self {
        Self {
            salt,
            out: Vec::new(),
            units: 0,
            placed: FirstOrdinals::default(),
            first: FirstOrdinals::default(),
            pages: 0,
            jumbo_runs: 0,
            fences: FenceBuilder::new(),
        }
    }

    fn bytes(&self) -> u64 {
        u64::from(self.units) * UNIT_BYTES as u64
    }

    /// Puts an entry on the open page, on a new one, or in a jumbo run. `last` is the entry before.
    fn add<S: TableSink>(
        &mut self,
        builder: &mut PageBuilder,
        last: Option<&Last>,
        entry: &NewEntry<'_>,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        if builder.is_empty() || !builder.try_add(entry) {
            self.close_page(builder, sink)?;
            flush_if_large(&mut self.out, sink)?;
            self.begin_page(last, entry);
            if !builder.try_add(entry) {
                self.add_jumbo(entry, sink)?;
            }
        }
        self.placed.entry = self
            .placed
            .entry
            .checked_add(1)
            .ok_or_else(|| FormatError::invalid("table", 0, "a table of more than 2^32 - 1 entries"))?;
        self.placed.key += u32::from(entry.newer.is_none());
        Ok(())
    }

    /// The next page starts with this entry.
    fn begin_page(&mut self, last: Option<&Last>, entry: &NewEntry<'_>) {
        let page = PageNo(self.units);
        match last {
            None => self.fences.add(&[], None, page),
            Some(last) => {
                let (len, seq) = separator_between(&last.key, last.seq, entry.key);
                self.fences.add(&entry.key[..len], seq, page);
            }
        }
        // The key of an older version has been counted with the newest.
        let key = self.placed.key - u32::from(entry.newer.is_some());
        self.first = FirstOrdinals { entry: self.placed.entry, key };
    }

    /// Seals the open page, if one is.
    fn close_page<S: TableSink>(&mut self, builder: &mut PageBuilder, sink: &mut S) -> Result<(), S::Error> {
        if builder.is_empty() {
            return Ok(());
        }
        let (no, start) = (PageNo(self.units), self.out.len());
        let units = builder.finish(self.first, self.salt.page(no), &mut self.out);
        sink.page_packed(no, &self.out[start..]);
        self.pages += 1;
        Ok(self.add_units(units)?)
    }

    fn add_units(&mut self, units: u32) -> Result<(), FormatError> {
        let sum = self.units.checked_add(units).filter(|sum| *sum < u32::MAX);
        self.units =
            sum.ok_or_else(|| FormatError::invalid("table", 0, "a table of more than 2^32 - 2 units"))?;
        Ok(())
    }

    /// Writes a run straight from the caller's buffers.
    fn add_jumbo<S: TableSink>(&mut self, entry: &NewEntry<'_>, sink: &mut S) -> Result<(), S::Error> {
        const ZEROS: [u8; UNIT_BYTES] = [0; UNIT_BYTES];
        let (no, start) = (PageNo(self.units), self.out.len());
        let units = encode_jumbo_head(entry, self.first, self.salt.page(no), &mut self.out)?;
        let used = (self.out.len() - start + entry.value.len()) % UNIT_BYTES;
        let padding = (UNIT_BYTES - used) % UNIT_BYTES;
        sink.append(&[&self.out, entry.value, &ZEROS[..padding]])?;
        self.out.clear();
        sink.jumbo_packed(no, entry);
        self.pages += 1;
        self.jumbo_runs += 1;
        Ok(self.add_units(units)?)
    }
}
