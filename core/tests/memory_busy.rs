//! The memory of a store that is read, scanned, written and compacted by many threads at once.
//!
//! `KIBAN_BUSY_SECONDS` sets how long each kind of reading is watched.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod env;
    pub(crate) mod rng;
}

use std::alloc::System;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cap::Cap;
use common::env::env_u64;
use common::rng::Rng;
use kiban::{Db, IndexPolicy, Settings};

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

const MIB: u64 = 1 << 20;
const KEYS: u64 = 60_000;
const CACHE_BYTES: u64 = 8 * MIB;
const MEMTABLES_BYTES: u64 = 8 * MIB;
/// What the documentation allows beside: 16 MiB, and 1 MiB for each of two threads.
const CONSTANT_BYTES: u64 = 18 * MIB;

fn key(no: u64) -> [u8; 8] {
    no.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

fn settings(is_mapped: bool) -> Settings {
    Settings {
        cache_bytes: CACHE_BYTES,
        memtable_bytes: 4 * MIB,
        memtables_total_bytes: MEMTABLES_BYTES,
        table_bytes: MIB,
        background_threads: 2,
        mmap_max_level: is_mapped.then_some(u32::MAX),
        ..Settings::default()
    }
}

/// Ends the others when a thread ends, also by a failure.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn gets(db: &Db, stop: &AtomicBool, seed: u64) {
    let (space, mut rng) = (db.default_keyspace(), Rng::new(seed));
    while !stop.load(Ordering::Relaxed) {
        let no = rng.below(KEYS as usize * 2) as u64;
        if rng.percent(80) {
            assert_eq!(space.get(key(no)).unwrap().is_some(), no < KEYS, "{no}");
        } else {
            let keys: Vec<_> = (no..no + 20).map(key).collect();
            let found = space.multi_get(&keys).unwrap();
            assert!((no..).zip(found).all(|(no, found)| found.is_some() == (no < KEYS)), "{no} and on");
        }
    }
}

fn scans(db: &Db, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let pairs = db.default_keyspace().iter().take_while(|_| !stop.load(Ordering::Relaxed));
        pairs.for_each(|pair| drop(pair.unwrap()));
    }
}

fn writes(db: &Db, stop: &AtomicBool) {
    let (space, mut rng) = (db.default_keyspace(), Rng::new(7));
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..2_000 {
            space.put(key(rng.below(KEYS as usize) as u64), vec![7; *rng.pick(&[100, 500, 900])]).unwrap();
        }
        let range = rng.next().to_be_bytes();
        space.compact_range(range..=[0xFF; 8]).unwrap();
    }
}

/// The most heap in each half of the time.
fn watch(db: &Db, before: u64) -> [u64; 2] {
    let (began, length) = (Instant::now(), Duration::from_secs(env_u64("KIBAN_BUSY_SECONDS", 3)));
    let mut most = [0; 2];
    while began.elapsed() < length {
        let half = usize::from(began.elapsed() > length / 2);
        most[half] = most[half].max((HEAP.allocated() as u64).saturating_sub(before));
        let memory = db.stats().memory;
        let budgeted = memory.page_bytes + memory.handle_bytes + memory.filter_bytes + memory.accessor_bytes;
        assert!(budgeted <= memory.budget_bytes, "{memory:#?}");
        thread::sleep(Duration::from_millis(5));
    }
    most
}

/// The one test of this program: the allocator counts for all threads.
#[test]
fn h47_the_memory_of_a_busy_store_stays_at_what_was_configured() {
    for is_mapped in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let before = HEAP.allocated() as u64;
        let builder = Db::builder(dir.path()).settings(settings(is_mapped));
        let db = builder.index_policy(IndexPolicy::always("ph4")).open().unwrap();
        let space = db.default_keyspace();
        (0..KEYS).for_each(|no| space.put(key(no), [no as u8; 500]).unwrap());
        space.compact().unwrap();
        db.wait_idle().unwrap();
        let stop = AtomicBool::new(false);
        let most = thread::scope(|scope| {
            let _stop = Stop(&stop);
            let (db, stop) = (&db, &stop);
            (0..8).for_each(|seed| drop(scope.spawn(move || gets(db, stop, seed))));
            (0..2).for_each(|_| drop(scope.spawn(move || scans(db, stop))));
            scope.spawn(move || writes(db, stop));
            watch(db, before)
        });
        let [first, second] = most;
        let allowed = CACHE_BYTES + MEMTABLES_BYTES + CONSTANT_BYTES;
        assert!(first.max(second) <= allowed, "mapped: {is_mapped}: {most:?} bytes, {allowed} allowed");
        assert!(second <= first * 5 / 4 + 2 * MIB, "mapped: {is_mapped}: it grows: {most:?} bytes");
        let counts = db.stats().accessors["ph4"].clone();
        assert!(counts.hits > 0 && counts.refuted == 0, "{counts:?}");
    }
}
