//! Point reads of a store, end to end: every built-in index and none, mapped and by `pread`, keys that are there and
//! keys that are not.
//!
//! `cargo bench -p kiban-benches --bench get`

#[path = "common/keys.rs"]
mod keys;

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use kiban::accessor::Registry;
use kiban::{Db, IndexPolicy, Keyspace, Settings};

const KEYS: u64 = 100_000;

/// The value of a key, so that an answer can be told from another's.
fn value(no: u64) -> [u8; 256] {
    let mut value = [7; 256];
    value[..8].copy_from_slice(&no.to_le_bytes());
    value
}

fn settings(is_mapped: bool) -> Settings {
    Settings { mmap_max_level: is_mapped.then_some(u32::MAX), ..Settings::default() }
}

/// Every key is found with its value, and no other is.
fn check(space: &Keyspace) {
    for no in 0..KEYS {
        let found = space.get(keys::key(no)).expect("a read").expect("a key that is there");
        assert_eq!(found[..], value(no), "key {no}");
        assert!(space.get(keys::key(KEYS + no)).expect("a read").is_none(), "key {no} is not there");
    }
}

fn get(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a directory");
    let records = {
        let mut records: Vec<(Vec<u8>, [u8; 256])> = (0..KEYS).map(|no| (keys::key(no), value(no))).collect();
        records.sort();
        records
    };
    let db = Db::builder(dir.path()).open().expect("a new store");
    db.default_keyspace().ingest(records).expect("pairs in order");
    db.close().expect("a clean close");
    drop(db);
    let order = keys::shuffled(KEYS as usize, 1 << 16);
    let mut formats: Vec<String> = vec!["sorted".to_owned()];
    formats.extend(Registry::built_in().formats().map(|format| format.name().to_owned()));
    for is_mapped in [true, false] {
        for format in &formats {
            let policy = match format.as_str() {
                "sorted" => IndexPolicy::sorted_only(),
                format => IndexPolicy::always(format),
            };
            let builder = Db::builder(dir.path()).settings(settings(is_mapped)).index_policy(policy);
            let db = builder.open().expect("the store");
            db.wait_idle().expect("a store at rest");
            let space = db.default_keyspace();
            check(&space);
            let explained = space.explain().expect("a store that is open");
            assert!(explained.iter().all(|table| table.active == *format), "{explained:?}");
            let read = if is_mapped { "mmap" } else { "pread" };
            let mut group = c.benchmark_group(format!("get, {read}"));
            for (what, first) in [("hit", 0), ("miss", KEYS)] {
                let asked: Vec<Vec<u8>> = order.iter().map(|no| keys::key(first + *no as u64)).collect();
                let mut at = 0;
                group.bench_function(BenchmarkId::new(what, format), |b| {
                    b.iter(|| {
                        at = (at + 1) % asked.len();
                        black_box(space.get(&asked[at]).expect("a read"))
                    });
                });
            }
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
    targets = get
}
criterion_main!(benches);
