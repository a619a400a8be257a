//! The pieces that every read is made of: the search of a page, the filter, the checksum.
//!
//! `cargo bench -p kiban-benches --bench formats`

#[path = "common/keys.rs"]
mod keys;

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kiban_formats::crc::crc32;
use kiban_formats::filter::{Filter, build_filter};
use kiban_formats::page::{FirstOrdinals, NewEntry, Page, PageBuilder, PageShape};
use kiban_formats::{Kind, SeqNo, SlotNo, payload_crc};
use kiban_indexes::key_hash;

const BITS_PER_KEY: u32 = 10;

fn page_search(c: &mut Criterion) {
    let mut all: Vec<Vec<u8>> = (0..2_000).map(keys::key).collect();
    all.sort();
    let mut group = c.benchmark_group("page search");
    for (page_bytes, value_len) in [(4 << 10, 256), (4 << 10, 16), (16 << 10, 64)] {
        let mut builder = PageBuilder::new(PageShape::new(page_bytes, 8).expect("a shape"));
        let value = vec![7; value_len];
        for (no, key) in (1..).zip(&all) {
            let payload_crc = payload_crc(key, &value);
            let entry =
                NewEntry { key, seq: SeqNo(no), kind: Kind::Put, newer: None, value: &value, payload_crc };
            if !builder.try_add(&entry) {
                break;
            }
        }
        let count = builder.count();
        let mut bytes = Vec::new();
        builder.finish(FirstOrdinals::default(), 0, &mut bytes);
        let page = Page::parse(&bytes).expect("our own page");
        for (slot, key) in all[..count].iter().enumerate() {
            assert_eq!(page.search(key, SeqNo::MAX).expect("our own page"), slot);
            let entry = page.entry(SlotNo(slot as u16)).expect("our own entry");
            assert_eq!([entry.prefix, entry.suffix].concat(), *key);
        }
        let order = keys::shuffled(count, 4_096);
        let mut at = 0;
        let name = format!("{count} entries in {} KiB", page_bytes >> 10);
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| {
                at = (at + 1) % order.len();
                black_box(page.search(&all[order[at]], SeqNo::MAX))
            });
        });
    }
}

fn filter(c: &mut Criterion) {
    const KEYS: u64 = 200_000;
    let hashes: Vec<u64> = (0..KEYS).map(|no| key_hash(7, &keys::key(no))).collect();
    let absent: Vec<u64> = (KEYS..2 * KEYS).map(|no| key_hash(7, &keys::key(no))).collect();
    let filter = Filter::decode(&build_filter(&hashes, BITS_PER_KEY)).expect("our own filter");
    assert!(hashes.iter().all(|hash| filter.may_hold(*hash)), "a key that is there is refused");
    let passed = absent.iter().filter(|hash| filter.may_hold(**hash)).count();
    assert!(passed < absent.len() / 50, "{passed} of {} absent keys pass", absent.len());
    let mut group = c.benchmark_group("filter");
    for (what, asked) in [("hit", &hashes), ("miss", &absent)] {
        let order = keys::shuffled(asked.len(), 1 << 16);
        let mut at = 0;
        group.bench_function(what, |b| {
            b.iter(|| {
                at = (at + 1) % order.len();
                black_box(filter.may_hold(asked[order[at]]))
            });
        });
    }
    group.throughput(Throughput::Elements(KEYS));
    group.bench_function("build", |b| b.iter(|| black_box(build_filter(&hashes, BITS_PER_KEY))));
}

fn crc(c: &mut Criterion) {
    // The check value of CRC-32/ISO-HDLC.
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    let mut group = c.benchmark_group("crc");
    for len in [38, 294, 4_096] {
        let bytes = vec![7_u8; len];
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_function(BenchmarkId::from_parameter(len), |b| b.iter(|| crc32(black_box(&bytes))));
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = page_search, filter, crc
}
criterion_main!(benches);
