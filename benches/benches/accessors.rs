//! Every built-in index by itself: building one, and asking for keys that are there, are not there, and come in
//! batches; as the engine calls it, and behind one more virtual call as a plug-in is.
//!
//! `cargo bench -p kiban-benches --bench accessors`

#[path = "common/keys.rs"]
mod keys;
#[path = "common/sidecar.rs"]
mod sidecar;

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kiban_formats::{Kind, PageNo, SeqNo, SlotNo};
use kiban_indexes::{
    Accessor, AccessorBuilder, AccessorFormat, EntryFacts, EntryPlace, Location, Params, PointAccessor,
    Probe, Registry, TableShape, Version, key_hash,
};

const SEED: u64 = 7;
const KEYS: u64 = 100_000;
/// Entries of 300 bytes on a page of 4 KiB.
const ENTRIES_A_PAGE: u64 = 13;
const ENTRY_BYTES: u64 = 304;
/// Keys of a batch.
const BATCH: usize = 100;

struct Table {
    keys: Vec<(Vec<u8>, u64)>,
    absent: Vec<(Vec<u8>, u64)>,
}

impl Table {
    fn new() -> Self {
        let hashed = |key: Vec<u8>| {
            let hash = key_hash(SEED, &key);
            (key, hash)
        };
        let mut keys: Vec<(Vec<u8>, u64)> = (0..KEYS).map(keys::key).map(hashed).collect();
        keys.sort();
        Self { keys, absent: (KEYS..2 * KEYS).map(|no| hashed(keys::key(no))).collect() }
    }

    fn place(no: u64) -> EntryPlace {
        let offset = 48 + ENTRY_BYTES * (no % ENTRIES_A_PAGE);
        let page = PageNo((no / ENTRIES_A_PAGE) as u32);
        EntryPlace { page, slot: SlotNo((no % ENTRIES_A_PAGE) as u16), offset: offset as u16 }
    }

    fn collect(&self, format: &dyn AccessorFormat) -> Box<dyn AccessorBuilder> {
        let mut shape = TableShape::default();
        (shape.keys, shape.entries) = (KEYS, KEYS);
        shape.data_units = KEYS.div_ceil(ENTRIES_A_PAGE) as u32;
        (shape.align_bytes, shape.page_bytes) = (8, 4096);
        let mut builder = format.builder(&shape, &Params::new(), SEED).expect("it indexes such a table");
        for (no, (key, hash)) in (0..).zip(&self.keys) {
            let version = Version { seq: SeqNo(no + 1), kind: Kind::Put, newest: true, value: &[7; 256] };
            let facts = EntryFacts::new(key, *hash, Self::place(no), version);
            builder.add(&facts).expect("it takes every entry");
        }
        builder
    }

    fn build(&self, format: &dyn AccessorFormat) -> Vec<u8> {
        let mut builder = self.collect(format);
        let mut nowhere = Nowhere;
        assert!(!builder.next_pass(&mut nowhere).expect("it needs no section"), "memory is without bound");
        sidecar::finish(format, builder, KEYS).0
    }

    /// No key that is there is told absent, and its place is not another's.
    fn check(&self, accessor: &Accessor) {
        let probe = |(key, hash): &'_ (Vec<u8>, u64)| -> Location {
            accessor.locate(&Probe::new(key, *hash, SeqNo::MAX))
        };
        for (no, one) in (0..).zip(&self.keys) {
            let place = Self::place(no);
            let is_right = match probe(one) {
                Location::Entry { page, offset } => (page, offset) == (place.page, place.offset),
                Location::Slot { page, slot } => (page, slot) == (place.page, place.slot),
                Location::Page(page) => page == place.page,
                Location::Pages { first, last } => first <= place.page && place.page <= last,
                Location::Absent | Location::Deleted => false,
                _ => true,
            };
            assert!(is_right, "key {no} is at {place:?}, told {:?}", probe(one));
        }
        let refused = self.absent.iter().filter(|one| probe(one) == Location::Absent).count();
        assert!(!accessor.rejects_absent() || refused > self.absent.len() * 9 / 10, "{refused} refused");
    }
}

struct Nowhere;

impl kiban_indexes::SectionWriter for Nowhere {
    fn section(&mut self, name: &str) -> std::io::Result<()> {
        panic!("section {name} in a pass that is the only one")
    }
    fn write(&mut self, _: &[u8]) -> std::io::Result<()> {
        Ok(())
    }
}

fn build(c: &mut Criterion, table: &Table, format: &dyn AccessorFormat) {
    let mut group = c.benchmark_group("build");
    group.throughput(Throughput::Elements(KEYS)).sample_size(10);
    group.bench_function(BenchmarkId::from_parameter(format.name()), |b| {
        b.iter_batched(|| (), |()| black_box(table.build(format)), BatchSize::PerIteration);
    });
}

fn ask(c: &mut Criterion, name: &str, table: &Table, accessor: &Accessor) {
    let order = keys::shuffled(KEYS as usize, 1 << 16);
    let mut group = c.benchmark_group("locate");
    for (what, asked) in [("hit", &table.keys), ("miss", &table.absent)] {
        let mut at = 0;
        group.bench_function(BenchmarkId::new(what, name), |b| {
            b.iter(|| {
                let (key, hash) = &asked[order[at]];
                at = (at + 1) % order.len();
                black_box(accessor.locate(&Probe::new(key, *hash, SeqNo::MAX)))
            });
        });
    }
    let probes: Vec<Probe<'_>> = order
        .iter()
        .map(|no| {
            let (key, hash) = &table.keys[*no];
            Probe::new(key, *hash, SeqNo::MAX)
        })
        .collect();
    let mut batches = probes.chunks_exact(BATCH).cycle();
    let mut out = vec![Location::Unknown; BATCH];
    group.throughput(Throughput::Elements(BATCH as u64));
    group.bench_function(BenchmarkId::new("batch of 100", name), |b| {
        b.iter(|| {
            accessor.locate_many(batches.next().expect("it goes round"), &mut out);
            black_box(out[0])
        });
    });
}

fn all(c: &mut Criterion) {
    let table = Table::new();
    for format in Registry::built_in().formats() {
        build(c, &table, &**format);
        let direct = sidecar::open(&**format, table.build(&**format));
        table.check(&direct);
        ask(c, format.name(), &table, &direct);
        let behind_a_door = Accessor::Plugin(Box::new(direct));
        table.check(&behind_a_door);
        ask(c, &format!("{} as a plug-in", format.name()), &table, &behind_a_door);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = all
}
criterion_main!(benches);
