//! Listeners that do what they should not, and listeners as a way to hold a background thread
//! at a known place.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod listening;
    pub(crate) mod memory;
}

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use common::listening::{Gate, LONG, open_listening};
use common::memory::{open, settings};
use kiban::storage::{Effect, Fault, MemStorage, Op, SimStorage};
use kiban::{Db, ErrorKind, Event, IndexPolicy, Keyspace, Settings};

#[test]
fn a_listener_that_always_panics_stops_no_background_work() {
    let disk = SimStorage::new(1);
    let db = open_listening(disk.clone(), settings(), |event| panic!("of the test: {event:?}"));
    let ks = db.default_keyspace();
    ks.put("a", "1").unwrap();
    disk.inject(Fault::at_op(Op::Append, 1, Effect::NoSpace).on(".sst").for_good());
    assert!(db.flush().unwrap_err().is_disk_full());
    disk.clear_faults();
    db.flush().unwrap();
    ks.compact().unwrap();
    db.wait_idle().unwrap();
    assert_eq!(ks.get("a").unwrap().unwrap(), b"1");
    db.close().unwrap();
}

#[test]
fn a_listener_may_close_the_store() {
    let disk = MemStorage::new(1);
    let handle: Arc<OnceLock<Db>> = Arc::default();
    let (closed, was_closed) = channel();
    let closed = Mutex::new(closed);
    let inner = handle.clone();
    let db = open_listening(disk.clone(), settings(), move |event| {
        if matches!(event, Event::Flush { .. }) {
            let result = inner.get().unwrap().close();
            closed.lock().unwrap().send(result).unwrap();
        }
    });
    handle.set(db.clone()).unwrap();
    db.default_keyspace().put("a", "1").unwrap();
    // It may come back before or after the listener is done.
    let _ = db.flush();
    was_closed.recv_timeout(LONG).unwrap().unwrap();
    assert_eq!(open(&disk).default_keyspace().get("a").unwrap().unwrap(), b"1");
}

/// What a compaction writes after the directory was let go would land in another opener's store.
#[test]
fn closing_waits_for_a_compaction_of_another_caller() {
    let disk = MemStorage::new(1);
    let (pass, gate) = Gate::new();
    let db = open_listening(disk.clone(), settings(), move |event| {
        if matches!(event, Event::Compaction { .. }) {
            pass();
        }
    });
    let ks = db.default_keyspace();
    ks.put("a", "1").unwrap();
    thread::scope(|scope| {
        let compaction = scope.spawn(|| ks.compact());
        gate.wait();
        let closing = scope.spawn(|| db.close());
        thread::sleep(Duration::from_millis(100));
        assert!(!closing.is_finished(), "the directory was let go under a compaction");
        gate.open();
        closing.join().unwrap().unwrap();
        compaction.join().unwrap().unwrap();
    });
    assert!(ks.compact().is_err());
    assert_eq!(open(&disk).default_keyspace().get("a").unwrap().unwrap(), b"1");
}

/// The only background thread is held up, so that nobody but the caller who compacts can wake the
/// writer.
#[test]
fn a_writer_that_waits_for_level_0_goes_on_after_a_compaction_of_another_caller() {
    let (pass, gate) = Gate::new();
    let (stalled, is_stalled) = channel();
    let stalled = Mutex::new(stalled);
    let flushes = Mutex::new(0);
    let settings =
        Settings { memtable_bytes: 1 << 10, level0_tables: 2, level0_stall_tables: 2, ..settings() };
    let db = open_listening(MemStorage::new(1), settings, move |event| match event {
        Event::Flush { .. } => {
            let mut count = flushes.lock().unwrap();
            *count += 1;
            if *count == 2 {
                pass();
            }
        }
        Event::WriteStall { .. } => stalled.lock().unwrap().send(()).unwrap(),
        _ => {}
    });
    let ks = db.default_keyspace();
    ks.put("a", [1; 2 << 10]).unwrap();
    db.wait_idle().unwrap();
    ks.put("b", [2; 2 << 10]).unwrap();
    gate.wait();
    let (written, was_written) = channel();
    let writer = ks.clone();
    let thread = thread::spawn(move || written.send(writer.put("c", "3")));
    is_stalled.recv_timeout(LONG).unwrap();
    thread::sleep(Duration::from_millis(20));
    ks.compact().unwrap();
    was_written.recv_timeout(LONG).expect("the writer was never woken").unwrap();
    thread.join().unwrap().unwrap();
    gate.open();
    assert_eq!(ks.iter().count(), 3);
}

/// What a listener does with the store never hangs it: writes wait for no room, and what would
/// wait for the listener's own thread is refused.
#[test]
fn a_listener_may_write_flush_and_compact_and_hangs_nobody() {
    type Act = fn(&Keyspace) -> kiban::Result<()>;
    let acts: [Act; 5] = [
        |space| space.put("from the listener", "x"),
        |space| space.flush(),
        |space| space.compact(),
        |space| space.ingest([("ingested", "x")]),
        |space| space.reindex(IndexPolicy::sorted_only()).map(drop),
    ];
    for (no, act) in acts.into_iter().enumerate() {
        let handle: Arc<OnceLock<Keyspace>> = Arc::default();
        let (inner, calls) = (handle.clone(), Arc::new(AtomicU64::new(0)));
        let counted = calls.clone();
        let errors: Arc<Mutex<Vec<ErrorKind>>> = Arc::default();
        let told = errors.clone();
        let settings = Settings {
            memtable_bytes: 8 << 10,
            memtables_total_bytes: 16 << 10,
            background_threads: 2,
            ..settings()
        };
        let db = open_listening(MemStorage::new(1), settings, move |event| {
            let is_work = matches!(event, Event::Flush { .. } | Event::Compaction { .. });
            if let (true, Some(space)) = (is_work && counted.load(Ordering::Relaxed) < 200, inner.get()) {
                counted.fetch_add(1, Ordering::Relaxed);
                if let Err(error) = act(space) {
                    told.lock().unwrap().push(error.kind());
                }
            }
        });
        let space = db.default_keyspace();
        handle.set(space.clone()).unwrap();
        let (done, is_done) = channel();
        thread::spawn(move || {
            for key in 0..3_000_u32 {
                space.put(key.to_be_bytes(), [0; 100]).unwrap();
            }
            space.compact().unwrap();
            db.wait_idle().unwrap();
            done.send(space.iter().count()).unwrap();
        });
        let count = is_done.recv_timeout(LONG).unwrap_or_else(|_| panic!("act {no} hangs"));
        let errors = errors.lock().unwrap();
        assert!(errors.iter().all(|kind| *kind == ErrorKind::InvalidArgument), "act {no}: {errors:?}");
        assert!(count >= 3_000 && calls.load(Ordering::Relaxed) > 0, "act {no}: {count}");
    }
}
