//! Clearing and dropping keyspaces: what goes, what stays, and that it stays so.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;

use kiban::{Db, ErrorKind, Keyspace, Settings, WriteBatch};

fn open(dir: &Path) -> Db {
    let settings = Settings {
        memtable_bytes: 4 << 10,
        memtables_total_bytes: 16 << 10,
        table_bytes: 16 << 10,
        level0_tables: 2,
        level0_stall_tables: 8,
        ..Settings::default()
    };
    Db::builder(dir).settings(settings).open().unwrap()
}

fn fill(ks: &Keyspace, byte: u8) {
    for key in 0..500_u32 {
        ks.put(key.to_be_bytes(), [byte; 50]).unwrap();
    }
}

fn table_files(dir: &Path) -> usize {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().contains(".sst")).count()
}

#[test]
fn h03_a_cleared_keyspace_stays_empty_over_reopens() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let ks = db.default_keyspace();
    fill(&ks, 1);
    db.flush().unwrap();
    ks.put("unflushed", "x").unwrap();
    ks.clear().unwrap();
    assert_eq!((ks.iter().count(), ks.get("unflushed").unwrap()), (0, None));
    drop((ks, db));
    for _ in 0..2 {
        let db = open(dir.path());
        assert_eq!(db.default_keyspace().iter().count(), 0);
    }
    assert_eq!(table_files(dir.path()), 0);
    let db = open(dir.path());
    db.default_keyspace().put("k", "v").unwrap();
    drop(db);
    let db = open(dir.path());
    assert_eq!(db.default_keyspace().iter().count(), 1);
    assert!(db.verify().unwrap().is_clean());
}

#[test]
fn snapshots_and_iterators_from_before_a_clear_read_on_and_files_go_with_them() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let ks = db.default_keyspace();
    fill(&ks, 1);
    let (snapshot, iter) = (db.snapshot(), ks.iter());
    ks.clear().unwrap();
    fill(&ks, 2);
    let second = db.snapshot();
    ks.clear().unwrap();
    ks.put("k", "third").unwrap();
    for _ in 0..2 {
        assert!(snapshot.iter(&ks).all(|item| item.unwrap().1 == [1; 50]));
        assert_eq!(snapshot.iter(&ks).count(), 500);
        assert_eq!(snapshot.get(&ks, 7_u32.to_be_bytes()).unwrap().unwrap(), [1; 50]);
        assert_eq!(second.get(&ks, 7_u32.to_be_bytes()).unwrap().unwrap(), [2; 50]);
        assert_eq!(second.multi_get(&ks, &["k"]).unwrap(), [None]);
        assert_eq!(ks.iter().count(), 1);
        ks.compact().unwrap();
    }
    drop(snapshot);
    assert_eq!(second.iter(&ks).count(), 500);
    assert!(iter.map(|item| item.unwrap()).all(|(_, value)| value == [1; 50]));
    drop(second);
    db.wait_idle().unwrap();
    assert_eq!(table_files(dir.path()), 1);
    assert!(db.verify().unwrap().is_clean());
}

#[test]
fn a_dropped_keyspace_is_gone_its_name_is_free_and_old_readers_read_on() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let old = db.keyspace("events").unwrap();
    fill(&old, 1);
    let (snapshot, iter, value) = (db.snapshot(), old.iter(), old.get(3_u32.to_be_bytes()).unwrap().unwrap());
    db.drop_keyspace("events").unwrap();
    assert_eq!(old.get("k").unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(old.put("k", "v").unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(old.iter().next().unwrap().unwrap_err().kind(), ErrorKind::Closed);
    let mut batch = WriteBatch::new();
    batch.put(&db.default_keyspace(), "half", "x");
    batch.put(&old, "half", "x");
    assert_eq!(db.write(batch).unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(db.default_keyspace().get("half").unwrap(), None);
    assert_eq!(db.keyspaces().unwrap(), ["default"]);

    let new = db.keyspace("events").unwrap();
    assert_eq!(new.iter().count(), 0);
    assert_eq!(snapshot.iter(&new).count(), 0);
    new.put("k", "new").unwrap();
    assert_eq!(snapshot.iter(&old).count(), 500);
    assert_eq!(iter.count(), 500);
    assert_eq!(value, [1; 50]);
    drop((snapshot, old));
    db.flush().unwrap();
    db.wait_idle().unwrap();
    assert_eq!(table_files(dir.path()), 1);
    drop((new, db));
    let db = open(dir.path());
    assert_eq!(db.keyspace("events").unwrap().get("k").unwrap().unwrap(), "new");
    assert!(db.verify().unwrap().is_clean());
}

#[test]
fn only_a_keyspace_that_is_there_and_is_not_default_can_be_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    assert_eq!(db.drop_keyspace("default").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(db.drop_keyspace("missing").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn writers_flushes_and_compactions_run_beside_clears_and_drops() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let ks = db.default_keyspace();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..30_u8 {
                let space = db.keyspace("temporary").unwrap();
                fill(&space, round);
                db.drop_keyspace("temporary").unwrap();
            }
        });
        scope.spawn(|| {
            for round in 0..30_u8 {
                fill(&ks, round);
                if round % 3 == 0 {
                    ks.clear().unwrap();
                }
            }
        });
    });
    assert_eq!(ks.iter().count(), 500);
    assert!(ks.iter().all(|item| item.unwrap().1 == [29; 50]));
    db.flush().unwrap();
    db.wait_idle().unwrap();
    let tables: u64 =
        db.stats().keyspaces.iter().flat_map(|space| &space.levels).map(|level| level.tables).sum();
    assert_eq!(table_files(dir.path()) as u64, tables);
    assert!(db.verify().unwrap().is_clean());
    drop((ks, db));
    assert_eq!(open(dir.path()).default_keyspace().iter().count(), 500);
}

/// Bytes of all log files.
fn log_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries
        .filter(|entry| entry.path().extension().is_some_and(|end| end == "log"))
        .map(|entry| entry.metadata().unwrap().len())
        .sum()
}

#[test]
fn a_log_whose_operations_are_in_tables_or_cleared_or_dropped_goes() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path());
    let ks = db.default_keyspace();
    let mut batch = WriteBatch::new();
    (0..40_u32).for_each(|key| batch.put(&ks, key.to_be_bytes(), vec![7; 100 << 10]));
    db.write(batch.clone()).unwrap();
    db.wait_idle().unwrap();
    // All of it is in tables already: there is nothing left to flush.
    ks.flush().unwrap();
    assert_eq!(log_bytes(dir.path()), 0);
    db.write(batch).unwrap();
    ks.put("k", "v").unwrap();
    ks.clear().unwrap();
    assert_eq!(log_bytes(dir.path()), 0);
    let other = db.keyspace("other").unwrap();
    other.put("k", vec![7; 100 << 10]).unwrap();
    db.drop_keyspace("other").unwrap();
    assert_eq!(log_bytes(dir.path()), 0);
    ks.put("after", "v").unwrap();
    drop((ks, other, db));
    for _ in 0..2 {
        let db = open(dir.path());
        let ks = db.default_keyspace();
        assert_eq!(ks.iter().map(|item| item.unwrap().0.to_vec()).collect::<Vec<_>>(), [b"after"]);
        assert!(db.verify().unwrap().is_clean());
    }
}
