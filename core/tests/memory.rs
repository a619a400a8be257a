//! The memory that a store takes: what `stats()` says is what the allocator gave, and the budget
//! is never passed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::alloc::System;

use cap::Cap;
use kiban::{Db, Settings, Value};
use tempfile::TempDir;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

const MIB: u64 = 1 << 20;
/// What the documentation allows beside budget and memtables: 16 MiB, and 1 MiB a thread.
const CONSTANT_BYTES: u64 = 18 * MIB;

fn key(no: u64) -> Vec<u8> {
    format!("key-{:016x}", no.wrapping_mul(0x9E37_79B9_7F4A_7C15)).into_bytes()
}

fn settings(cache_bytes: u64, is_mapped: bool) -> Settings {
    Settings {
        cache_bytes,
        table_bytes: 16 << 10,
        level_ratio: 1_000,
        background_threads: 2,
        mmap_max_level: is_mapped.then_some(u32::MAX),
        ..Settings::default()
    }
}

/// A store of about this many tables in one run, and the number of its keys.
fn store_of(tables: u64) -> (TempDir, u64) {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::builder(dir.path()).settings(settings(MIB, false)).open().unwrap();
    let space = db.default_keyspace();
    let keys = tables * 63;
    for no in 0..keys {
        space.put(key(no), [no as u8; 240]).unwrap();
    }
    space.compact().unwrap();
    db.wait_idle().unwrap();
    let there: u64 = db.stats().keyspaces[0].levels.iter().map(|level| level.tables).sum();
    assert!((tables..tables * 13 / 10 + 2).contains(&there), "{there} tables of {tables}");
    db.close().unwrap();
    (dir, keys)
}

/// The one test of this program: the allocator counts for all threads.
#[test]
fn the_heap_is_what_stats_says_and_stays_under_the_budget() {
    for tables in [10, 100, 1_000] {
        let (dir, keys) = store_of(tables);
        for cache_bytes in [0, 8 * MIB, 1 << 30] {
            for is_mapped in [false, true] {
                let what = format!("{tables} tables, {cache_bytes} bytes of cache, mapped: {is_mapped}");
                look(dir.path(), keys, settings(cache_bytes, is_mapped), &what);
            }
        }
    }
}

fn look(dir: &std::path::Path, keys: u64, settings: Settings, what: &str) {
    let (cache_bytes, memtables_bytes) = (settings.cache_bytes, settings.memtables_total_bytes);
    let before = HEAP.allocated() as u64;
    let db = Db::builder(dir).settings(settings).open().unwrap();
    let space = db.default_keyspace();
    // What the background has on its hands for a moment is not counted one by one.
    db.wait_idle().unwrap();
    for no in 0..5_000 {
        space.get(key(no * 7 % keys)).unwrap();
    }
    check(&db, before, cache_bytes + CONSTANT_BYTES, what);
    let scratch = db.keyspace("scratch").unwrap();
    for no in 0..6_000 {
        scratch.put(key(no), [1; 300]).unwrap();
    }
    let mut values: Vec<Value> = Vec::with_capacity(100);
    for no in 0..20_000 {
        let value = space.get(key(no * 7 % keys)).unwrap().unwrap();
        assert_eq!(value[0], (no * 7 % keys) as u8);
        if no % 200 == 0 {
            values.push(value);
        }
        if no % 1_000 == 0 {
            assert!(space.get(key(no + (1 << 40))).unwrap().is_none());
            check(&db, before, cache_bytes + memtables_bytes + CONSTANT_BYTES, what);
        }
    }
    let snapshot = db.snapshot();
    assert_eq!(snapshot.iter(&space).take(500).count(), 500);
    drop(snapshot);
    check(&db, before, cache_bytes + memtables_bytes + CONSTANT_BYTES, what);
    scratch.clear().unwrap();
    drop((space, scratch, values));
    db.close().unwrap();
    drop(db);
    let left = (HEAP.allocated() as u64).saturating_sub(before);
    assert!(left < 64 << 10, "{what}: {left} bytes left after closing");
}

fn check(db: &Db, before: u64, most: u64, what: &str) {
    let heap = (HEAP.allocated() as u64).saturating_sub(before);
    let memory = db.stats().memory;
    let said = memory.heap_bytes();
    // Locks, names and threads are not counted one by one.
    let unknown = 8 << 10;
    assert!(
        heap.abs_diff(said) <= heap * 3 / 100 + unknown,
        "{what}: {heap} bytes of heap, {said} said: {memory:#?}"
    );
    assert!(heap <= most, "{what}: {heap} bytes of heap, {most} allowed: {memory:#?}");
    let budgeted = memory.page_bytes + memory.handle_bytes + memory.filter_bytes;
    assert!(budgeted <= memory.budget_bytes.max(MIB), "{what}: {memory:#?}");
}
