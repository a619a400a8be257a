//! Levels: what compaction keeps, what it drops, and that space comes back.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;
use std::path::Path;

use kiban::{Db, Keyspace, Settings, Snapshot, WriteBatch};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn small() -> Settings {
    Settings {
        cache_bytes: 0,
        memtable_bytes: 4 << 10,
        memtables_total_bytes: 16 << 10,
        table_bytes: 16 << 10,
        level_ratio: 4,
        level0_tables: 2,
        level0_stall_tables: 8,
        background_threads: 2,
        ..Settings::default()
    }
}

/// The same, read by `pread` and through maps.
fn in_both_read_modes() -> [Settings; 2] {
    [small(), Settings { mmap_max_level: Some(u32::MAX), ..small() }]
}

fn open(dir: &Path, settings: Settings) -> Db {
    Db::builder(dir).settings(settings).open().unwrap()
}

/// A generator of numbers, the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(0x9E37_79B9_7F4A_7C15);
        (self.0 >> 33) % end
    }
}

fn dump(items: kiban::Iter) -> Model {
    items.map(|item| item.unwrap()).map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

fn check(ks: &Keyspace, model: &Model) {
    assert_eq!(dump(ks.iter()), *model);
    assert_eq!(dump(ks.iter()), dump_reverse(ks));
    for key in 0..400_u64 {
        let key = format!("key{key:04}");
        assert_eq!(ks.get(&key).unwrap().as_deref(), model.get(key.as_bytes()).map(Vec::as_slice), "{key}");
    }
}

fn dump_reverse(ks: &Keyspace) -> Model {
    ks.iter().rev().map(|item| item.unwrap()).map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

fn tables(dir: &Path) -> Vec<String> {
    let names =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.contains(".sst")).collect()
}

/// Replaced files go with their last reader; a thread of the background may be that for a moment.
fn check_files(dir: &Path, count: usize) {
    let start = std::time::Instant::now();
    while tables(dir).len() != count && start.elapsed().as_secs() < 5 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(tables(dir).len(), count, "files that nothing names");
}

fn table_count(db: &Db) -> usize {
    db.stats().keyspaces.iter().flat_map(|space| &space.levels).map(|level| level.tables as usize).sum()
}

fn table_bytes(db: &Db) -> u64 {
    db.stats().keyspaces.iter().flat_map(|space| &space.levels).map(|level| level.bytes).sum()
}

#[test]
fn random_writes_through_the_levels_agree_with_a_map_and_with_snapshots() {
    for seed in 1..3 {
        let dir = tempfile::tempdir().unwrap();
        let mut random = Random(seed);
        let mut model = Model::new();
        let mut snapshots: Vec<(Snapshot, Model)> = Vec::new();
        let mut db = open(dir.path(), small());
        for step in 0..12_000 {
            let ks = db.default_keyspace();
            let key = format!("key{:04}", random.below(400)).into_bytes();
            match random.below(10) {
                0..=6 => {
                    let value = format!("{step}:").repeat(1 + random.below(20) as usize).into_bytes();
                    ks.put(&key, &value).unwrap();
                    model.insert(key, value);
                }
                _ => {
                    ks.delete(&key).unwrap();
                    model.remove(&key);
                }
            }
            match random.below(3000) {
                0 => snapshots.push((db.snapshot(), model.clone())),
                1 => snapshots.truncate(1),
                2 => db.flush().unwrap(),
                3 => ks.compact().unwrap(),
                4 => ks.compact_range("key0100".."key0200").unwrap(),
                5 => {
                    snapshots.clear();
                    drop(ks);
                    db.close().unwrap();
                    db = open(dir.path(), small());
                }
                _ => {}
            }
            if step % 3000 == 0 {
                check(&db.default_keyspace(), &model);
            }
        }
        let ks = db.default_keyspace();
        check(&ks, &model);
        for (snapshot, seen) in &snapshots {
            assert_eq!(dump(snapshot.iter(&ks)), *seen, "seed {seed}");
        }
        db.wait_idle().unwrap();
        assert!(db.stats().keyspaces[0].levels.len() > 1, "seed {seed}: nothing went below level 0");
        assert!(db.verify().unwrap().is_clean());
        snapshots.clear();
        ks.compact().unwrap();
        check(&ks, &model);
        check_files(dir.path(), table_count(&db));
        let stats = db.stats();
        let keys: u64 = stats.keyspaces[0].levels.iter().map(|level| level.entries).sum();
        assert_eq!(keys as usize, model.len(), "old versions or tombstones are left");
    }
}

#[test]
fn h01_full_compaction_brings_no_deleted_key_back() {
    for settings in in_both_read_modes() {
        delete_all_and_compact(Settings { memtable_bytes: 64 << 10, table_bytes: 64 << 10, ..settings });
    }
}

fn delete_all_and_compact(settings: Settings) {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path(), settings.clone());
    let ks = db.default_keyspace();
    for range in ["a", "b"] {
        for first in (0..4000).step_by(500) {
            let mut batch = WriteBatch::new();
            (first..first + 500).for_each(|key| batch.put(&ks, format!("{range}{key:05}"), [1; 100]));
            db.write(batch).unwrap();
        }
    }
    for range in ["a", "b"] {
        for first in (0..4000).step_by(500) {
            let mut batch = WriteBatch::new();
            (first..first + 500).for_each(|key| batch.delete(&ks, format!("{range}{key:05}")));
            db.write(batch).unwrap();
        }
    }
    assert_eq!(ks.iter().count(), 0);
    ks.compact().unwrap();
    assert_eq!(ks.iter().count(), 0);
    drop((ks, db));
    let db = open(dir.path(), settings);
    assert_eq!(db.default_keyspace().iter().count(), 0);
    assert_eq!(db.default_keyspace().get("a00001").unwrap(), None);
}

#[test]
fn h05_bottom_compaction_keeps_what_a_snapshot_sees_under_a_tombstone() {
    for settings in in_both_read_modes() {
        delete_under_a_snapshot(settings);
    }
}

fn delete_under_a_snapshot(settings: Settings) {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path(), settings);
    let ks = db.default_keyspace();
    ks.put("k", "v").unwrap();
    let snapshot = db.snapshot();
    ks.delete("k").unwrap();
    ks.compact().unwrap();
    ks.compact().unwrap();
    assert_eq!(snapshot.get(&ks, "k").unwrap().unwrap(), "v");
    assert_eq!(snapshot.iter(&ks).count(), 1);
    assert_eq!(ks.get("k").unwrap(), None);
    drop(snapshot);
    ks.compact().unwrap();
    assert_eq!(ks.get("k").unwrap(), None);
    assert_eq!(table_count(&db), 0);
}

#[test]
fn h08_versions_of_one_key_stay_in_one_table_and_in_order() {
    for settings in in_both_read_modes() {
        compact_around_a_hot_key(settings);
    }
}

fn compact_around_a_hot_key(settings: Settings) {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path(), settings);
    let ks = db.default_keyspace();
    let mut random = Random(8);
    let mut snapshots = Vec::new();
    for version in 0..2000_u64 {
        ks.put("hot", version.to_string().repeat(50)).unwrap();
        ks.put(format!("h{}", random.below(1000)), [0; 30]).unwrap();
        if version % 100 == 0 {
            snapshots.push((db.snapshot(), version));
        }
    }
    for round in 0..20 {
        let bounds = [random.below(1000), random.below(1000)].map(|bound| format!("h{bound}"));
        let (low, high) = (bounds.iter().min().unwrap(), bounds.iter().max().unwrap());
        ks.compact_range(low.as_str()..=high.as_str()).unwrap();
        assert_eq!(ks.get("hot").unwrap().unwrap(), "1999".repeat(50).as_str(), "round {round}");
        assert_eq!(ks.prefix("hot").count(), 1);
        for (snapshot, version) in &snapshots {
            assert_eq!(snapshot.get(&ks, "hot").unwrap().unwrap(), version.to_string().repeat(50).as_str());
        }
    }
    assert!(db.verify().unwrap().is_clean());
}

#[test]
fn h45_space_comes_back_without_a_reopen() {
    let dir = tempfile::tempdir().unwrap();
    let db =
        open(dir.path(), Settings { memtable_bytes: 256 << 10, memtables_total_bytes: 1 << 20, ..small() });
    let ks = db.default_keyspace();
    let mut held = None;
    for round in 0..6_u8 {
        for key in 0..1000_u32 {
            ks.put(key.to_be_bytes(), [round; 1024]).unwrap();
        }
        match round {
            2 => held = Some(ks.iter()),
            4 => held = None,
            _ => {}
        }
    }
    drop(held);
    ks.compact().unwrap();
    let live = 1000 * 1028;
    assert!(table_bytes(&db) <= 2 * live, "{} bytes", table_bytes(&db));
    check_files(dir.path(), table_count(&db));
    (0..1000_u32).for_each(|key| ks.delete(key.to_be_bytes()).unwrap());
    ks.compact().unwrap();
    assert_eq!(table_bytes(&db), 0);
    check_files(dir.path(), 0);
}

#[test]
fn h44_one_background_thread_keeps_up_and_drains_when_writing_stops() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(
        dir.path(),
        Settings {
            background_threads: 1,
            memtable_bytes: 1 << 20,
            memtables_total_bytes: 4 << 20,
            table_bytes: 1 << 20,
            ..small()
        },
    );
    let ks = db.default_keyspace();
    let mut random = Random(44);
    for _ in 0..200 {
        ks.put(random.below(1 << 40).to_be_bytes(), vec![7; 256 << 10]).unwrap();
    }
    db.flush().unwrap();
    db.wait_idle().unwrap();
    assert!(db.stats().keyspaces[0].levels[0].tables < 2);
    assert_eq!(ks.iter().count(), 200);
}

#[test]
fn a_reader_of_moved_and_replaced_tables_reads_on() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path(), small());
    let ks = db.default_keyspace();
    for key in 0..2000_u32 {
        ks.put(key.to_be_bytes(), [1; 40]).unwrap();
    }
    db.flush().unwrap();
    db.wait_idle().unwrap();
    // Opens nothing yet: the tables are opened while they are read, after they were replaced.
    let before = ks.iter();
    for key in 0..2000_u32 {
        ks.put(key.to_be_bytes(), [2; 40]).unwrap();
    }
    ks.compact().unwrap();
    assert!(before.map(|item| item.unwrap()).all(|(_, value)| value == [1; 40]));
    assert_eq!(ks.iter().count(), 2000);
    check_files(dir.path(), table_count(&db));
}
