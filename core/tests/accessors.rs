//! Indexes of tables through the door for outsiders: built, attached, refused, wrong, and gone.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

#[path = "common/plain.rs"]
mod plain;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use kiban::accessor::conformance::Liar;
use kiban::accessor::{
    Accessor, AccessorBuilder, AccessorFile, AccessorFormat, Declined, FormatError, FormatId, Params, Plan,
    Residency, TableShape,
};
use kiban::storage::{MemStorage, Storage};
use kiban::{Db, ErrorKind, Event, IndexPolicy, KeyspaceOptions, Settings};

use plain::Plain;

/// The format `plain`, which does not like some numbers of keys.
#[derive(Debug, Default)]
struct Moody {
    opened: AtomicU64,
}

impl AccessorFormat for Moody {
    fn id(&self) -> FormatId {
        Plain.id()
    }
    fn name(&self) -> &str {
        Plain.name()
    }
    fn plan(&self, shape: &TableShape, params: &Params) -> Plan {
        Plain.plan(shape, params)
    }
    fn builder(
        &self,
        shape: &TableShape,
        params: &Params,
        seed: u64,
    ) -> Result<Box<dyn AccessorBuilder>, Declined> {
        match shape.keys {
            7 => Err(Declined::new("seven keys are unlucky")),
            13 => panic!("thirteen keys are worse"),
            _ => Plain.builder(shape, params, seed),
        }
    }
    fn open(&self, file: AccessorFile, residency: Residency) -> Result<Accessor, FormatError> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        Plain.open(file, residency)
    }
}

fn key(no: u32) -> Vec<u8> {
    format!("key-{:08x}", no.wrapping_mul(0x9E37_79B9)).into_bytes()
}

fn dir() -> &'static Path {
    Path::new("/store")
}

fn small() -> Settings {
    Settings {
        cache_bytes: 1 << 20,
        table_bytes: 16 << 10,
        memtable_bytes: 64 << 10,
        background_threads: 1,
        ..Settings::default()
    }
}

struct Opened {
    db: Db,
    format: Arc<Moody>,
    events: Arc<Mutex<Vec<Event>>>,
}

fn open(disk: &MemStorage, settings: Settings, policy: IndexPolicy) -> Opened {
    let format = Arc::new(Moody::default());
    let (db, events) = open_with(disk, format.clone(), settings, policy);
    Opened { db, format, events }
}

fn open_with(
    disk: &MemStorage,
    format: Arc<dyn AccessorFormat>,
    settings: Settings,
    policy: IndexPolicy,
) -> (Db, Arc<Mutex<Vec<Event>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = events.clone();
    let builder = Db::builder(dir()).storage(Arc::new(disk.clone())).settings(settings);
    let builder = builder.register(format).index_policy(policy);
    let builder = builder.on_event(Arc::new(move |event| heard.lock().unwrap().push(event.clone())));
    (builder.open().unwrap(), events)
}

fn always() -> IndexPolicy {
    IndexPolicy::always("plain")
}

const KEYS: u32 = 3_000;

fn fill(db: &Db) {
    let space = db.default_keyspace();
    for no in 0..KEYS {
        space.put(key(no), no.to_be_bytes()).unwrap();
    }
    for no in (0..KEYS).step_by(10) {
        space.delete(key(no)).unwrap();
    }
    db.flush().unwrap();
    db.wait_idle().unwrap();
}

/// Every key by every point read, and absent ones.
fn check(db: &Db) {
    let space = db.default_keyspace();
    let keys: Vec<_> = (0..KEYS + 500).map(key).collect();
    let many = space.multi_get(&keys).unwrap();
    for (no, many) in (0..KEYS + 500).zip(many) {
        let expected = (no < KEYS && no % 10 != 0).then(|| no.to_be_bytes().to_vec());
        assert_eq!(space.get(key(no)).unwrap().map(Vec::from), expected, "get {no}");
        assert_eq!(many.map(Vec::from), expected, "multi_get {no}");
        assert_eq!(space.contains(key(no)).unwrap(), expected.is_some(), "contains {no}");
    }
}

fn sidecars(disk: &MemStorage) -> Vec<PathBuf> {
    let names = disk.list(dir()).unwrap().into_iter().map(|entry| entry.name);
    names.filter(|name| name.ends_with(".plain")).map(|name| dir().join(name)).collect()
}

#[test]
fn every_table_gets_the_index_and_lookups_go_through_it() {
    for mmap_max_level in [None, Some(9)] {
        for cache_bytes in [8 << 20, 0] {
            let disk = MemStorage::new(1);
            let settings = Settings { mmap_max_level, cache_bytes, ..small() };
            let Opened { db, format, events } = open(&disk, settings.clone(), always());
            fill(&db);
            let tables: u64 = db.stats().keyspaces[0].levels.iter().map(|level| level.tables).sum();
            assert_eq!(sidecars(&disk).len() as u64, tables);
            check(&db);
            let counts = db.stats().accessors["plain"].clone();
            if cache_bytes == 0 && mmap_max_level.is_none() {
                assert_eq!((counts.tables, counts.lookups), (0, 0), "no room, no map: {counts:?}");
                assert!(counts.fallbacks > 0);
                let reason = db.default_keyspace().explain().unwrap()[0].reason.clone();
                assert!(reason.contains("asked by plain resident, 0 B left"), "{reason}");
                continue;
            }
            assert_eq!(counts.tables, tables, "{counts:?}");
            assert!(counts.hits > 0 && counts.absent > 0 && counts.refuted == 0 && counts.fallbacks == 0);
            assert_eq!(counts.mapped_bytes > 0, cache_bytes == 0);
            assert!(format.opened.load(Ordering::Relaxed) >= tables);
            assert!(events.lock().unwrap().iter().any(|event| matches!(event, Event::AccessorBuilt { .. })));
            let report = db.default_keyspace().explain().unwrap();
            assert_eq!(report.len() as u64, tables);
            assert!(report.iter().all(|table| table.active == "plain"), "{report:?}");
            db.close().unwrap();
            // What was built is taken again.
            let Opened { db, events, .. } = open(&disk, settings, always());
            db.wait_idle().unwrap();
            check(&db);
            assert!(events.lock().unwrap().iter().all(|event| !matches!(event, Event::AccessorBuilt { .. })));
            assert_eq!(db.stats().accessors["plain"].fallbacks, 0);
        }
    }
}

/// Missing, cut, with any bit changed, of another table: right answers, and it is built anew.
#[test]
fn a_sidecar_that_cannot_be_used_costs_no_answer_and_is_built_anew() {
    let disk = MemStorage::new(1);
    let Opened { db, .. } = open(&disk, small(), always());
    fill(&db);
    db.close().unwrap();
    drop(db);
    let paths = sidecars(&disk);
    let whole = disk.bytes(&paths[0]).unwrap();
    let mut damages: Vec<Vec<u8>> =
        vec![Vec::new(), whole[..whole.len() / 2].to_vec(), [&whole[..], b"x"].concat()];
    damages.push(disk.bytes(&paths[1]).unwrap());
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        damages.push(bytes);
    }
    for (no, damage) in damages.into_iter().enumerate() {
        let disk = disk.fork();
        disk.set_bytes(&paths[0], damage);
        disk.remove(&paths[2]).unwrap();
        let Opened { db, events, .. } = open(&disk, small(), always());
        check(&db);
        db.wait_idle().unwrap();
        check(&db);
        let refused =
            |event: &Event| matches!(event, Event::AccessorRefused { file, .. } if *file == paths[0]);
        assert_eq!(
            events.lock().unwrap().iter().filter(|event| refused(event)).count(),
            1,
            "damage {no} of {}",
            whole.len()
        );
        assert_eq!(disk.bytes(&paths[0]).unwrap(), whole, "built anew, byte for byte");
        assert!(sidecars(&disk).contains(&paths[2]));
    }
}

#[test]
fn an_index_that_lies_changes_no_answer_and_is_let_go() {
    let disk = MemStorage::new(1);
    for one_in in [1, 3, 50] {
        let liar = Arc::new(Liar::new(Arc::new(Plain), 1).one_in(one_in));
        let (db, _) = open_with(&disk.fork(), liar.clone(), small(), IndexPolicy::always("liar"));
        fill(&db);
        for _ in 0..3 {
            check(&db);
            db.wait_idle().unwrap();
        }
        assert!(liar.told() > 0);
        let counts = db.stats().accessors["liar"].clone();
        assert!(counts.refuted > 0, "{counts:?}");
        assert!(counts.fallbacks > 0, "it is no longer asked: {counts:?}");
        let explained = db.default_keyspace().explain().unwrap();
        assert!(explained.iter().any(|table| table.reason.contains("wrong about a key")), "{explained:?}");
    }
}

#[test]
fn a_sidecar_goes_with_its_table_and_a_policy_is_swapped_without_touching_data() {
    let disk = MemStorage::new(1);
    let Opened { db, .. } = open(&disk, small(), IndexPolicy::sorted_only());
    fill(&db);
    assert!(sidecars(&disk).is_empty());
    let space = db.default_keyspace();
    let tables = space.explain().unwrap().len() as u64;
    let report = space.reindex(always()).unwrap();
    assert_eq!((report.built, report.dropped), (tables, 0), "{report:?}");
    check(&db);
    assert_eq!(space.reindex(always()).unwrap().kept, tables);
    space.compact().unwrap();
    db.wait_idle().unwrap();
    check(&db);
    let live: Vec<_> = space.explain().unwrap().iter().map(|table| table.table).collect();
    let beside: Vec<_> = live.iter().map(|no| dir().join(format!("{no:08}.plain"))).collect();
    let mut found = sidecars(&disk);
    found.sort();
    assert_eq!(found, beside);
    let report = space.reindex(IndexPolicy::sorted_only()).unwrap();
    assert_eq!(report.dropped, beside.len() as u64);
    assert!(sidecars(&disk).is_empty());
    check(&db);
}

#[test]
fn a_format_may_decline_and_says_why() {
    let disk = MemStorage::new(1);
    let Opened { db, .. } = open(&disk, small(), always());
    let space = db.default_keyspace();
    (0..7).for_each(|no| space.put(key(no), b"v").unwrap());
    db.flush().unwrap();
    db.wait_idle().unwrap();
    let explained = space.explain().unwrap();
    assert!(explained[0].reason.contains("seven keys are unlucky"), "{explained:?}");
    assert_eq!(explained[0].active, "sorted");
    assert_eq!(space.get(key(3)).unwrap().unwrap(), b"v");
}

#[test]
fn a_format_that_panics_has_no_index_and_nobody_waits_for_it() {
    let Opened { db, events, .. } = open(&MemStorage::new(1), small(), always());
    let space = db.default_keyspace();
    (0..13).for_each(|no| space.put(key(no), b"v").unwrap());
    db.flush().unwrap();
    db.wait_idle().unwrap();
    assert!(space.explain().unwrap()[0].reason.contains("panicked"));
    let failed = |event: &Event| matches!(event, Event::BackgroundError { .. });
    assert_eq!(events.lock().unwrap().iter().filter(|event| failed(event)).count(), 1);
    assert_eq!(space.get(key(12)).unwrap().unwrap(), b"v");
}

#[test]
fn snapshots_read_older_versions_past_the_place_of_the_newest() {
    let disk = MemStorage::new(1);
    let Opened { db, .. } = open(&disk, small(), always());
    let space = db.default_keyspace();
    let mut snapshots = Vec::new();
    for version in 0..40_u32 {
        (0..50).for_each(|no| space.put(key(no), version.to_be_bytes()).unwrap());
        snapshots.push(db.snapshot());
    }
    space.compact().unwrap();
    db.wait_idle().unwrap();
    for (version, snapshot) in (0..40_u32).zip(&snapshots) {
        for no in 0..50 {
            assert_eq!(snapshot.get(&space, key(no)).unwrap().unwrap(), version.to_be_bytes());
        }
    }
    assert_eq!(db.stats().accessors["plain"].refuted, 0);
}

#[test]
fn an_open_without_the_format_of_a_stored_policy_names_the_keyspace() {
    let disk = MemStorage::new(1);
    let Opened { db, .. } = open(&disk, small(), IndexPolicy::sorted_only());
    db.keyspace_with("own", KeyspaceOptions::default().index_policy(always())).unwrap();
    db.close().unwrap();
    drop(db);
    let error = Db::builder(dir()).storage(Arc::new(disk)).settings(small()).open().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let message = error.to_string();
    assert!(message.contains("keyspace \"own\"") && message.contains("`plain`"), "{message}");
}

#[test]
fn a_table_whose_keys_do_not_fit_the_memory_for_builds_gets_its_index_all_the_same() {
    let settings = Settings {
        build_bytes: 150_000,
        table_bytes: 64 << 20,
        memtable_bytes: 16 << 20,
        background_threads: 1,
        ..Settings::default()
    };
    let disk = MemStorage::new(1);
    let open = |settings: &Settings| {
        let builder = Db::builder(dir()).storage(Arc::new(disk.clone())).settings(settings.clone());
        builder.index_policy(IndexPolicy::always("ph4")).open().unwrap()
    };
    let db = open(&settings);
    let space = db.default_keyspace();
    (0..30_000).for_each(|no| space.put(key(no), no.to_le_bytes()).unwrap());
    db.flush().unwrap();
    db.wait_idle().unwrap();
    let explained = space.explain().unwrap();
    assert!(explained.len() == 1 && explained[0].active == "ph4", "{explained:?}");
    (0..30_000).for_each(|no| assert_eq!(space.get(key(no)).unwrap().unwrap(), no.to_le_bytes()));
    assert!(db.verify().unwrap().is_clean());
    let path = dir().join(format!("{:08}.ph4", explained[0].table));
    let in_passes = disk.bytes(&path).unwrap();
    drop((space, db));
    disk.remove(&path).unwrap();
    let db = open(&Settings { build_bytes: 32 << 20, ..settings });
    db.wait_idle().unwrap();
    assert!(disk.bytes(&path).unwrap() == in_passes, "in one pass it is the same, byte for byte");
}
