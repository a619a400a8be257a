mod cost;
mod damage;
mod reads;
mod scans;
mod trimmed;

use std::path::Path;
use std::sync::Arc;

use kiban_formats::{FileNo, KeyspaceId, Kind, Level, SeqNo, StoreId, TableId, TableMeta, payload_crc};
use kiban_indexes::{Probe, key_hash};

use super::reader::Table;
use super::{TableContext, TableOptions, TableSource, TableWriter};
use crate::error::Result;
use crate::event::Listener;
use crate::settings::Settings;
use crate::source::{EntryRef, Found, Source, Wants};
use crate::stats::PageStats;
use crate::storage::{MemStorage, Storage};

const STORE: StoreId = StoreId([3; 16]);
const HASH_SEED: u64 = 99;

fn path() -> &'static Path {
    Path::new("/00000012.sst")
}

/// How a table is read.
#[derive(Clone, Copy, Debug)]
struct Mode {
    cache_bytes: u64,
    mapped: bool,
}

const MODES: [Mode; 3] = [
    Mode { cache_bytes: 0, mapped: false },
    Mode { cache_bytes: 1 << 20, mapped: false },
    Mode { cache_bytes: 1 << 20, mapped: true },
];

/// An entry of the model: key, sequence, value (`None`: a tombstone).
type Entry = (Vec<u8>, u64, Option<Vec<u8>>);

/// SplitMix64, so that a seed is all a failure needs.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn bytes(&mut self, len: u64) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }
}

/// Entries in order: some keys with many versions, some longer than a page, some values jumbo.
fn random_entries(seed: u64) -> Vec<Entry> {
    let mut random = Random(seed);
    let value_max = [8, 60, 900, 5_000][random.below(4) as usize];
    let mut entries = Vec::new();
    for _ in 0..random.below(400) + 1 {
        let mut key = vec![b'k'; random.below(3) as usize];
        let len = if random.below(200) == 0 { 5_000 } else { random.below(4) };
        key.extend((0..len).map(|_| b"ab\0\xFF"[random.below(4) as usize]));
        let versions = if random.below(40) == 0 { 300 } else { random.below(3) + 1 };
        for _ in 0..versions {
            let len = if random.below(300) == 0 { 20_000 } else { random.below(value_max) };
            let value = (random.below(5) > 0).then(|| random.bytes(len));
            entries.push((key.clone(), random.below(100_000), value));
        }
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    entries.dedup_by(|a, b| (&a.0, a.1) == (&b.0, b.1));
    entries
}

/// A table on a disk of its own.
struct Sample {
    disk: MemStorage,
    meta: TableMeta,
    entries: Vec<Entry>,
}

impl Sample {
    fn new(entries: Vec<Entry>) -> Self {
        Self::write(entries, SeqNo(0))
    }

    /// The newest versions, ingested and committed at one sequence, which is returned.
    fn ingested(mut entries: Vec<Entry>) -> (Self, SeqNo) {
        let seq = SeqNo(50_000);
        entries.dedup_by(|entry, newer| entry.0 == newer.0);
        entries.iter_mut().for_each(|entry| entry.1 = seq.0);
        let sample = Self::write(entries, SeqNo(40_000));
        (Self { meta: sample.meta.at(seq), ..sample }, seq)
    }

    fn write(entries: Vec<Entry>, base_seq: SeqNo) -> Self {
        let disk = MemStorage::new(1);
        let storage: Arc<dyn Storage> = Arc::new(disk.clone());
        let options = TableOptions {
            no: FileNo(12),
            level: Level(0),
            store_id: STORE,
            table_id: TableId([5; 16]),
            hash_seed: HASH_SEED,
            keyspace: KeyspaceId(0),
            filter_bits_per_key: 10,
            base_seq,
        };
        let mut writer = TableWriter::create(&storage, path(), options).unwrap();
        for (key, seq, value) in &entries {
            let bytes = value.as_deref().unwrap_or_default();
            let entry = EntryRef {
                key,
                seq: if base_seq.0 == 0 { SeqNo(*seq) } else { SeqNo(0) },
                kind: if value.is_some() { Kind::Put } else { Kind::Delete },
                value: bytes,
                payload_crc: payload_crc(key, bytes),
            };
            writer.add(entry).unwrap();
        }
        let (meta, _) = writer.finish().unwrap();
        Self { disk, meta, entries }
    }

    /// Small enough for every bit of it to be tried.
    fn small() -> Self {
        let entry = |key: &str, seq, value: Option<&str>| {
            (key.as_bytes().to_vec(), seq, value.map(|value| value.as_bytes().to_vec()))
        };
        Self::new(vec![
            entry("apple", 9, Some("red")),
            entry("apple", 4, None),
            entry("apricot", 300, Some("")),
            entry("april", 5, None),
            entry("august", 6, Some("month")),
        ])
    }

    fn file(&self) -> Vec<u8> {
        self.disk.bytes(path()).unwrap()
    }

    fn context(&self, mode: Mode) -> TableContext {
        let settings = Settings {
            cache_bytes: mode.cache_bytes,
            mmap_max_level: mode.mapped.then_some(0),
            ..Settings::default()
        };
        TableContext::new(Arc::new(self.disk.clone()), &settings, STORE, Listener::default())
    }

    fn open(&self, mode: Mode) -> Result<(Arc<Table>, TableContext)> {
        let context = self.context(mode);
        Ok((Arc::new(Table::open(&context, path(), &self.meta)?), context))
    }

    /// What the model says.
    fn expected(&self, key: &[u8], snapshot: u64) -> Found {
        let order = |entry: &Entry| entry.0.as_slice().cmp(key).then(snapshot.cmp(&entry.1));
        let at = self.entries.partition_point(|entry| order(entry).is_lt());
        match self.entries.get(at).filter(|entry| entry.0 == key) {
            None => Found::Absent,
            Some((_, _, None)) => Found::Deleted,
            Some((_, _, Some(value))) => Found::Value(crate::value::Value::copy(value)),
        }
    }
}

fn get(table: &Table, key: &[u8], snapshot: u64) -> Result<Found> {
    table.get(None, &Probe::new(key, key_hash(HASH_SEED, key), SeqNo(snapshot)), Wants::Value)
}

/// Pages touched since `before`: data, index, read from the file.
fn touched(context: &TableContext, before: &PageStats) -> (u64, u64, u64) {
    let now = context.page_stats();
    (
        now.data_reads - before.data_reads,
        now.index_reads - before.index_reads,
        now.file_reads - before.file_reads,
    )
}
