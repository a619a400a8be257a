//! Checkpoints: what they hold, that they are all or nothing, and that both stores live on.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod history;
    pub(crate) mod rng;
    pub(crate) mod store;
}

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use common::history::{Change, Contents, Writer, apply};
use common::rng::Rng;
use common::store::{Store, dir, tiny};
use kiban::storage::{Effect, Fault, LockMode, MemStorage, Op, SimStorage, Storage};
use kiban::{Db, Durability, ErrorKind, Event, RecoveryMode, Result, Settings, WriteBatch};

fn target() -> &'static Path {
    Path::new("/copies/first")
}

/// Where a checkpoint to [`target`] is built.
fn building() -> &'static Path {
    Path::new("/copies/first.checkpoint.tmp")
}

fn open_at(storage: &(impl Storage + Clone + 'static), dir: &Path) -> Result<Db> {
    Db::builder(dir).storage(Arc::new(storage.clone())).settings(tiny()).create_if_missing(false).open()
}

/// All there is in the checkpoint, which opens and has no fault.
fn contents_of(storage: &(impl Storage + Clone + 'static), dir: &Path) -> Contents {
    let db = open_at(storage, dir).unwrap();
    let report = db.verify().unwrap();
    assert!(report.is_clean(), "{report:?}");
    let spaces = common::history::SPACES.map(|name| db.keyspace(name).unwrap());
    let store = Store { db, spaces };
    let contents = store.contents().unwrap();
    store.check_reads(&contents).unwrap();
    contents
}

fn exists(storage: &impl Storage, dir: &Path) -> bool {
    storage.list(dir).is_ok()
}

/// A store with tables in several levels and writes that are in the log only.
fn filled(storage: &(impl Storage + Clone + 'static), seed: u64) -> (Store, Contents) {
    let store = Store::open(Arc::new(storage.clone()), tiny()).unwrap();
    let (mut rng, mut writer, mut contents) = (Rng::new(seed), Writer::default(), Contents::default());
    let mut write = |count: usize| {
        for _ in 0..count {
            let batch = writer.batch(&mut rng);
            let durability = rng.pick(&[Durability::Buffered, Durability::Sync]);
            store.write(&batch, *durability).unwrap();
            apply(&mut contents, &batch);
        }
    };
    write(60);
    store.spaces[0].compact().unwrap();
    write(20);
    store.db.flush().unwrap();
    write(3);
    store.spaces[0].put("last", "only buffered").unwrap();
    store.db.wait_idle().unwrap();
    let last = Change { space: 0, key: b"last".to_vec(), value: Some(b"only buffered".to_vec()) };
    apply(&mut contents, &vec![last]);
    (store, contents)
}

#[test]
fn a_checkpoint_holds_tables_and_unflushed_writes_of_all_keyspaces() {
    let disk = MemStorage::new(1);
    let (store, contents) = filled(&disk, 1);
    store.db.checkpoint(target()).unwrap();
    assert_eq!(contents_of(&disk, target()), contents);
    assert!(!exists(&disk, building()));
    assert_eq!(store.contents().unwrap(), contents);
    assert!(store.db.verify().unwrap().is_clean());
}

#[test]
fn an_empty_store_and_one_that_was_just_opened_have_checkpoints() {
    let disk = MemStorage::new(1);
    let store = Store::open(Arc::new(disk.clone()), tiny()).unwrap();
    store.db.checkpoint("/copies/empty").unwrap();
    assert_eq!(contents_of(&disk, Path::new("/copies/empty")), Contents::default());
    store.spaces[1].put("k", "v").unwrap();
    drop(store);
    let store = Store::open(Arc::new(disk.clone()), tiny()).unwrap();
    store.db.checkpoint("/copies/opened").unwrap();
    assert_eq!(contents_of(&disk, Path::new("/copies/opened")), store.contents().unwrap());
}

/// The files are shared, but nothing that one store does reaches the other.
#[test]
fn both_stores_go_on_by_themselves() {
    let disk = MemStorage::new(1);
    let (store, contents) = filled(&disk, 2);
    store.db.checkpoint(target()).unwrap();
    store.db.drop_keyspace("other").unwrap();
    store.spaces[0].clear().unwrap();
    store.spaces[0].put("only", "here").unwrap();
    store.db.flush().unwrap();
    store.db.wait_idle().unwrap();
    assert_eq!(contents_of(&disk, target()), contents);

    let copy = open_at(&disk, target()).unwrap();
    copy.default_keyspace().put("only", "there").unwrap();
    copy.default_keyspace().compact().unwrap();
    copy.checkpoint("/copies/second").unwrap();
    drop(copy);
    assert_eq!(store.spaces[0].get("only").unwrap().as_deref(), Some(&b"here"[..]));
    assert_eq!(store.spaces[0].iter().count(), 1);
    let second = contents_of(&disk, Path::new("/copies/second"));
    assert_eq!(second[0].len(), contents[0].len() + 1);
    assert_eq!(second[0][&b"only"[..]], b"there");
}

#[test]
fn a_target_that_exists_or_is_inside_the_store_is_refused_and_left_alone() {
    let disk = MemStorage::new(1);
    let (store, _) = filled(&disk, 3);
    let refused = |target: &str| {
        let error = store.db.checkpoint(target).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{target}: {error}");
        assert!(error.to_string().contains(target), "{error}");
    };
    disk.create_dir_all(Path::new("/copies/empty")).unwrap();
    disk.set_bytes(Path::new("/copies/file"), b"1".to_vec());
    for target in
        ["/copies/empty", "/copies/file", "/store", "/store/inside", "/copies/../store/x", "/", ".."]
    {
        refused(target);
    }
    assert_eq!(disk.list(Path::new("/copies/empty")).unwrap().len(), 0);
    assert_eq!(disk.bytes(Path::new("/copies/file")).unwrap(), b"1");
    assert!(!exists(&disk, Path::new("/store/inside")));
    assert!(!exists(&disk, Path::new("/copies/empty.checkpoint.tmp")));

    // Not ours, though it is where we would build.
    disk.create_dir_all(building()).unwrap();
    disk.set_bytes(&building().join("letter.txt"), b"dear".to_vec());
    assert_eq!(store.db.checkpoint(target()).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(disk.list(building()).unwrap().len(), 1);

    store.db.close().unwrap();
    assert_eq!(store.db.checkpoint("/copies/late").unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn a_store_open_for_reading_has_checkpoints_and_is_not_written_to() {
    let disk = SimStorage::new(1);
    let (store, contents) = filled(&disk, 4);
    // Its process dies, and what it wrote is not durable.
    let disk = disk.kill();
    drop(store);
    let before = files(&disk);
    let db =
        Db::builder(dir()).storage(Arc::new(disk.clone())).settings(tiny()).read_only(true).open().unwrap();
    db.checkpoint(target()).unwrap();
    drop(db);
    assert_eq!(files(&disk), before);
    for seed in 0..20 {
        assert_eq!(contents_of(&disk.reboot(seed), target()), contents, "seed {seed}");
    }
}

fn files(disk: &SimStorage) -> BTreeSet<(String, Vec<u8>)> {
    let names = disk.list(dir()).unwrap().into_iter().map(|entry| entry.name);
    names.map(|name| (name.clone(), disk.bytes(&dir().join(name)).unwrap())).collect()
}

/// What one that stops at damage reads is what the checkpoint holds, without the damage.
#[test]
fn damage_behind_the_recovered_part_of_a_log_is_not_taken_along() {
    let disk = MemStorage::new(1);
    let store = Store::open(Arc::new(disk.clone()), tiny()).unwrap();
    for key in ["a", "b", "c"] {
        store.spaces[0].put(key, key).unwrap();
    }
    drop(store);
    let log = disk.list(dir()).unwrap().into_iter().find(|entry| entry.name.ends_with(".log")).unwrap();
    let log = dir().join(log.name);
    let mut bytes = disk.bytes(&log).unwrap();
    let place = bytes.len() * 3 / 4;
    bytes[place] ^= 1;
    disk.set_bytes(&log, bytes);
    let settings = Settings { recovery: RecoveryMode::PointInTime, ..tiny() };
    assert!(open_at(&disk, dir()).is_err(), "a strict open takes this for damage");
    let store = Store::open(Arc::new(disk.clone()), settings).unwrap();
    let contents = store.contents().unwrap();
    assert!(!contents[0].is_empty() && contents[0].len() < 3);
    store.db.checkpoint(target()).unwrap();
    assert_eq!(contents_of(&disk, target()), contents);
}

#[test]
fn files_are_links_where_the_file_system_has_them() {
    use std::os::unix::fs::MetadataExt;

    let scratch = tempfile::tempdir().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let listener = {
        let told = told.clone();
        Arc::new(move |event: &Event| told.lock().unwrap().push(event.clone()))
    };
    let db = Db::builder(scratch.path().join("store")).settings(tiny()).on_event(listener).open().unwrap();
    let space = db.default_keyspace();
    space.put("a", "1").unwrap();
    db.flush().unwrap();
    space.put("b", "2").unwrap();
    let copy = scratch.path().join("new/parent/copy");
    db.checkpoint(&copy).unwrap();
    let mut shared = 0;
    for entry in std::fs::read_dir(&copy).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let linked = entry.metadata().unwrap().nlink() == 2;
        assert_eq!(linked, name.ends_with(".sst") || name.ends_with(".log"), "{name}");
        shared += u64::from(linked);
    }
    assert_eq!(shared, 2);
    let told = told.lock().unwrap();
    let Some(Event::Checkpoint { files: 4, linked_bytes: 1.., copied_bytes: 0, sequence: 2, target, .. }) =
        told.iter().find(|event| matches!(event, Event::Checkpoint { .. }))
    else {
        panic!("{told:?}");
    };
    assert_eq!(*target, copy);
    let copy = Db::builder(&copy).read_only(true).open().unwrap();
    assert_eq!(copy.default_keyspace().iter().count(), 2);
}

#[test]
fn files_are_copied_where_they_cannot_be_linked() {
    let disk = SimStorage::new(1);
    let (store, contents) = filled(&disk, 5);
    disk.inject(Fault::at_op(Op::Link, 1, Effect::CrossesDevices).for_good());
    store.db.checkpoint(target()).unwrap();
    disk.clear_faults();
    for seed in 0..20 {
        assert_eq!(contents_of(&disk.reboot(seed), target()), contents, "seed {seed}");
    }
}

/// Reported as names that no sync of the directory made durable (the checkpoint's part): once the
/// call has returned, a power cut takes nothing, be it of writes that were only buffered.
#[test]
fn h26_a_checkpoint_survives_a_power_cut_once_the_call_has_returned() {
    let disk = SimStorage::new(1);
    let (store, contents) = filled(&disk, 6);
    store.db.checkpoint(target()).unwrap();
    for seed in 0..100 {
        assert_eq!(contents_of(&disk.reboot(seed), target()), contents, "seed {seed}");
    }
}

/// Power cuts at each operation.
const SEEDS: u64 = 12;

/// Runs a checkpoint with a fault at each of its operations in turn.
fn with_fault_at_every_operation(
    effect: Effect,
    links: bool,
    check: impl Fn(&SimStorage, &Store, &Contents, Result<()>, u64),
) {
    // How many tables there are depends on what ran beside the writes: all begin with the same.
    let template = SimStorage::new(7);
    let (store, mut contents) = filled(&template, 7);
    store.db.close().unwrap();
    let late = vec![Change { space: 1, key: b"late".to_vec(), value: Some(b"1".to_vec()) }];
    apply(&mut contents, &late);
    for nth in 1.. {
        let disk = template.kill();
        let store = Store::open(Arc::new(disk.clone()), tiny()).unwrap();
        store.write(&late, Durability::Buffered).unwrap();
        store.db.wait_idle().unwrap();
        if !links {
            disk.inject(Fault::at_op(Op::Link, 1, Effect::CrossesDevices).for_good());
        }
        let before = disk.operations();
        disk.inject(Fault::at(nth, effect));
        let made = store.db.checkpoint(target());
        let done = disk.operations() - before < nth;
        if !disk.is_off() {
            disk.clear_faults();
        }
        check(&disk, &store, &contents, made, nth);
        if done {
            return;
        }
    }
}

#[test]
fn a_power_cut_at_any_operation_leaves_no_checkpoint_or_a_whole_one() {
    let (absent, whole) = (AtomicU64::new(0), AtomicU64::new(0));
    with_fault_at_every_operation(Effect::Crash, true, |disk, _, contents, _, nth| {
        for seed in 0..SEEDS {
            let left = disk.reboot(seed * 1000 + nth);
            if exists(&left, target()) {
                whole.fetch_add(1, Ordering::Relaxed);
                assert_eq!(contents_of(&left, target()), *contents, "operation {nth}, seed {seed}");
                continue;
            }
            absent.fetch_add(1, Ordering::Relaxed);
            // The source is a store as before, and what was left is in nobody's way.
            let store = Store::open(Arc::new(left.clone()), tiny()).unwrap();
            store.db.checkpoint(target()).unwrap();
            assert!(!exists(&left, building()));
            assert_eq!(contents_of(&left, target()), store.contents().unwrap());
        }
    });
    assert!(whole.into_inner() > SEEDS, "some are there though the call had not returned");
    assert!(absent.into_inner() > 20);
}

#[test]
fn a_failure_at_any_operation_is_an_error_and_leaves_nothing_behind() {
    for (effect, links) in [(Effect::Eio, true), (Effect::NoSpace, true), (Effect::ShortAppend, false)] {
        let failed = AtomicU64::new(0);
        with_fault_at_every_operation(effect, links, |disk, store, contents, made, nth| {
            let what = format!("{effect:?} at operation {nth}");
            match made {
                Ok(()) => assert_eq!(contents_of(disk, target()), *contents, "{what}"),
                Err(error) => {
                    failed.fetch_add(1, Ordering::Relaxed);
                    let kind = error.kind();
                    assert!(matches!(kind, ErrorKind::Io | ErrorKind::WritesHalted), "{what}: {error}");
                    assert!(!exists(disk, target()), "{what}: the target is there");
                    let rest = disk.list(building()).map_or(0, |names| names.len());
                    assert_eq!(rest, 0, "{what}: files are left");
                }
            }
            assert_eq!(store.contents().unwrap(), *contents, "{what}");
            store.db.close().ok();
            let again = Store::open(Arc::new(disk.clone()), tiny()).unwrap();
            assert_eq!(again.contents().unwrap(), *contents, "{what}");
        });
        assert!(failed.into_inner() > 20);
    }
}

#[test]
fn of_two_checkpoints_to_one_target_one_is_made() {
    let disk = MemStorage::new(1);
    let (store, contents) = filled(&disk, 8);
    let made = thread::scope(|scope| {
        let checkpoints = [0; 4].map(|_| scope.spawn(|| store.db.checkpoint(target())));
        checkpoints.map(|checkpoint| checkpoint.join().unwrap())
    });
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1, "{made:?}");
    let refused = made.iter().filter_map(|made| made.as_ref().err());
    refused.for_each(|error| assert_eq!(error.kind(), ErrorKind::InvalidArgument));
    assert_eq!(contents_of(&disk, target()), contents);
}

#[test]
fn a_directory_in_which_another_store_builds_is_left_alone() {
    let disk = MemStorage::new(1);
    let (store, contents) = filled(&disk, 9);
    disk.create_dir_all(building()).unwrap();
    let held = disk.lock(&building().join("LOCK"), LockMode::Exclusive).unwrap();
    disk.set_bytes(&building().join("00000001.log"), b"theirs".to_vec());
    assert_eq!(store.db.checkpoint(target()).unwrap_err().kind(), ErrorKind::Locked);
    assert_eq!(disk.list(building()).unwrap().len(), 2);
    // Its process dies.
    drop(held);
    store.db.checkpoint(target()).unwrap();
    assert_eq!(contents_of(&disk, target()), contents);
}

const WRITERS: usize = 8;

/// What the writers have had acknowledged.
#[derive(Default)]
struct Acked([AtomicU64; WRITERS]);

/// Writes counters, each with a batch across keyspaces, until told to stop.
fn write_counters(db: &Db, writer: usize, acked: &Acked, stop: &AtomicBool) {
    let (left, right) = (db.default_keyspace(), db.keyspace("right").unwrap());
    for count in 1_u64.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let key = format!("{writer}/{count:08}");
        let mut batch = WriteBatch::new();
        batch.put(&left, &key, count.to_be_bytes());
        batch.put(&right, &key, count.to_be_bytes());
        let durability = if count % 16 == 0 { Durability::Sync } else { Durability::Buffered };
        db.write_with(batch, durability).unwrap();
        acked.0[writer].store(count, Ordering::Release);
    }
}

/// Flushes, compacts, clears and drops beside the checkpoints.
fn disturb(db: &Db, stop: &AtomicBool) {
    for round in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let passing = db.keyspace("passing").unwrap();
        for key in 0..40_u32 {
            passing.put(key.to_be_bytes(), [7; 100]).unwrap();
        }
        match round % 4 {
            0 => db.flush().unwrap(),
            1 => db.default_keyspace().compact().unwrap(),
            2 => passing.clear().unwrap(),
            _ => db.drop_keyspace("passing").unwrap(),
        }
    }
}

fn check_counters(copy: &Db, least: &[u64; WRITERS]) {
    let (left, right) = (copy.default_keyspace(), copy.keyspace("right").unwrap());
    for (writer, least) in least.iter().enumerate() {
        let keys = |space: &kiban::Keyspace| {
            let pairs = space.prefix(format!("{writer}/")).map(|pair| pair.unwrap());
            pairs.map(|(key, _)| key.to_vec()).collect::<Vec<_>>()
        };
        let found = keys(&left);
        assert!(found.len() as u64 >= *least, "writer {writer}: {} of {least} acknowledged", found.len());
        let gap =
            found.iter().zip(1..).find(|(key, count)| **key != format!("{writer}/{count:08}").as_bytes());
        assert_eq!(gap, None, "writer {writer} has a gap");
        assert_eq!(found, keys(&right), "writer {writer}: half a batch");
    }
}

/// Reported as checkpoints, taken during writes or compactions, that do not open or lack
/// acknowledged writes.
#[test]
fn h48_checkpoints_under_writes_and_compactions_open_and_hold_all_that_was_acknowledged() {
    let disk = MemStorage::new(1);
    let settings = Settings { background_threads: 2, level0_stall_tables: 20, ..tiny() };
    let db = Db::builder(dir()).storage(Arc::new(disk.clone())).settings(settings).open().unwrap();
    let (acked, stop) = (Acked::default(), AtomicBool::new(false));
    /// Ends the writers also when an assertion fails.
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (db, acked, stop) = (&db, &acked, &stop);
            scope.spawn(move || write_counters(db, writer, acked, stop));
        }
        scope.spawn(|| disturb(&db, &stop));
        let _stop = Stop(&stop);
        for no in 0..30 {
            let least = std::array::from_fn(|writer| acked.0[writer].load(Ordering::Acquire));
            let copy = PathBuf::from(format!("/copies/{no}"));
            db.checkpoint(&copy).unwrap();
            let copy = open_at(&disk, &copy).unwrap();
            let report = copy.verify().unwrap();
            assert!(report.is_clean(), "{report:?}");
            check_counters(&copy, &least);
        }
    });
    db.wait_idle().unwrap();
    let report = db.verify().unwrap();
    assert!(report.is_clean(), "{report:?}");
    // Logs that had to wait for a checkpoint are gone.
    let logs = disk.list(dir()).unwrap().into_iter().filter(|entry| entry.name.ends_with(".log")).count();
    assert_eq!(logs as u64, db.stats().log_files);
}
