//! An ingest is all there or not at all: after a death at any of its operations, after any fault,
//! on a full disk. What it leaves behind is removed.

use std::path::Path;
use std::sync::Arc;

use kiban::storage::{Effect, Fault, Op, SimStorage, Storage};
use kiban::{Db, ErrorKind, Keyspace, Result, Settings};

use crate::memory::{dir, open, open_with, settings};

const PAIRS: usize = 400;

fn small() -> Settings {
    Settings { table_bytes: 4 << 10, ..settings() }
}

fn key(no: usize) -> Vec<u8> {
    format!("key-{no:05}").into_bytes()
}

fn ingest(ks: &Keyspace) -> Result<()> {
    ks.ingest((0..PAIRS).map(|no| (key(no), [b'i'; 30])))
}

/// How far a run got; each step is there only with all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reached {
    Nothing,
    Before,
    Ingest,
    After,
}

/// A put, an ingest over it, and a put over that.
fn run(db: &Db) -> Reached {
    let ks = db.default_keyspace();
    if ks.put(key(7), "before").is_err() {
        return Reached::Nothing;
    }
    if ingest(&ks).is_err() {
        return Reached::Before;
    }
    if ks.put(key(7), "after").is_err() { Reached::Ingest } else { Reached::After }
}

fn found(db: &Db) -> Reached {
    let ks = db.default_keyspace();
    let pairs: Vec<_> = ks.iter().map(Result::unwrap).collect();
    let ingested = pairs.iter().filter(|(_, value)| *value == [b'i'; 30]).count();
    let overwritten = ks.get(key(7)).unwrap().map(|value| value.to_vec());
    match (pairs.len(), ingested, overwritten.as_deref()) {
        (0, 0, None) => Reached::Nothing,
        (1, 0, Some(b"before")) => Reached::Before,
        (PAIRS, PAIRS, _) => Reached::Ingest,
        (PAIRS, ingested, Some(b"after")) if ingested == PAIRS - 1 => Reached::After,
        half => panic!("half an ingest: {half:?}"),
    }
}

/// No table that is not the store's, and nothing unfinished.
fn check_no_leak(disk: &SimStorage, db: &Db) {
    db.wait_idle().unwrap();
    let names = disk.list(dir()).unwrap().into_iter().map(|entry| entry.name);
    let files = names.filter(|name| name.ends_with(".sst") || name.ends_with(".tmp")).count() as u64;
    let levels = db.stats().keyspaces.into_iter().flat_map(|space| space.levels);
    assert_eq!(files, levels.map(|level| level.tables).sum::<u64>());
}

fn check_after_death(disk: &SimStorage, least: Reached, what: &str) {
    let reading = Db::builder(dir()).storage(Arc::new(disk.clone())).read_only(true).open();
    let seen = match reading {
        Ok(db) => found(&db),
        Err(error) => {
            assert_eq!((error.kind(), least), (ErrorKind::NotFound, Reached::Nothing), "{what}: {error}");
            Reached::Nothing
        }
    };
    let db = open_with(disk.clone(), small()).unwrap();
    let reached = found(&db);
    assert_eq!(reached, seen, "{what}: opened for reading, and for writing");
    assert!(reached >= least, "{what}: {least:?} was safe, {reached:?} is there");
    check_no_leak(disk, &db);
    assert!(db.verify().unwrap().is_clean(), "{what}");
    run(&db);
    assert_eq!(found(&db), Reached::After, "{what}: it goes on");
}

#[test]
fn a_death_at_any_operation_leaves_all_or_nothing() {
    let whole = SimStorage::new(1);
    let db = open_with(whole.clone(), small()).unwrap();
    assert_eq!(run(&db), Reached::After);
    db.wait_idle().unwrap();
    let operations = whole.operations();
    drop(db);
    assert!(operations > 60, "{operations} operations are no sweep");
    for nth in 1..=operations {
        let disk = SimStorage::new(1);
        disk.inject(Fault::at(nth, Effect::Crash));
        let opened = open_with(disk.clone(), small());
        let reached = opened.as_ref().map_or(Reached::Nothing, run);
        check_after_death(&disk.kill(), reached, &format!("killed at operation {nth}"));
        // The last put is buffered.
        let durable = if reached >= Reached::Ingest { Reached::Ingest } else { Reached::Nothing };
        for cut in 0..3 {
            let what = format!("power cut {cut} at operation {nth}");
            check_after_death(&disk.reboot(cut), durable, &what);
        }
    }
}

#[test]
fn a_fault_at_any_operation_fails_whole_and_leaves_no_file() {
    for effect in [Effect::Eio, Effect::NoSpace, Effect::ShortAppend, Effect::SyncDrops] {
        for nth in 1.. {
            let disk = SimStorage::new(nth);
            let db = open_with(disk.clone(), small()).unwrap();
            let ks = db.default_keyspace();
            ks.put(key(7), "before").unwrap();
            db.sync().unwrap();
            let begin = disk.operations();
            disk.inject(Fault::at(begin + nth, effect));
            let result = ingest(&ks);
            let operations = disk.operations() - begin;
            disk.clear_faults();
            let what = format!("{effect:?} at operation {nth}: {result:?}");
            let halted = db.default_keyspace().put(key(9), [b'i'; 30]).is_err();
            match &result {
                Ok(()) => assert_eq!(found(&db), Reached::Ingest, "{what}"),
                Err(_) if !halted => {
                    assert_eq!((ks.iter().count(), ks.get(key(9)).unwrap().is_some()), (2, true), "{what}");
                    check_no_leak(&disk, &db);
                    ingest(&ks).unwrap();
                    assert_eq!(found(&db), Reached::Ingest, "{what}");
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::WritesHalted, "{what}"),
            }
            drop((ks, db));
            for after in [disk.kill(), disk.reboot(nth)] {
                let db = open_with(after.clone(), small()).unwrap();
                let least = if result.is_ok() { Reached::Ingest } else { Reached::Before };
                // Of one that is not halted more was written since.
                assert!(!halted || found(&db) >= least, "{what}");
                check_no_leak(&after, &db);
            }
            if nth > operations {
                assert!(nth > 20, "{nth} operations are no sweep");
                break;
            }
        }
    }
}

#[test]
fn a_full_disk_ends_it_and_is_as_full_as_before() {
    let disk = SimStorage::new(1);
    let db = open(&disk);
    let ks = db.default_keyspace();
    ks.put(key(7), "before").unwrap();
    let used = |disk: &SimStorage| disk.list(dir()).unwrap().iter().map(|entry| entry.len).sum::<u64>();
    let before = used(&disk);
    disk.set_capacity(Some(before + 9000));
    let error = ingest(&ks).unwrap_err();
    assert!(error.is_disk_full(), "{error}");
    assert_eq!((found(&db), used(&disk)), (Reached::Before, before));
    ks.put(key(7), "before").unwrap();
    disk.set_capacity(None);
    ingest(&ks).unwrap();
    assert_eq!(found(&db), Reached::Ingest);
}

/// A store that ingested, and whose manifest could not be written: the log has the tables, and
/// what was cleared after an ingest.
fn waiting() -> (SimStorage, Db) {
    let disk = SimStorage::new(1);
    let db = open_with(disk.clone(), small()).unwrap();
    let (ks, cleared) = (db.default_keyspace(), db.keyspace("cleared").unwrap());
    ks.put(key(7), "before").unwrap();
    disk.inject(Fault::at_op(Op::Append, 1, Effect::Eio).on("MANIFEST").for_good());
    ingest(&ks).unwrap();
    cleared.ingest([("a", "b")]).unwrap();
    assert!(cleared.clear().is_err(), "the manifest cannot forget the tables");
    ks.put(key(7), "after").unwrap();
    check_waiting(&db);
    assert_eq!(db.stats().keyspaces.iter().flat_map(|space| &space.levels).count(), 0);
    (disk, db)
}

fn check_waiting(db: &Db) {
    assert_eq!(found(db), Reached::After);
    assert_eq!(db.keyspace("cleared").unwrap().iter().count(), 0);
    assert!(db.verify().unwrap().is_clean());
}

#[test]
fn it_waits_for_a_manifest_that_cannot_be_written() {
    let (disk, db) = waiting();
    let ks = db.default_keyspace();
    // One more for each of two memtables.
    assert_eq!(ks.approximate_len().unwrap(), PAIRS as u64 + 2);
    assert!(ks.approximate_bytes::<&[u8], _>(..).unwrap() > 10_000);
    disk.clear_faults();
    // It waits a moment longer, before it is tried again.
    let target = Path::new("/checkpoint");
    db.checkpoint(target).unwrap();
    let copy = Db::builder(target).storage(Arc::new(disk.clone())).settings(small()).open().unwrap();
    check_waiting(&copy);
    drop(copy);
    db.wait_idle().unwrap();
    check_waiting(&db);
    assert!(db.stats().keyspaces.iter().flat_map(|space| &space.levels).count() > 0);
    // What a clear that failed could not let go of goes at the next open.
    drop((ks, db));
    let db = open_with(disk.clone(), small()).unwrap();
    check_no_leak(&disk, &db);
    check_waiting(&db);
}

#[test]
fn the_log_alone_brings_it_back() {
    let (disk, db) = waiting();
    for after in [disk.kill(), disk.reboot(1)] {
        after.clear_faults();
        let reading = Db::builder(dir()).storage(Arc::new(after.clone())).read_only(true).open().unwrap();
        let found = if found(&reading) == Reached::After { Reached::After } else { Reached::Ingest };
        drop(reading);
        check_after_death(&after, found, "with no manifest that names it");
    }
    drop(db);
}

/// A table that so far only the log names is a live one.
#[test]
fn a_missing_or_cut_table_is_damage() {
    let disk = SimStorage::new(1);
    let db = open_with(disk.clone(), small()).unwrap();
    db.default_keyspace().put("first", "").unwrap();
    disk.inject(Fault::at_op(Op::Append, 1, Effect::Eio).on("MANIFEST").for_good());
    ingest(&db.default_keyspace()).unwrap();
    let killed = disk.kill();
    killed.clear_faults();
    let table =
        killed.list(dir()).unwrap().into_iter().find(|entry| entry.name.ends_with(".sst")).unwrap().name;
    let path = dir().join(&table);
    let bytes = killed.bytes(&path).unwrap();
    for damage in ["cut", "gone"] {
        killed.remove(&path).unwrap();
        if damage == "cut" {
            killed.set_bytes(&path, &bytes[..bytes.len() - 1]).unwrap();
        }
        for read_only in [true, false] {
            let builder = Db::builder(dir()).storage(Arc::new(killed.clone())).read_only(read_only);
            let error = builder.open().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "{damage}");
            assert!(error.to_string().contains(&table), "{damage}: {error}");
        }
    }
    let settings = Settings { recovery: kiban::RecoveryMode::PointInTime, ..small() };
    for _ in 0..2 {
        let db = open_with(killed.clone(), settings.clone()).unwrap();
        let keys: Vec<_> = db.default_keyspace().iter().map(|pair| pair.unwrap().0.to_vec()).collect();
        assert_eq!(keys.first().map(|key| &key[..]), Some(&b"first"[..]), "history goes on from there");
        db.default_keyspace().put("second", "").unwrap();
        check_no_leak(&killed, &db);
    }
    let db = open_with(killed.clone(), settings).unwrap();
    assert_eq!(db.default_keyspace().iter().count(), 2);
}
