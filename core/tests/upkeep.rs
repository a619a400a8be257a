//! Who is told of a failure in the background, what ends retries, full disks, and closing twice.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod listening;
    pub(crate) mod memory;
}

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use common::listening::{Gate, LONG, open_listening};
use common::memory::{dir, open, open_with, settings};
use kiban::storage::{Effect, Fault, MemStorage, Op, SimStorage, Storage};
use kiban::{Db, Durability, ErrorKind, Event, IndexPolicy, Result, Settings, WriteBatch};

/// Runs a call that must come back.
fn within_long<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, done) = channel();
    thread::spawn(move || send.send(call()));
    done.recv_timeout(LONG).expect("the call did not come back")
}

/// Two tables of level 0 are due for compaction.
fn two_tables() -> Settings {
    Settings { cache_bytes: 0, level0_tables: 2, level0_stall_tables: 8, background_threads: 2, ..settings() }
}

fn put_and_flush(space: &kiban::Keyspace) -> Result<()> {
    space.put("k", "v")?;
    space.put("l", "w")?;
    space.flush()
}

#[test]
fn a_caller_is_told_of_failures_in_its_own_keyspace_only() {
    let disk = SimStorage::new(1);
    let (pass, gate) = Gate::new();
    let (failed, has_failed) = channel();
    let failed = Mutex::new(failed);
    let db = open_listening(disk.clone(), two_tables(), move |event| match event {
        Event::Compaction { keyspace, .. } if keyspace == "b" => pass(),
        Event::BackgroundError { .. } => failed.lock().unwrap().send(()).unwrap(),
        _ => {}
    });
    let (a, b) = (db.keyspace("a").unwrap(), db.keyspace("b").unwrap());
    put_and_flush(&a).unwrap();
    for _ in 0..2 {
        put_and_flush(&b).unwrap();
    }
    // A compaction of `b` is held up at its end, and another one waits for it.
    gate.wait();
    let compaction = thread::spawn(move || b.compact());
    disk.inject(Fault::at_op(Op::Read, 1, Effect::Eio).on(".sst").for_good());
    put_and_flush(&a).unwrap();
    has_failed.recv_timeout(LONG).expect("the compaction of `a` did not fail");
    thread::sleep(Duration::from_millis(50));
    assert!(!compaction.is_finished(), "told of a failure in another keyspace");
    let all = db.clone();
    assert_eq!(within_long(move || all.wait_idle()).unwrap_err().kind(), ErrorKind::Io);

    disk.clear_faults();
    for _ in 0..2 {
        gate.open();
    }
    compaction.join().unwrap().unwrap();
    // What went well since is not told of any more.
    within_long(move || db.wait_idle()).unwrap();
}

#[test]
fn after_a_halt_nothing_is_tried_again_and_whoever_waits_is_told() {
    let disk = SimStorage::new(1);
    let errors = Arc::new(AtomicUsize::new(0));
    let count = errors.clone();
    let db = open_listening(disk.clone(), settings(), move |event| {
        if matches!(event, Event::BackgroundError { .. }) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    let other = db.keyspace("other").unwrap();
    other.put("k", "v").unwrap();
    db.default_keyspace().put_with("k", "v", Durability::Sync).unwrap();
    db.default_keyspace().put("l", "w").unwrap();
    disk.inject(Fault::at_op(Op::Sync, 1, Effect::SyncDrops).on(".log"));
    let waiters: Vec<_> = (0..3)
        .map(|no| {
            let db = db.clone();
            let ks = db.default_keyspace();
            let calls: [Box<dyn FnOnce() -> Result<()> + Send>; 3] = [
                Box::new(move || ks.flush()),
                Box::new({
                    let db = db.clone();
                    move || db.flush()
                }),
                Box::new(move || db.flush().and_then(|()| db.wait_idle())),
            ];
            thread::spawn(move || within_long(calls.into_iter().nth(no).unwrap()))
        })
        .collect();
    for waiter in waiters {
        assert_eq!(waiter.join().unwrap().unwrap_err().kind(), ErrorKind::WritesHalted);
    }
    let told = errors.load(Ordering::Relaxed);
    thread::sleep(Duration::from_millis(700));
    assert_eq!(errors.load(Ordering::Relaxed), told, "it is tried again and again");
    let late = db.clone();
    assert_eq!(within_long(move || late.wait_idle()).unwrap_err().kind(), ErrorKind::WritesHalted);
    let ks = db.default_keyspace();
    for call in [ks.put("m", ""), ks.flush(), ks.compact(), db.flush()] {
        assert_eq!(call.unwrap_err().kind(), ErrorKind::WritesHalted);
    }
    assert_eq!(ks.get("l").unwrap().unwrap(), b"w");
    assert!(within_long(move || db.close()).is_err(), "not all that was acknowledged is durable");
    assert_eq!(open(&disk.kill()).default_keyspace().get("k").unwrap().unwrap(), b"v");
}

/// A listener that holds the thread of a caller in `compact`, or of the background, and then
/// closes the store that somebody else is closing.
#[test]
fn a_second_close_returns_when_the_directory_was_let_go_and_never_waits_for_itself() {
    for in_background in [false, true] {
        let disk = MemStorage::new(1);
        let (pass, gate) = Gate::new();
        let handle: Arc<OnceLock<Db>> = Arc::default();
        let inner = handle.clone();
        let db = open_listening(disk.clone(), settings(), move |event| {
            let here = match event {
                Event::Flush { .. } => in_background,
                Event::Compaction { .. } => !in_background,
                _ => false,
            };
            if here {
                pass();
                inner.get().unwrap().close().unwrap();
            }
        });
        handle.set(db.clone()).unwrap();
        db.default_keyspace().put("k", "v").unwrap();
        let ks = db.default_keyspace();
        let working = thread::spawn(move || ks.compact());
        gate.wait();
        let closes: Vec<_> = (0..2)
            .map(|_| {
                let db = db.clone();
                thread::spawn(move || within_long(move || db.close()))
            })
            .collect();
        thread::sleep(Duration::from_millis(100));
        assert!(closes.iter().all(|close| !close.is_finished()), "a close came back before the lock");
        gate.open();
        for close in closes {
            close.join().unwrap().unwrap();
        }
        assert_eq!(open(&disk).default_keyspace().get("k").unwrap().unwrap(), b"v");
        // What it says depends on where the close met it.
        let _ = working.join().unwrap();
    }
}

#[test]
fn a_writer_that_waits_says_so_and_for_how_long() {
    let events: Arc<Mutex<Vec<Event>>> = Arc::default();
    let (seen, (pass, gate)) = (events.clone(), Gate::new());
    let small = Settings { memtable_bytes: 4 << 10, memtables_total_bytes: 8 << 10, ..settings() };
    let db = open_listening(SimStorage::new(1), small, move |event| match event {
        Event::Flush { .. } => pass(),
        Event::WriteStall { .. } | Event::WriteStallEnded { .. } => seen.lock().unwrap().push(event.clone()),
        _ => {}
    });
    let ks = db.default_keyspace();
    let writer = thread::spawn(move || (0..40_u32).try_for_each(|no| ks.put(no.to_be_bytes(), [7; 500])));
    gate.wait();
    thread::sleep(Duration::from_millis(100));
    assert!(!writer.is_finished());
    drop(gate);
    writer.join().unwrap().unwrap();
    db.wait_idle().unwrap();
    let events = events.lock().unwrap();
    assert!(matches!(events[0], Event::WriteStall { memtable_bytes, .. } if memtable_bytes >= 8 << 10));
    assert!(matches!(events[1], Event::WriteStallEnded { micros, .. } if micros > 0), "{events:?}");
    assert_eq!(events.len() % 2, 0, "{events:?}");
}

/// Tables find no room: every writer is told once memtables are full, nobody hangs, and all goes
/// on when there is room again.
#[test]
fn a_full_disk_is_told_to_every_writer_and_goes_by_itself() {
    let disk = SimStorage::new(1);
    let small = Settings { memtable_bytes: 4 << 10, memtables_total_bytes: 16 << 10, ..two_tables() };
    let db = open_with(disk.clone(), small).unwrap();
    (0..100_u32).for_each(|no| db.default_keyspace().put(no.to_be_bytes(), [1; 300]).unwrap());
    db.wait_idle().unwrap();
    disk.inject(Fault::at_op(Op::Append, 1, Effect::NoSpace).on(".sst").for_good());
    let writers: Vec<_> = (0..4_u32)
        .map(|writer| {
            let ks = db.default_keyspace();
            thread::spawn(move || {
                within_long(move || {
                    let mut put = (0..10_000_u32)
                        .map(|no| ks.put([writer, no].map(u32::to_be_bytes).concat(), [2; 300]));
                    let acked = put.by_ref().take_while(Result::is_ok).count();
                    // Told again and again, and never kept waiting.
                    (acked, put.take(20).find_map(Result::err))
                })
            })
        })
        .collect();
    let told: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
    for (_, error) in &told {
        let error = error.as_ref().expect("a writer was not told");
        assert!(error.is_disk_full() && error.kind() == ErrorKind::Io, "{error}");
    }
    let acked: usize = told.iter().map(|(acked, _)| acked).sum();
    assert!((20..200).contains(&acked), "{acked} writes of 300 bytes");

    disk.clear_faults();
    let began = std::time::Instant::now();
    while db.default_keyspace().put([0; 4], [1; 300]).is_err() {
        assert!(began.elapsed() < LONG, "it does not go on by itself");
        thread::sleep(Duration::from_millis(5));
    }
    db.wait_idle().unwrap();
    assert_eq!(db.default_keyspace().iter().map(Result::unwrap).count(), 100 + acked);
    assert!(db.verify().unwrap().is_clean());
}

/// A clear needs no room in memory: it makes some.
#[test]
fn a_full_keyspace_can_be_cleared_and_then_takes_writes() {
    let disk = SimStorage::new(1);
    let small = Settings { memtable_bytes: 4 << 10, memtables_total_bytes: 16 << 10, ..two_tables() };
    let db = open_with(disk.clone(), small).unwrap();
    let ks = db.default_keyspace();
    disk.inject(Fault::at_op(Op::Append, 1, Effect::NoSpace).on(".sst").for_good());
    let full = (0..1_000_u32).find_map(|no| ks.put(no.to_be_bytes(), [1; 300]).err());
    assert!(full.is_some_and(|error| error.is_disk_full()));
    ks.clear().unwrap();
    ks.put("after", "1").unwrap();
    assert_eq!(ks.iter().map(Result::unwrap).count(), 1);
}

/// A log file that cannot be made has no broken record: the next write may find room.
#[test]
fn no_room_for_a_new_log_halts_nothing() {
    let disk = SimStorage::new(1);
    let db = open(&disk);
    for (no, fault) in
        [Fault::at_op(Op::Create, 1, Effect::NoSpace), Fault::at_op(Op::Append, 1, Effect::ShortAppend)]
            .into_iter()
            .enumerate()
    {
        let ks = db.default_keyspace();
        ks.put("before", no.to_be_bytes()).unwrap();
        db.flush().unwrap();
        disk.inject(fault.on(".log"));
        let error = ks.put("refused", "").unwrap_err();
        assert!(error.is_disk_full() && error.kind() == ErrorKind::Io, "{error}");
        ks.put("after", no.to_be_bytes()).unwrap();
    }
    db.close().unwrap();
    let ks = open(&disk.kill()).default_keyspace();
    let found: Vec<_> = ks.iter().map(|pair| pair.unwrap().0).collect();
    assert_eq!(found, [&b"after"[..], b"before"]);
}

/// The place of a byte in the only table's filter.
fn place_in_filter(disk: &MemStorage, table: &Path) -> usize {
    let whole = disk.bytes(table).unwrap();
    let is_in_filter = |place: &usize| {
        let mut bytes = whole.clone();
        bytes[*place] ^= 1;
        disk.set_bytes(table, bytes);
        let db = open_with(disk.fork(), settings()).unwrap();
        db.verify().is_ok_and(|report| report.problems.iter().any(|problem| problem.section == "filter"))
    };
    let found = (0..whole.len()).rev().step_by(101).find(is_in_filter);
    disk.set_bytes(table, whole);
    found.expect("there is no filter")
}

/// Told by whoever reads the table first, here under a lock that the listener wants.
#[test]
fn a_damaged_filter_is_told_once_with_no_lock_held_and_costs_no_answer() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    (0..500_u32).for_each(|no| db.default_keyspace().put(no.to_be_bytes(), "v").unwrap());
    db.flush().unwrap();
    db.close().unwrap();
    let names = disk.list(dir()).unwrap().into_iter().map(|entry| entry.name);
    let name = names.into_iter().find(|name| name.ends_with(".sst")).unwrap();
    let table = dir().join(&name);
    let place = place_in_filter(&disk, &table);
    let mut bytes = disk.bytes(&table).unwrap();
    bytes[place] ^= 1;
    disk.set_bytes(&table, bytes);

    for by_batch in [true, false] {
        let told = Arc::new(AtomicUsize::new(0));
        let handle: Arc<OnceLock<Db>> = Arc::default();
        let (inner, count, name) = (handle.clone(), told.clone(), name.clone());
        let db = open_listening(disk.fork(), settings(), move |event| {
            if let Event::FilterRefused { file, reason, .. } = event {
                assert!(file.ends_with(&name) && !reason.is_empty(), "{event:?}");
                count.fetch_add(1, Ordering::Relaxed);
                inner.get().unwrap().default_keyspace().put("of the listener", "").unwrap();
            }
        });
        handle.set(db.clone()).unwrap();
        let ks = db.default_keyspace();
        if by_batch {
            let mut batch = WriteBatch::new();
            batch.expect(&ks, 7_u32.to_be_bytes(), Some(b"v"));
            batch.put(&ks, "k", "v");
            let db = db.clone();
            within_long(move || db.write(batch)).unwrap();
        }
        for no in 0..1000_u32 {
            assert_eq!(ks.contains(no.to_be_bytes()).unwrap(), no < 500, "{no}");
        }
        assert_eq!(told.load(Ordering::Relaxed), 1);
        assert_eq!(db.stats().pages.filters_refused, 1);
        assert!(ks.contains("of the listener").unwrap());
        ks.compact().unwrap();
        assert!(!ks.contains("nothing").unwrap());
        assert_eq!(told.load(Ordering::Relaxed), 1, "what was written anew is whole");
    }
}

#[test]
fn a_flush_that_fails_for_good_keeps_the_only_thread_from_nothing_else() {
    let disk = SimStorage::new(1);
    let db = open_with(disk.clone(), Settings { background_threads: 1, ..settings() }).unwrap();
    let (a, b) = (db.keyspace("a").unwrap(), db.keyspace("b").unwrap());
    put_and_flush(&b).unwrap();
    disk.inject(Fault::at_op(Op::Append, 1, Effect::NoSpace).on(".sst").for_good());
    a.put("k", "v").unwrap();
    assert!(a.flush().unwrap_err().is_disk_full());
    let report = within_long(move || b.reindex(IndexPolicy::always("ph4"))).unwrap();
    assert_eq!(report.built + report.kept, 1);
}

#[test]
fn a_compaction_that_fails_for_good_keeps_the_only_thread_from_no_flush() {
    let disk = SimStorage::new(1);
    let db = open_with(disk.clone(), Settings { background_threads: 1, ..two_tables() }).unwrap();
    let (a, b) = (db.keyspace("a").unwrap(), db.keyspace("b").unwrap());
    put_and_flush(&a).unwrap();
    db.wait_idle().unwrap();
    disk.inject(Fault::at_op(Op::Read, 1, Effect::Eio).on(".sst").for_good());
    // The second table makes a compaction due, which cannot read the first.
    let _ = put_and_flush(&a);
    for _ in 0..3 {
        let b = b.clone();
        within_long(move || put_and_flush(&b)).unwrap();
    }
}
