//! Files of indexes that are not what they should be: what `verify` says of them, and what reads say all the same.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use kiban::accessor::conformance::with_header;
use kiban::storage::{MemStorage, Storage};
use kiban::{Db, Event, IndexPolicy, Keyspace, Settings, VerifyReport};

const KEYS: u32 = 600;

/// How a store is read: indexes on the heap and pages by `pread`, or both mapped.
const MAPPED: [bool; 2] = [false, true];

fn dir() -> &'static Path {
    Path::new("/store")
}

fn sidecars(disk: &MemStorage) -> Vec<PathBuf> {
    let names = disk.list(dir()).unwrap().into_iter().map(|entry| entry.name);
    names.filter(|name| name.ends_with(".ph4")).map(|name| dir().join(name)).collect()
}

struct Opened {
    db: Db,
    refused: Arc<Mutex<Vec<(PathBuf, String)>>>,
}

fn open(disk: &MemStorage, is_mapped: bool, read_only: bool) -> Opened {
    let settings = Settings {
        cache_bytes: 1 << 20,
        background_threads: 1,
        mmap_max_level: is_mapped.then_some(u32::MAX),
        ..Settings::default()
    };
    let residency = if is_mapped { "mapped" } else { "resident" };
    let policy = format!("[[rule]]\nbuild = [\"ph4\"]\nresidency = \"{residency}\"");
    let refused: Arc<Mutex<Vec<_>>> = Arc::default();
    let heard = refused.clone();
    let listener = move |event: &Event| {
        if let Event::AccessorRefused { file, reason, .. } = event {
            heard.lock().unwrap().push((file.clone(), reason.clone()));
        }
    };
    let builder = Db::builder(dir()).storage(Arc::new(disk.clone())).settings(settings);
    let builder = builder.index_policy(IndexPolicy::from_toml(&policy).unwrap());
    let db = builder.read_only(read_only).on_event(Arc::new(listener)).open().unwrap();
    Opened { db, refused }
}

fn key(space: &str, no: u32) -> Vec<u8> {
    format!("{space}-{no:05}").into_bytes()
}

/// Two keyspaces of one table each, with as many keys; closed.
fn store() -> MemStorage {
    let disk = MemStorage::new(1);
    let Opened { db, .. } = open(&disk, false, false);
    for space in [db.default_keyspace(), db.keyspace("other").unwrap()] {
        for no in 0..KEYS {
            space.put(key(space.name(), no), no.to_le_bytes()).unwrap();
        }
        space.flush().unwrap();
    }
    db.wait_idle().unwrap();
    db.close().unwrap();
    assert_eq!(sidecars(&disk).len(), 2);
    disk
}

fn check(space: &Keyspace) {
    let keys: Vec<_> = (0..KEYS + 50).map(|no| key(space.name(), no)).collect();
    let many = space.multi_get(&keys).unwrap();
    for ((no, key), many) in (0..).zip(&keys).zip(many) {
        let expected = (no < KEYS).then(|| no.to_le_bytes());
        let expected = expected.as_ref().map(|value| &value[..]);
        assert_eq!(space.get(key).unwrap().as_deref(), expected, "get of {}", key.escape_ascii());
        assert_eq!(many.as_deref(), expected, "multi_get of {}", key.escape_ascii());
    }
}

fn check_all(db: &Db) {
    [db.default_keyspace(), db.keyspace("other").unwrap()].iter().for_each(check);
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Whether something is wrong with this file, and with no other.
fn blames(report: &VerifyReport, path: &Path) -> bool {
    !report.is_clean() && report.problems.iter().all(|problem| problem.file == name(path))
}

#[test]
fn verify_counts_sidecars_and_says_nothing_of_those_that_are_whole_or_gone() {
    let disk = store();
    let files = |disk: &MemStorage| {
        let report = open(disk, false, true).db.verify().unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
        report.files
    };
    let all = files(&disk);
    disk.remove(&sidecars(&disk)[0]).unwrap();
    assert_eq!(files(&disk), all - 1);
}

/// Its checksums and its owner are right, but it was made of another table.
#[test]
fn verify_finds_an_index_that_says_what_a_scan_of_its_table_does_not() {
    let disk = store();
    let paths = sidecars(&disk);
    let [first, second] = [0, 1].map(|no: usize| disk.bytes(&paths[no]).unwrap());
    let mut owner = None;
    with_header(&first, |header| owner = Some(*header)).unwrap();
    let foreign = with_header(&second, |header| *header = owner.unwrap()).unwrap();
    assert!(foreign != first);
    disk.set_bytes(&paths[0], foreign);
    for is_mapped in MAPPED {
        let report = open(&disk, is_mapped, true).db.verify().unwrap();
        assert!(blames(&report, &paths[0]), "{:?}", report.problems);
        let problem = &report.problems[0];
        assert!(problem.section == "accessor file" && problem.what.contains("default-00"), "{problem:?}");
        assert!(report.problems.len() <= 100, "a file that is wrong all over is not told key by key");
    }
}

#[test]
fn a_sidecar_of_an_unknown_format_is_checked_kept_and_goes_with_its_table() {
    let disk = store();
    let path = sidecars(&disk).remove(0);
    let unknown = path.with_extension("someones");
    let bytes = with_header(&disk.bytes(&path).unwrap(), |header| header.format_id = 1 << 20).unwrap();
    disk.set_bytes(&unknown, bytes.clone());
    assert!(open(&disk, false, true).db.verify().unwrap().is_clean());
    let mut flipped = bytes.clone();
    flipped[100] ^= 4;
    disk.set_bytes(&unknown, flipped);
    let report = open(&disk, false, true).db.verify().unwrap();
    assert!(blames(&report, &unknown), "{:?}", report.problems);
    disk.set_bytes(&unknown, bytes);

    let Opened { db, refused } = open(&disk, false, false);
    db.wait_idle().unwrap();
    check_all(&db);
    assert!(disk.bytes(&unknown).is_ok(), "it is somebody else's");
    db.default_keyspace().clear().unwrap();
    db.keyspace("other").unwrap().clear().unwrap();
    db.wait_idle().unwrap();
    assert!(disk.bytes(&unknown).is_err(), "its table has gone");
    assert_eq!(sidecars(&disk), Vec::<PathBuf>::new());
    assert_eq!(*refused.lock().unwrap(), []);
}

/// A newer version is refused in so many words; whoever only reads changes no file, and who writes builds anew.
#[test]
fn h50_a_sidecar_of_a_newer_version_is_refused_by_number_and_built_anew() {
    let disk = store();
    let path = sidecars(&disk).remove(0);
    let whole = disk.bytes(&path).unwrap();
    let newer = with_header(&whole, |header| header.format_version += 1).unwrap();
    for is_mapped in MAPPED {
        disk.set_bytes(&path, newer.clone());
        let Opened { db, refused } = open(&disk, is_mapped, true);
        check_all(&db);
        let told = refused.lock().unwrap().clone();
        assert!(told.len() == 1 && told[0].0 == path, "{told:?}");
        assert!(told[0].1.contains("found 2, this build reads 1-1"), "{told:?}");
        let counts = db.stats().accessors["ph4"].clone();
        assert!(counts.fallbacks > 0 && counts.hits > 0, "one table has an index: {counts:?}");
        drop(db);
        assert!(disk.bytes(&path).unwrap() == newer, "a reader changed a file");

        let Opened { db, refused } = open(&disk, is_mapped, false);
        db.wait_idle().unwrap();
        check_all(&db);
        assert_eq!(refused.lock().unwrap().len(), 1);
        assert!(disk.bytes(&path).unwrap() == whole, "built anew");
        assert!(db.verify().unwrap().is_clean());
    }
}

/// What `reindex` finds gone it builds; what the new policy does not want goes, and may have gone already.
#[test]
fn sidecars_that_vanish_under_an_open_store_cost_no_answer_and_come_back() {
    for is_mapped in MAPPED {
        let disk = store();
        let Opened { db, .. } = open(&disk, is_mapped, false);
        db.wait_idle().unwrap();
        let paths = sidecars(&disk);
        paths.iter().for_each(|path| disk.remove(path).unwrap());
        check_all(&db);
        assert!(db.verify().unwrap().is_clean());
        let space = db.default_keyspace();
        let report = space.reindex(IndexPolicy::always("ph4")).unwrap();
        assert_eq!((report.built, report.kept), (1, 0), "{report:?}");
        assert_eq!(sidecars(&disk).len(), 1);
        sidecars(&disk).iter().for_each(|path| disk.remove(path).unwrap());
        let report = space.reindex(IndexPolicy::sorted_only()).unwrap();
        assert_eq!((report.built, report.kept, report.dropped), (0, 0, 0), "{report:?}");
        check_all(&db);
        space.compact().unwrap();
        db.keyspace("other").unwrap().compact().unwrap();
        db.wait_idle().unwrap();
        check_all(&db);
    }
}
