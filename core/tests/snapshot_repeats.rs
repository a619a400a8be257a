//! A snapshot reads the same thing twice, whatever is cleared or dropped meanwhile.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod memory;
}

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::memory::open;
use kiban::storage::MemStorage;

const LONG_ENOUGH: Duration = Duration::from_millis(1_500);

#[test]
fn a_snapshot_taken_while_a_keyspace_is_cleared_or_dropped_reads_the_same_twice() {
    let db = open(&MemStorage::new(1));
    let changed = AtomicBool::new(false);
    let began = Instant::now();
    while began.elapsed() < LONG_ENOUGH {
        let ks = db.keyspace("passing").unwrap();
        ks.put("k", "v").unwrap();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let snapshot = db.snapshot();
                    let read = || snapshot.get(&ks, "k").unwrap().is_some();
                    let first = read();
                    changed.fetch_or((0..20).any(|_| read() != first), Ordering::Relaxed);
                }
            });
            ks.clear().unwrap();
            ks.put("k", "v").unwrap();
            db.drop_keyspace("passing").unwrap();
            over.store(true, Ordering::Relaxed);
        });
    }
    assert!(!changed.into_inner(), "a snapshot read two things");
}
