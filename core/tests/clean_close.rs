//! What a clean close says of the log, and what the next open makes of it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod cut;
    pub(crate) mod log_file;
    pub(crate) mod memory;
}

use std::path::PathBuf;

use common::cut::cut_log;
use common::log_file::written;
use common::memory::{dir, open, open_with, settings};
use kiban::storage::{Effect, Fault, MemStorage, Op, SimStorage, Storage};
use kiban::{Db, Durability, ErrorKind, RecoveryMode, Settings};

fn put(db: &Db, numbers: impl IntoIterator<Item = u32>, durability: Durability) {
    let ks = db.default_keyspace();
    numbers.into_iter().for_each(|no| ks.put_with(no.to_be_bytes(), [1; 50], durability).unwrap());
}

fn count(db: &Db) -> usize {
    db.default_keyspace().iter().map(kiban::Result::unwrap).count()
}

fn logs(disk: &impl Storage) -> Vec<PathBuf> {
    let mut names: Vec<_> = disk.list(dir()).unwrap().into_iter().map(|entry| entry.name).collect();
    names.retain(|name| name.ends_with(".log"));
    names.sort();
    names.iter().map(|name| dir().join(name)).collect()
}

fn newest_log(disk: &impl Storage) -> PathBuf {
    logs(disk).pop().unwrap()
}

fn check_refused(disk: &MemStorage, log: &std::path::Path, what: &str) {
    for _ in 0..2 {
        let error = open_with(disk.clone(), settings()).expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error}");
        assert!(error.to_string().contains(log.file_name().unwrap().to_str().unwrap()), "{what}: {error}");
    }
}

#[test]
fn after_a_clean_close_a_log_that_is_gone_or_shorter_is_noticed() {
    for durability in [Durability::Buffered, Durability::Sync] {
        for sessions in 1..3 {
            let disk = MemStorage::new(1);
            for session in 0..sessions {
                let db = open(&disk);
                put(&db, session * 10..session * 10 + 10, durability);
                db.close().unwrap();
            }
            let log = newest_log(&disk);
            let bytes = disk.bytes(&log).unwrap();
            for len in [bytes.len() - 1, bytes.len() / 2, 64, 10, 0] {
                disk.set_bytes(&log, bytes[..len].to_vec());
                check_refused(&disk, &log, &format!("{durability:?}, cut to {len} of {}", bytes.len()));
            }
            disk.remove(&log).unwrap();
            check_refused(&disk, &log, &format!("{durability:?}, gone"));

            let given_up = Settings { recovery: RecoveryMode::PointInTime, ..settings() };
            let db = open_with(disk.clone(), given_up).unwrap();
            assert_eq!(count(&db), 10 * (sessions as usize - 1));
            put(&db, [99], durability);
            db.close().unwrap();
            assert_eq!(count(&open(&disk)), 10 * (sessions as usize - 1) + 1, "given up once and for all");
        }
    }
}

#[test]
fn a_log_cut_after_a_clean_close_can_be_repaired() {
    for left in [Some(1), Some(200), None] {
        let disk = MemStorage::new(1);
        let db = open(&disk);
        put(&db, 0..10, Durability::Sync);
        db.close().unwrap();
        let log = newest_log(&disk);
        let bytes = disk.bytes(&log).unwrap();
        match left {
            Some(cut) => disk.set_bytes(&log, bytes[..bytes.len() - cut].to_vec()),
            None => disk.remove(&log).unwrap(),
        }
        check_refused(&disk, &log, "before the repair");
        Db::builder(dir()).storage(std::sync::Arc::new(disk.clone())).repair().unwrap();
        let db = open(&disk);
        let found = count(&db);
        assert!(if left == Some(1) { found == 10 } else { found < 10 }, "{found} after {left:?} was cut");
        put(&db, [99], Durability::Sync);
        db.close().unwrap();
        assert_eq!(count(&open(&disk)), found + 1);
    }
}

/// A file that is as long as it was may have lost bytes all the same.
#[test]
fn after_a_clean_close_a_log_whose_end_reads_as_zeros_is_refused() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    put(&db, 0..10, Durability::Buffered);
    db.close().unwrap();
    let log = newest_log(&disk);
    let bytes = disk.bytes(&log).unwrap();
    for lost in [16, 200, bytes.len() - 80] {
        let mut changed = bytes.clone();
        changed[bytes.len() - lost..].fill(0);
        disk.set_bytes(&log, changed);
        check_refused(&disk, &log, &format!("{lost} zeros"));
    }
}

#[test]
fn a_close_gives_back_the_room_behind_the_last_record() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    put(&db, 0..10, Durability::Sync);
    let log = newest_log(&disk);
    let bytes = disk.bytes(&log).unwrap();
    assert!(bytes.len() > written(&bytes).len() + 10_000, "{} bytes", bytes.len());
    assert_eq!(db.stats().log_bytes, written(&bytes).len() as u64, "room is no log");
    db.close().unwrap();
    let bytes = disk.bytes(&log).unwrap();
    assert_eq!(bytes.len(), written(&bytes).len());
}

/// Room is a hint: what cannot be had or given back is no failure.
#[test]
fn no_put_and_no_close_fails_for_want_of_room() {
    for (op, effect) in [(Op::Reserve, Effect::NoSpace), (Op::Reserve, Effect::Eio), (Op::Trim, Effect::Eio)]
    {
        let disk = SimStorage::new(1);
        let db = open_with(disk.clone(), settings()).unwrap();
        disk.inject(Fault::at_op(op, 1, effect).for_good());
        put(&db, 0..50, Durability::Sync);
        db.flush().unwrap();
        put(&db, 50..60, Durability::Sync);
        db.close().unwrap();
        assert!(disk.operations_of(op) > 0, "{op:?} was never asked for");
        disk.clear_faults();
        assert_eq!(count(&open_with(disk.reboot(1), settings()).unwrap()), 60, "{op:?} {effect:?}");
    }
}

/// The close says nothing of what a later process writes and a power cut takes.
#[test]
fn what_is_written_after_a_clean_close_may_end_anywhere() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    put(&db, 0..10, Durability::Buffered);
    db.close().unwrap();
    let closed = newest_log(&disk);
    let db = open(&disk);
    put(&db, 10..20, Durability::Buffered);
    let next = disk.fork();
    drop(db);
    let log = newest_log(&next);
    assert_ne!(log, closed);
    cut_log(&next, &log, 3);
    assert_eq!(count(&open(&next.fork())), 19);
    next.remove(&log).unwrap();
    assert_eq!(count(&open(&next.fork())), 10);
    next.remove(&closed).unwrap();
    check_refused(&next, &closed, "the log of before");
}

#[test]
fn a_log_whose_operations_are_all_in_tables_is_not_asked_for() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    put(&db, 0..10, Durability::Buffered);
    db.close().unwrap();
    let db = open(&disk);
    put(&db, 10..20, Durability::Buffered);
    db.flush().unwrap();
    db.close().unwrap();
    for log in logs(&disk) {
        disk.remove(&log).unwrap();
    }
    assert_eq!(count(&open(&disk)), 20);
}

/// A close that is cut short anywhere is as good as none.
#[test]
fn a_crash_in_a_close_leaves_all_that_is_durable() {
    for nth in 1.. {
        let disk = SimStorage::new(nth);
        open_with(disk.clone(), settings()).unwrap().close().unwrap();
        // One that did not make the manifest writes a new one.
        let db = open_with(disk.clone(), settings()).unwrap();
        put(&db, 0..10, Durability::Sync);
        put(&db, 10..15, Durability::Buffered);
        disk.inject(Fault::at(nth, Effect::Crash));
        let closed = db.close();
        let crashed = disk.is_off();
        for seed in 0..8 {
            let left = if seed == 0 { disk.kill() } else { disk.reboot(seed) };
            let db = open_with(left, settings()).unwrap();
            let least = if closed.is_ok() || seed == 0 { 15 } else { 10 };
            let found = count(&db);
            assert!((least..=15).contains(&found), "crash at {nth}, seed {seed}: {found}");
        }
        if !crashed {
            assert!(nth > 8, "{nth} operations are no close");
            return;
        }
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_file_and_has_the_name_of_a_log_is_an_error() {
    let scratch = tempfile::tempdir().unwrap();
    let store = scratch.path().join("store");
    let db = Db::open(&store).unwrap();
    put(&db, 0..10, Durability::Buffered);
    db.close().unwrap();
    let files = std::fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path());
    let log = files.into_iter().find(|path| path.extension().is_some_and(|end| end == "log")).unwrap();
    let elsewhere = scratch.path().join("elsewhere");
    std::fs::rename(&log, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &log).unwrap();
    let refused = || {
        let error = Db::open(&store).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert!(error.to_string().contains("no plain file"), "{error}");
    };
    refused();
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    refused();
    std::fs::remove_dir(&log).unwrap();
    std::fs::rename(&elsewhere, &log).unwrap();
    assert_eq!(count(&Db::open(&store).unwrap()), 10);

    // The log of a process that died: nothing else would tell.
    let later = store.join("00009999.log");
    std::fs::create_dir(&later).unwrap();
    refused();
    std::fs::remove_dir(&later).unwrap();
    // A directory of the user's is the user's.
    std::fs::create_dir(store.join("notes")).unwrap();
    assert_eq!(count(&Db::open(&store).unwrap()), 10);
}
