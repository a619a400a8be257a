mod damage;
mod round_trip;
mod sizes;

use super::*;
use crate::fence::{FenceNode, TopTier, fence_units};
use crate::filter::Filter;
use crate::footer::{FOOTER_BYTES, Footer, Section};
use crate::page::{Entry, TableSalt, is_jumbo, verify_jumbo, verify_page};
use crate::properties::Properties;
use crate::{FormatError, KeyspaceId, Kind, PageNo, SeqNo, StoreId, TableId, UNIT_BYTES, payload_crc};

const FACTS: TableFacts = TableFacts {
    store_id: StoreId([0xA5; 16]),
    table_id: TableId([0x7B; 16]),
    hash_seed: 77,
    keyspace: KeyspaceId(7),
    filter_bits_per_key: 10,
    base_seq: SeqNo(0),
};

/// An entry that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Owned {
    key: Vec<u8>,
    /// Falls along the versions of a key.
    seq: std::cmp::Reverse<u64>,
    /// `None`: a tombstone.
    value: Option<Vec<u8>>,
}

impl Owned {
    fn new(key: impl AsRef<[u8]>, seq: u64, value: Option<&[u8]>) -> Self {
        Self { key: key.as_ref().to_vec(), seq: std::cmp::Reverse(seq), value: value.map(<[u8]>::to_vec) }
    }
}

fn hash(key: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(key, FACTS.hash_seed)
}

/// Keeps a file's bytes, or counts them.
#[derive(Default)]
struct Bytes {
    kept: Option<Vec<u8>>,
    count: u64,
}

enum Never {}

impl From<FormatError> for Never {
    fn from(error: FormatError) -> Self {
        panic!("{error}")
    }
}

impl TableSink for Bytes {
    type Error = Never;

    fn append(&mut self, parts: &[&[u8]]) -> Result<(), Never> {
        for part in parts {
            self.count += part.len() as u64;
            self.kept.iter_mut().for_each(|kept| kept.extend_from_slice(part));
        }
        Ok(())
    }
}

fn sound<T>(result: Result<T, Never>) -> T {
    match result {
        Ok(value) => value,
        Err(never) => match never {},
    }
}

/// A table file of these entries.
fn encode(entries: &[Owned]) -> (Vec<u8>, TableSummary) {
    encode_with(FACTS, entries)
}

fn encode_with(facts: TableFacts, entries: &[Owned]) -> (Vec<u8>, TableSummary) {
    let mut encoder = TableEncoder::new(facts);
    let mut sink = Bytes { kept: Some(Vec::new()), count: 0 };
    for entry in entries {
        let value = entry.value.as_deref().unwrap_or_default();
        let entry = TableEntry {
            key: &entry.key,
            hash: hash(&entry.key),
            seq: SeqNo(entry.seq.0),
            kind: if entry.value.is_some() { Kind::Put } else { Kind::Delete },
            value,
            payload_crc: payload_crc(&entry.key, value),
        };
        sound(encoder.add(&entry, &mut sink));
    }
    let summary = sound(encoder.finish(&mut sink));
    (sink.kept.unwrap_or_default(), summary)
}

fn slice(file: &[u8], from: usize, to: usize) -> Result<&[u8], FormatError> {
    file.get(from..to).ok_or_else(|| FormatError::invalid("file", from as u64, format!("{from}..{to}")))
}

fn section<'a>(file: &'a [u8], name: &'static str, section: &Section) -> Result<&'a [u8], FormatError> {
    let bytes = &file[section.offset as usize..(section.offset + section.len) as usize];
    section.check(name, bytes)?;
    Ok(bytes)
}

/// Reads all of a table file, checks all of it, and returns its entries.
fn read(file: &[u8]) -> Result<Vec<Owned>, FormatError> {
    let footer = Footer::decode(&file[file.len().saturating_sub(FOOTER_BYTES)..], file.len() as u64)?;
    let salt = TableSalt::new(footer.table_id);
    let filter = Filter::decode(section(file, "filter", &footer.filter)?)?;
    let top = TopTier::decode(section(file, "top tier", &footer.top_tier)?, salt)?;
    let properties = Properties::decode(section(file, "properties", &footer.properties)?)?;
    let mut children = Vec::new();
    for (_, page) in top.node().separators()? {
        let start = page.0 as usize * UNIT_BYTES;
        let units = usize::from(fence_units(slice(file, start, start + UNIT_BYTES)?)?);
        let node = FenceNode::parse(slice(file, start, start + units * UNIT_BYTES)?)?;
        node.check_crc(salt.page(page))?;
        children.extend(node.separators()?.into_iter().map(|(_, child)| child));
    }
    let ends = children.iter().skip(1).copied().chain([PageNo(footer.data_units)]);
    let mut entries = Vec::new();
    let mut before = None;
    for (page, end) in children.iter().zip(ends) {
        let bytes = slice(file, page.0 as usize * UNIT_BYTES, end.0 as usize * UNIT_BYTES)?;
        let visit = |entry: &Entry<'_>| {
            assert!(filter.may_hold(hash(&entry.to_key())));
            let value = (entry.kind == Kind::Put).then_some(entry.value);
            entries.push(Owned::new(entry.to_key(), entry.seq.0, value));
        };
        match is_jumbo(bytes) {
            true => verify_jumbo(bytes, salt.page(*page), &mut before, visit)?,
            false => verify_page(bytes, footer.shape, salt.page(*page), &mut before, visit)?,
        };
    }
    assert_eq!(properties.entries, entries.len() as u64);
    Ok(entries)
}
