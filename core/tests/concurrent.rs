//! Writers, readers, snapshots and flushes at once.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod memory;
}

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::memory::{open, open_with, settings};
use kiban::storage::{Effect, Fault, MemStorage, Op, SimStorage};
use kiban::{Db, Durability, ErrorKind, Keyspace, Settings, Snapshot, WriteBatch};

const RUN: Duration = Duration::from_millis(700);

fn small() -> Settings {
    Settings {
        memtable_bytes: 8 << 10,
        memtables_total_bytes: 32 << 10,
        level0_stall_tables: 100_000,
        ..settings()
    }
}

fn number(value: Option<kiban::Value>) -> u64 {
    u64::from_be_bytes(value.expect("a key that is always there")[..].try_into().unwrap())
}

/// Sets the flag when dropped, so that a failed thread ends the others.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reported as a race between taking the sequence and taking the list of files: a key that is
/// overwritten and flushed all the time looked missing or old.
#[test]
fn h07_a_key_that_is_always_there_is_never_missing_and_never_goes_back() {
    let db = open_with(MemStorage::new(1), small()).unwrap();
    let space = db.default_keyspace();
    space.put("k", 0_u64.to_be_bytes()).unwrap();
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for reader in 0..4 {
            let (space, stop, written) = (&space, &stop, &written);
            scope.spawn(move || {
                let _stop = Stop(stop);
                let mut last = 0;
                while !stop.load(Ordering::Relaxed) {
                    let least = written.load(Ordering::Acquire);
                    let found = match reader % 3 {
                        0 => number(space.get("k").unwrap()),
                        1 => number(space.multi_get(&["k"]).unwrap().remove(0)),
                        _ => {
                            let mut all = space.iter();
                            let found = number(all.next().map(|pair| pair.unwrap().1));
                            assert!(all.next().is_none(), "the key is there twice");
                            found
                        }
                    };
                    assert!(found >= least.max(last), "{found} after {last}, and {least} was acknowledged");
                    last = found;
                }
            });
        }
        let _stop = Stop(&stop);
        let began = Instant::now();
        for count in 1_u64.. {
            if began.elapsed() > RUN || stop.load(Ordering::Relaxed) {
                break;
            }
            space.put("k", count.to_be_bytes()).unwrap();
            written.store(count, Ordering::Release);
            if count % 10 == 0 {
                space.flush().unwrap();
            }
        }
    });
}

/// Both halves of a pair are always written in one batch, across keyspaces.
fn check_pair(snapshot: &Snapshot, left: &Keyspace, right: &Keyspace, key: &str) {
    let (l, r) = (snapshot.get(left, key).unwrap(), snapshot.get(right, key).unwrap());
    assert_eq!(l, r, "half a batch is seen");
    let again = snapshot.get(left, key).unwrap();
    assert_eq!(l, again, "a snapshot changed");
}

#[test]
fn a_snapshot_never_sees_half_a_batch() {
    let db = open_with(MemStorage::new(1), small()).unwrap();
    let (left, right) = (db.default_keyspace(), db.keyspace("right").unwrap());
    let stop = AtomicBool::new(false);
    let write = |db: &Db, writer: u64| {
        let _stop = Stop(&stop);
        let began = Instant::now();
        for count in 0_u64.. {
            if began.elapsed() > RUN || stop.load(Ordering::Relaxed) {
                return;
            }
            let mut batch = WriteBatch::new();
            let value = [writer.to_be_bytes(), count.to_be_bytes()].concat().repeat(4);
            for key in ["a", "b", "c"] {
                batch.put(&left, key, &value);
                batch.put(&right, key, &value);
            }
            let durability = if count % 8 == 0 { Durability::Sync } else { Durability::Buffered };
            db.write_with(batch, durability).unwrap();
            if count % 50 == writer {
                db.flush().unwrap();
            }
        }
    };
    thread::scope(|scope| {
        for writer in 0..3 {
            let (db, write) = (&db, &write);
            scope.spawn(move || write(db, writer));
        }
        for _ in 0..2 {
            scope.spawn(|| {
                let _stop = Stop(&stop);
                while !stop.load(Ordering::Relaxed) {
                    let snapshot = db.snapshot();
                    ["a", "b", "c"].iter().for_each(|key| check_pair(&snapshot, &left, &right, key));
                    let values: Vec<_> = snapshot.iter(&left).map(|pair| pair.unwrap().1).collect();
                    assert!(values.iter().all(|value| *value == values[0]), "a scan sees several batches");
                }
            });
        }
    });
}

/// Counters raised by compare-and-swap lose no step.
#[test]
fn compare_and_swap_from_many_threads_loses_no_step() {
    const STEPS: u64 = 200;
    let db = open_with(MemStorage::new(1), small()).unwrap();
    let space = db.default_keyspace();
    space.put("n", 0_u64.to_be_bytes()).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..STEPS {
                    loop {
                        let old = number(space.get("n").unwrap());
                        let mut batch = WriteBatch::new();
                        batch.expect(&space, "n", Some(&old.to_be_bytes()));
                        batch.put(&space, "n", (old + 1).to_be_bytes());
                        match db.write(batch) {
                            Ok(()) => break,
                            Err(error) => assert_eq!(error.kind(), ErrorKind::Conflict, "{error}"),
                        }
                    }
                }
            });
        }
    });
    assert_eq!(number(space.get("n").unwrap()), 4 * STEPS);
}

/// One sync acknowledges many writers. When it fails, none of them may have been told otherwise.
#[test]
fn writers_that_share_a_failed_sync_are_not_acknowledged() {
    for seed in 0..40 {
        let disk = SimStorage::new(seed);
        let db = open_with(disk.clone(), settings()).unwrap();
        disk.inject(Fault::at_op(Op::Sync, 2 + seed % 7, Effect::SyncDrops).on(".log"));
        let acked = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for writer in 0..4_u8 {
                let (db, acked) = (&db, &acked);
                scope.spawn(move || {
                    for count in 0..40 {
                        let key = [writer, count];
                        match db.default_keyspace().put_with(key, key, Durability::Sync) {
                            Ok(()) => acked.lock().unwrap().push(key),
                            Err(error) => {
                                assert_eq!(error.kind(), ErrorKind::WritesHalted, "{error}");
                                return;
                            }
                        }
                    }
                });
            }
        });
        assert!(db.default_keyspace().put("more", "").is_err(), "seed {seed}: the fault did not strike");
        let left = open_with(disk.reboot(seed), settings()).unwrap();
        for key in acked.into_inner().unwrap() {
            let found = left.default_keyspace().get(key).unwrap();
            assert_eq!(found.as_deref(), Some(&key[..]), "seed {seed}: an acknowledged write is lost");
        }
    }
}

/// Closing while others read and write: each call ends, and what was acknowledged is there.
#[test]
fn closing_under_load_ends_every_call_and_loses_nothing() {
    for round in 0..10 {
        let disk = MemStorage::new(round);
        let db = open_with(disk.clone(), small()).unwrap();
        let acked = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                let space = db.default_keyspace();
                for count in 0_u64.. {
                    match space.put(count.to_be_bytes(), [1; 100]) {
                        Ok(()) => acked.store(count + 1, Ordering::Release),
                        Err(error) => {
                            assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
                            return;
                        }
                    }
                }
            });
            scope.spawn(|| {
                let space = db.default_keyspace();
                loop {
                    for pair in space.iter() {
                        if let Err(error) = pair {
                            assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
                            return;
                        }
                    }
                    if space.get([0; 8]).is_err() {
                        return;
                    }
                }
            });
            scope.spawn(|| while db.flush().is_ok() {});
            thread::sleep(Duration::from_millis(10 + round * 3));
            db.close().unwrap();
        });
        let db = open(&disk.fork());
        assert_eq!(db.default_keyspace().iter().count() as u64, acked.into_inner(), "round {round}");
    }
}
