//! Faults of recovery that users of engines of this kind reported, as tests. Those that need a
//! process of their own are in `process.rs`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod cut;
    pub(crate) mod log_file;
    pub(crate) mod memory;
}

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::cut::cut_log;
use common::log_file::written;
use common::memory::{dir, open, open_with, settings};
use kiban::storage::{CountingStorage, Effect, Fault, MemStorage, Op, SimStorage, Storage};
use kiban::{Db, Durability, ErrorKind, Keyspace, RecoveryMode, Result, Settings};

fn path(name: &str) -> PathBuf {
    dir().join(name)
}

/// The process dies: the next one finds the disk as it is now, whatever the old handles still do
/// to theirs.
fn kill(disk: &MemStorage, db: Db) -> MemStorage {
    let next = disk.fork();
    drop(db);
    next
}

fn newest(disk: &impl Storage, kind: &str) -> PathBuf {
    let names = disk.list(dir()).unwrap().into_iter().map(|entry| entry.name);
    path(&names.filter(|name| name.contains(kind)).max().unwrap())
}

/// The name that the next log file might have had.
fn next_log(disk: &impl Storage) -> PathBuf {
    let no: u64 = newest(disk, ".log").file_stem().unwrap().to_str().unwrap().parse().unwrap();
    path(&format!("{:08}.log", no + 1))
}

fn append(disk: &MemStorage, file: &Path, tail: &[u8]) {
    disk.set_bytes(file, [&disk.bytes(file).unwrap(), tail].concat());
}

fn put_durable(db: &Db, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        db.default_keyspace()
            .put_with(number.to_be_bytes(), format!("value {number}"), Durability::Sync)
            .unwrap();
    }
}

/// The numbers that are there, each with its value.
fn numbers(space: &Keyspace) -> Vec<u32> {
    let number = |pair: Result<(kiban::Key, kiban::Value)>| {
        let (key, value) = pair.unwrap();
        let number = u32::from_be_bytes(key[..].try_into().unwrap());
        assert_eq!(value, format!("value {number}").as_bytes());
        number
    };
    space.iter().map(number).collect()
}

#[test]
fn h18_torn_tail_survives_repeated_recovery() {
    // Right behind the last record, or behind the room that was reserved there.
    for (cut, room) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut disk = MemStorage::new(1);
        let db = open(&disk);
        put_durable(&db, 1..=10);
        disk = kill(&disk, db);
        let log = newest(&disk, ".log");
        let len = disk.bytes(&log).unwrap().len();
        cut_log(&disk, &log, if cut { 8 } else { 0 });
        if room {
            let used = disk.bytes(&log).unwrap().len();
            append(&disk, &log, &vec![0; len - used]);
        }
        if !cut {
            append(&disk, &log, b"17 random bytes!\x9D");
        }
        let mut expected: Vec<u32> = (1..=if cut { 9 } else { 10 }).collect();
        for round in 11..=15 {
            let db = open(&disk);
            assert_eq!(numbers(&db.default_keyspace()), expected, "round {round}, cut {cut}");
            put_durable(&db, [round]);
            expected.push(round);
            disk = kill(&disk, db);
            let db = open(&disk);
            assert_eq!(numbers(&db.default_keyspace()), expected, "round {round}, cut {cut}");
            disk = kill(&disk, db);
            let log = newest(&disk, ".log");
            append(&disk, &log, &round.to_le_bytes().repeat(5)[..17]);
        }
        assert_eq!(numbers(&open(&disk).default_keyspace()), expected);
    }
}

#[test]
fn h19_zero_filled_tail_does_not_stop_the_store_from_opening() {
    for zeros in [4 << 10, 1 << 20] {
        let disk = MemStorage::new(1);
        let db = open(&disk);
        put_durable(&db, 1..=10);
        let disk = kill(&disk, db);
        append(&disk, &newest(&disk, ".log"), &vec![0; zeros]);
        let db = open(&disk);
        put_durable(&db, [11]);
        let disk = kill(&disk, db);
        assert_eq!(numbers(&open(&disk).default_keyspace()), (1..=11).collect::<Vec<_>>());

        append(&disk, &newest(&disk, ".log"), &[&vec![0; zeros][..], b"garbage after zeros"].concat());
        match open_with(disk.clone(), settings()) {
            Ok(db) => assert_eq!(numbers(&db.default_keyspace()), (1..=11).collect::<Vec<_>>()),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corruption, "{error}"),
        }
    }
}

/// A killed store leaves the room that its log had reserved.
#[test]
fn room_behind_the_last_record_may_be_of_any_length() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    put_durable(&db, 1..=10);
    let disk = kill(&disk, db);
    let log = newest(&disk, ".log");
    let bytes = disk.bytes(&log).unwrap();
    let used = written(&bytes).len();
    assert!(bytes.len() > used + 10_000, "{} bytes, {used} used", bytes.len());
    for len in [used, used + 1, used + 7, used + 8, used + 31, used + 32, used + 4096, bytes.len() - 1] {
        disk.set_bytes(&log, bytes[..len].to_vec());
        let db = open(&disk.fork());
        assert_eq!(numbers(&db.default_keyspace()), (1..=10).collect::<Vec<_>>(), "{len} bytes, {used} used");
    }
}

/// A put makes its file longer only where room is reserved, and that is seldom.
#[test]
fn room_is_reserved_for_many_puts_at_once() {
    let counting = CountingStorage::new(Arc::new(MemStorage::new(1)));
    let db = open_with(counting.clone(), settings()).unwrap();
    counting.reset();
    put_durable(&db, 0..5000);
    let reserves: u64 = counting.counts().values().map(|file| file.reserves).sum();
    assert!((1..=5).contains(&reserves), "{reserves} reservations");
}

/// Copies taken between any two operations of a store that flushes; of each the manifest is cut
/// at every byte of its end.
#[test]
fn h20_cut_manifest_opens_whole_or_says_so() {
    let disk = MemStorage::new(1);
    let small = Settings { memtable_bytes: 4 << 10, memtables_total_bytes: 16 << 10, ..settings() };
    let db = open_with(disk.clone(), small).unwrap();
    let mut copies = Vec::new();
    for round in 0..6 {
        put_durable(&db, round * 40..round * 40 + 37);
        copies.push((disk.fork(), round * 40 + 37));
        if round % 2 == 0 {
            db.flush().unwrap();
            copies.push((disk.fork(), round * 40 + 37));
        }
        put_durable(&db, round * 40 + 37..round * 40 + 40);
        copies.push((disk.fork(), (round + 1) * 40));
    }
    for (copy, end) in copies {
        let manifest = newest(&copy, "MANIFEST");
        let bytes = copy.bytes(&manifest).unwrap();
        for len in bytes.len().saturating_sub(300)..bytes.len() {
            let cut = copy.fork();
            cut.set_bytes(&manifest, bytes[..len].to_vec());
            match open_with(cut, settings()) {
                Ok(db) => {
                    let found = numbers(&db.default_keyspace());
                    assert_eq!(found, (0..end).collect::<Vec<_>>(), "cut to {len} of {}", bytes.len());
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
                    assert!(error.to_string().contains(dir().to_str().unwrap()), "names no file: {error}");
                }
            }
        }
    }
}

#[test]
fn h22_every_log_file_is_replayed() {
    let disk = SimStorage::new(1);
    // A keyspace that is never flushed keeps each log alive that the other one's flushes begin.
    let db = open_with(disk.clone(), settings()).unwrap();
    let (quiet, busy) = (db.default_keyspace(), db.keyspace("busy").unwrap());
    for number in 0..40_u32 {
        quiet.put_with(number.to_be_bytes(), format!("value {number}"), Durability::Sync).unwrap();
        busy.put_with("k", number.to_be_bytes(), Durability::Sync).unwrap();
        if number % 8 == 7 {
            busy.flush().unwrap();
        }
    }
    let disk = disk.kill();
    let logs = disk.list(dir()).unwrap().into_iter().filter(|entry| entry.name.ends_with(".log")).count();
    assert!(logs >= 4, "{logs} log files");
    let db = open_with(disk, settings()).unwrap();
    assert_eq!(numbers(&db.default_keyspace()), (0..40).collect::<Vec<_>>());
    assert_eq!(db.keyspace("busy").unwrap().get("k").unwrap().unwrap(), 39_u32.to_be_bytes());
}

#[test]
fn h24_a_torn_log_followed_by_an_empty_one_opens() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    put_durable(&db, 1..=10);
    let disk = kill(&disk, db);
    let log = newest(&disk, ".log");
    cut_log(&disk, &log, 5);
    disk.set_bytes(&next_log(&disk), Vec::new());

    let db = open(&disk);
    assert_eq!(numbers(&db.default_keyspace()), (1..=9).collect::<Vec<_>>());
    put_durable(&db, [10]);
    let disk = kill(&disk, db);
    let db = open(&disk);
    assert_eq!(numbers(&db.default_keyspace()), (1..=10).collect::<Vec<_>>());
    put_durable(&db, [11]);
    db.close().unwrap();
    assert_eq!(numbers(&open(&disk).default_keyspace()), (1..=11).collect::<Vec<_>>());
}

/// A process dies between writing an edit of the manifest and syncing it. The next one reads the
/// edit; before a write rests on it, it must be durable.
#[test]
fn what_a_dead_process_left_unsynced_in_the_manifest_is_made_durable_before_writes_rest_on_it() {
    for seed in 0..60 {
        let disk = SimStorage::new(seed);
        let db = open_with(disk.clone(), settings()).unwrap();
        put_durable(&db, [1]);
        disk.inject(Fault::at_op(Op::Sync, 1, Effect::Crash).on("MANIFEST"));
        assert!(db.keyspace("other").is_err());

        let disk = disk.kill();
        let db = open_with(disk.clone(), settings()).unwrap();
        db.keyspace("other").unwrap().put_with("k", "durable", Durability::Sync).unwrap();
        let db = open_with(disk.reboot(seed), settings()).unwrap();
        assert_eq!(db.keyspace("other").unwrap().get("k").unwrap().unwrap(), b"durable", "seed {seed}");
    }
}

/// A log without a header is no part of history. A recovery that flushes syncs it with the others,
/// but must not ask for it later.
#[test]
fn a_log_that_a_recovery_drops_is_not_asked_for_later() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    // Never flushed, so the log stays.
    db.keyspace("quiet").unwrap().put("k", "v").unwrap();
    put_durable(&db, 0..400);
    let disk = kill(&disk, db);
    disk.set_bytes(&next_log(&disk), Vec::new());
    let small = Settings { memtable_bytes: 4 << 10, memtables_total_bytes: 16 << 10, ..settings() };
    let db = open_with(disk.clone(), small).unwrap();
    db.default_keyspace().flush().unwrap();
    let disk = kill(&disk, db);
    assert_eq!(numbers(&open(&disk).default_keyspace()), (0..400).collect::<Vec<_>>());
}

/// Three logs, of which a power cut took the middle one. What the third says of the middle one's
/// length says nothing of the first.
#[test]
fn a_lost_log_does_not_cut_the_one_before_it() {
    let mut disk = MemStorage::new(1);
    let db = open(&disk);
    put_durable(&db, 1..=50);
    disk = kill(&disk, db);
    let mut middle = None;
    for number in 51..=52_u32 {
        let db = open(&disk);
        db.default_keyspace().put(number.to_be_bytes(), format!("value {number}")).unwrap();
        disk = kill(&disk, db);
        middle.get_or_insert(newest(&disk, ".log"));
    }
    disk.set_bytes(&middle.unwrap(), Vec::new());
    for _ in 0..2 {
        let db = open(&disk);
        assert_eq!(numbers(&db.default_keyspace()), (1..=50).collect::<Vec<_>>());
        disk = kill(&disk, db);
    }
}

/// A table is made durable only after the log up to its last operation. A log that ends before
/// that has lost operations, those of other keyspaces among them.
#[test]
fn a_log_that_ends_before_what_tables_hold_is_refused_and_can_be_given_up() {
    let mut disk = MemStorage::new(1);
    let db = open(&disk);
    let quiet = db.keyspace("quiet").unwrap();
    quiet.put_with("k", "v", Durability::Sync).unwrap();
    put_durable(&db, 1..=10);
    db.default_keyspace().flush().unwrap();
    drop(quiet);
    disk = kill(&disk, db);
    let log = newest(&disk, ".log");
    disk.set_bytes(&log, disk.bytes(&log).unwrap()[..80].to_vec());

    let error = open_with(disk.clone(), settings()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert!(error.to_string().contains(log.file_name().unwrap().to_str().unwrap()), "{error}");

    let given_up = Settings { recovery: RecoveryMode::PointInTime, ..settings() };
    let db = open_with(disk.clone(), given_up.clone()).unwrap();
    assert_eq!(db.keyspace("quiet").unwrap().get("k").unwrap(), None);
    put_durable(&db, [11]);
    disk = kill(&disk, db);
    for settings in [given_up, settings()] {
        let db = open_with(disk.clone(), settings).unwrap();
        assert_eq!(numbers(&db.default_keyspace()), (1..=11).collect::<Vec<_>>());
        disk = kill(&disk, db);
    }
}

#[test]
fn h25_left_over_files_do_not_stop_the_store_from_opening() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    put_durable(&db, 1..=10);
    db.flush().unwrap();
    put_durable(&db, 11..=20);
    let disk = kill(&disk, db);
    let left_over = [
        "CURRENT.tmp",
        "MANIFEST-00009999.tmp",
        "00009998.sst.tmp",
        "00009997.log.tmp",
        "00009996.ph4.tmp",
        "00009995.sst",
        "MANIFEST-00009994",
    ];
    for (no, name) in left_over.iter().enumerate() {
        disk.set_bytes(&path(name), if no % 2 == 0 { Vec::new() } else { vec![0xA5; 5000] });
    }
    let theirs = ["notes.txt", "backup.tmp", "12.sst", "000000012.sst", "00000012", "current", "x.log"];
    for name in theirs {
        disk.set_bytes(&path(name), b"not ours".to_vec());
    }
    let db = open(&disk);
    assert_eq!(numbers(&db.default_keyspace()), (1..=20).collect::<Vec<_>>());
    put_durable(&db, 21..=30);
    db.flush().unwrap();
    db.close().unwrap();
    assert_eq!(numbers(&open(&disk).default_keyspace()), (1..=30).collect::<Vec<_>>());
    for name in left_over.iter().filter(|name| name.ends_with(".tmp")) {
        assert!(disk.bytes(&path(name)).is_err(), "{name} was left");
    }
    for name in theirs {
        assert_eq!(disk.bytes(&path(name)).unwrap(), b"not ours", "{name} was touched");
    }
}

/// Names are durable before anything rests on them. The crash sweep shows what would be lost;
/// this shows the order.
#[test]
fn h26_new_and_renamed_files_are_made_durable_by_their_directory() {
    for seed in 0..40 {
        let disk = SimStorage::new(seed);
        let db = open_with(disk.clone(), settings()).unwrap();
        put_durable(&db, 0..5);
        if seed % 2 == 0 {
            db.flush().unwrap();
        }
        put_durable(&db, 5..10);
        // Only what a power cut leaves for certain, or more.
        let left = disk.reboot(seed);
        let db = open_with(left, settings()).unwrap();
        assert_eq!(numbers(&db.default_keyspace()), (0..10).collect::<Vec<_>>(), "seed {seed}");
    }
    let counting = CountingStorage::new(Arc::new(MemStorage::new(1)));
    let db = open_with(counting.clone(), settings()).unwrap();
    counting.reset();
    put_durable(&db, 0..1);
    let syncs = counting.counts()["store"].dir_syncs;
    put_durable(&db, 1..50);
    assert_eq!(counting.counts()["store"].dir_syncs, syncs, "a commit syncs no directory");
    db.flush().unwrap();
    assert!(counting.counts()["store"].dir_syncs > syncs, "a table's name is made durable");
}

#[test]
fn h32_a_missing_table_is_named_and_nothing_runs_away() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    for round in 0..3 {
        put_durable(&db, round * 10..round * 10 + 10);
        db.flush().unwrap();
    }
    db.close().unwrap();
    let table = newest(&disk, ".sst");
    disk.remove(&table).unwrap();
    let bytes = |disk: &MemStorage| disk.list(dir()).unwrap().iter().map(|entry| entry.len).sum::<u64>();
    let before = bytes(&disk);
    let name = table.file_name().unwrap().to_str().unwrap();
    match open_with(disk.clone(), settings()) {
        Err(error) => assert!(error.to_string().contains(name), "{error}"),
        Ok(db) => {
            let error = db.default_keyspace().get(25_u32.to_be_bytes()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
            assert!(error.to_string().contains(name), "{error}");
            assert!(db.default_keyspace().iter().any(|pair| pair.is_err()));
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
    }
    assert!(bytes(&disk) < before + (1 << 20), "the directory grows by itself");
}

/// An open that has nothing to do does nothing.
#[test]
fn opening_and_closing_without_writes_changes_no_file() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    put_durable(&db, 0..10);
    db.flush().unwrap();
    put_durable(&db, 10..20);
    db.wait_idle().unwrap();
    db.close().unwrap();
    let files = |disk: &MemStorage| {
        let mut files: Vec<_> = disk.list(dir()).unwrap().into_iter().map(|entry| entry.name).collect();
        files.sort();
        files.into_iter().map(|name| (disk.bytes(&path(&name)).unwrap(), name)).collect::<Vec<_>>()
    };
    let before = files(&disk);
    for _ in 0..100 {
        let db = open(&disk);
        assert_eq!(numbers(&db.default_keyspace()).len(), 20);
        db.close().unwrap();
    }
    assert!(files(&disk) == before, "an open changed a file");

    // The same after a kill: nothing to tidy up, nothing written.
    let db = open(&disk);
    put_durable(&db, 20..21);
    let disk = kill(&disk, db);
    let before = files(&disk);
    for _ in 0..10 {
        drop(open(&disk));
    }
    assert!(files(&disk) == before, "an open after a kill changed a file");
}

#[test]
fn opening_reads_pointer_manifest_and_log_only() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    for round in 0..3 {
        put_durable(&db, round * 10..round * 10 + 10);
        db.flush().unwrap();
    }
    put_durable(&db, 30..35);
    db.wait_idle().unwrap();
    db.close().unwrap();
    let counting = CountingStorage::new(Arc::new(disk));
    let db = open_with(counting.clone(), settings()).unwrap();
    // There is an index beside each table, which nobody has asked for yet.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let read: Vec<_> =
        counting.counts().into_iter().filter(|(_, file)| file.opens > 0).map(|(name, _)| name).collect();
    let expected =
        |name: &String| name == "CURRENT" || name.starts_with("MANIFEST") || name.ends_with(".log");
    assert!(read.iter().all(expected), "{read:?}");
    assert_eq!(numbers(&db.default_keyspace()).len(), 35);
    assert!(counting.counts().iter().any(|(name, file)| name.ends_with(".sst") && file.reads > 0));
}

/// No memtable of its own is full, and all together are more than there may be.
#[test]
fn a_log_of_many_keyspaces_is_replayed_in_the_memory_of_all_memtables() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    for no in 0..40 {
        let space = db.keyspace(&format!("space {no}")).unwrap();
        (0..100_u32).for_each(|key| space.put(key.to_be_bytes(), [no; 1_000]).unwrap());
    }
    let disk = kill(&disk, db);
    let total = 1 << 20;
    let db = open_with(disk, Settings { memtables_total_bytes: total, ..settings() }).unwrap();
    let memory = db.stats().memory;
    assert!(memory.memtable_bytes <= total + 2_000, "{memory:?}");
    for no in 0..40 {
        let space = db.keyspace(&format!("space {no}")).unwrap();
        assert_eq!(space.iter().filter(|pair| pair.as_ref().unwrap().1 == [no; 1_000]).count(), 100);
    }
}
