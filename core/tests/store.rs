//! The store as a program sees it: what is written is read, also after a reopen.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common {
    pub(crate) mod log_file;
}

use common::log_file::written;
use kiban::{Db, Durability, ErrorKind, Settings, WriteBatch};

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn what_is_written_is_read_before_and_after_a_reopen() {
    let dir = directory();
    let db = Db::open(dir.path()).unwrap();
    let ks = db.default_keyspace();
    ks.put("b", "2").unwrap();
    ks.put_with("a", "1", Durability::Sync).unwrap();
    ks.put("c", "3").unwrap();
    ks.delete("c").unwrap();
    for _ in 0..2 {
        let db = Db::open(dir.path());
        assert_eq!(db.unwrap_err().kind(), ErrorKind::Locked);
    }
    db.close().unwrap();
    assert_eq!(ks.get("a").unwrap_err().kind(), ErrorKind::Closed);

    let db = Db::open(dir.path()).unwrap();
    let ks = db.default_keyspace();
    assert_eq!(ks.get("a").unwrap().unwrap(), "1");
    assert_eq!(ks.get("b").unwrap().unwrap(), "2");
    assert_eq!(ks.get("c").unwrap(), None);
    let items: Vec<_> = ks.iter().map(|item| item.unwrap()).map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
    assert_eq!(items, [(b"a".to_vec(), b"1".to_vec()), (b"b".to_vec(), b"2".to_vec())]);
    assert_eq!(ks.multi_get(&["b", "x", "a"]).unwrap().iter().filter(|found| found.is_some()).count(), 2);
}

#[test]
fn opening_and_closing_without_a_write_changes_no_file() {
    let dir = directory();
    let files = |dir: &std::path::Path| {
        let mut files: Vec<_> = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| {
                (path.clone(), std::fs::read(&path).unwrap(), path.metadata().unwrap().modified().unwrap())
            })
            .collect();
        files.sort();
        files
    };
    let db = Db::open(dir.path()).unwrap();
    db.default_keyspace().put("k", "v").unwrap();
    drop(db);
    let before = files(dir.path());
    for _ in 0..100 {
        let db = Db::open(dir.path()).unwrap();
        assert!(db.default_keyspace().contains("k").unwrap());
        db.close().unwrap();
    }
    assert_eq!(files(dir.path()), before);
}

#[test]
fn later_operations_of_a_batch_win_and_expectations_hold_or_nothing_is_written() {
    let dir = directory();
    let db = Db::open(dir.path()).unwrap();
    let ks = db.default_keyspace();
    let mut batch = WriteBatch::new();
    batch.put(&ks, "k", "1");
    batch.delete(&ks, "k");
    batch.put(&ks, "k", "2");
    batch.put(&ks, "gone", "x");
    batch.delete(&ks, "gone");
    assert_eq!((batch.len(), batch.is_empty()), (5, false));
    db.write(batch).unwrap();
    assert_eq!(ks.get("k").unwrap().unwrap(), "2");
    assert_eq!(ks.get("gone").unwrap(), None);

    let mut swap = WriteBatch::new();
    swap.expect(&ks, "k", Some(b"2"));
    swap.expect(&ks, "gone", None);
    swap.put(&ks, "k", "3");
    db.write(swap.clone()).unwrap();
    assert_eq!(db.write(swap).unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(ks.get("k").unwrap().unwrap(), "3");
}

#[test]
fn a_snapshot_and_an_iterator_see_one_moment() {
    let dir = directory();
    let db = Db::open(dir.path()).unwrap();
    let ks = db.default_keyspace();
    ks.put("a", "old").unwrap();
    let snapshot = db.snapshot();
    let iter = ks.iter();
    ks.put("a", "new").unwrap();
    ks.put("b", "new").unwrap();
    db.flush().unwrap();
    assert_eq!(snapshot.get(&ks, "a").unwrap().unwrap(), "old");
    assert_eq!(snapshot.get(&ks, "b").unwrap(), None);
    assert_eq!(snapshot.iter(&ks).count(), 1);
    drop((snapshot, ks, db));
    let items: Vec<_> = iter.map(|item| item.unwrap().1.to_vec()).collect();
    assert_eq!(items, [b"old".to_vec()]);
}

#[test]
fn limits_are_checked_before_anything_is_logged() {
    let dir = directory();
    let db = Db::open(dir.path()).unwrap();
    let ks = db.default_keyspace();
    let key = vec![7; kiban::KEY_BYTES_MAX];
    ks.put(&key, "longest").unwrap();
    let too_long = vec![7; kiban::KEY_BYTES_MAX + 1];
    let log_bytes = db.stats().log_bytes;
    assert_eq!(ks.put(&too_long, "").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(ks.delete(&too_long).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let mut batch = WriteBatch::new();
    batch.put(&ks, "fine", "x");
    batch.put(&ks, &too_long, "x");
    assert_eq!(db.write(batch).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(db.stats().log_bytes, log_bytes);
    assert_eq!(ks.get(&too_long).unwrap(), None);
    assert_eq!(ks.get("fine").unwrap(), None);
    assert_eq!(ks.get(&key).unwrap().unwrap(), "longest");
}

#[test]
fn keyspaces_are_apart_and_a_batch_spans_them() {
    let dir = directory();
    {
        let db = Db::open(dir.path()).unwrap();
        let (ks, other) = (db.default_keyspace(), db.keyspace("other").unwrap());
        let mut batch = WriteBatch::new();
        batch.put(&ks, "k", "default");
        batch.put(&other, "k", "other");
        db.write(batch).unwrap();
        other.flush().unwrap();
        assert_eq!(db.keyspaces().unwrap(), ["default", "other"]);
    }
    let db = Db::open(dir.path()).unwrap();
    assert_eq!(db.default_keyspace().get("k").unwrap().unwrap(), "default");
    assert_eq!(db.keyspace("other").unwrap().get("k").unwrap().unwrap(), "other");
    for name in ["", "a\nb", &"x".repeat(256)] {
        assert_eq!(db.keyspace(name).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

#[test]
fn a_keyspace_that_keeps_an_old_log_is_flushed_when_the_logs_are_too_long() {
    let dir = directory();
    let settings = Settings {
        memtable_bytes: 64 << 10,
        memtables_total_bytes: 1 << 20,
        log_bytes_max: 256 << 10,
        ..Settings::default()
    };
    let db = Db::builder(dir.path()).settings(settings).open().unwrap();
    let (quiet, busy) = (db.keyspace("quiet").unwrap(), db.default_keyspace());
    quiet.put("k", "v").unwrap();
    for key in 0..2_000_u32 {
        busy.put(key.to_be_bytes(), [7; 1000]).unwrap();
    }
    db.wait_idle().unwrap();
    let log_bytes = db.stats().log_bytes;
    assert!(log_bytes < 512 << 10, "{log_bytes} bytes of log");
    assert_eq!(quiet.get("k").unwrap().unwrap(), b"v");
}

#[test]
fn a_handle_of_another_store_is_refused() {
    let (one, two) = (directory(), directory());
    let (one, two) = (Db::open(one.path()).unwrap(), Db::open(two.path()).unwrap());
    let mut batch = WriteBatch::new();
    batch.put(&two.default_keyspace(), "k", "v");
    assert_eq!(one.write(batch).unwrap_err().kind(), ErrorKind::InvalidArgument);
    let foreign = one.snapshot().get(&two.default_keyspace(), "k");
    assert_eq!(foreign.unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn reading_only_reads_the_log_and_changes_nothing() {
    let dir = directory();
    let missing = dir.path().join("missing");
    let reader = |path: &std::path::Path| Db::builder(path).read_only(true).open();
    assert_eq!(reader(&missing).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(reader(dir.path()).unwrap_err().kind(), ErrorKind::NotFound);
    let db = Db::open(dir.path()).unwrap();
    db.default_keyspace().put("k", "v").unwrap();
    assert_eq!(reader(dir.path()).unwrap_err().kind(), ErrorKind::Locked);
    drop(db);
    let (one, two) = (reader(dir.path()).unwrap(), reader(dir.path()).unwrap());
    assert_eq!(one.default_keyspace().get("k").unwrap().unwrap(), "v");
    assert_eq!(two.default_keyspace().put("k", "w").unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(two.flush().unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(Db::open(dir.path()).unwrap_err().kind(), ErrorKind::Locked);
}

#[test]
fn a_directory_that_is_no_store_is_refused_and_left_alone() {
    let dir = directory();
    let file = dir.path().join("letter.txt");
    std::fs::write(&file, "dear").unwrap();
    assert_eq!(Db::open(dir.path()).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    assert_eq!(std::fs::read(&file).unwrap(), b"dear");
    let nothing = Db::builder(dir.path().join("new")).create_if_missing(false).open();
    assert_eq!(nothing.unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn verify_reads_everything_and_names_the_damaged_file() {
    let dir = directory();
    let db = Db::open(dir.path()).unwrap();
    let ks = db.default_keyspace();
    for key in 0..1000_u32 {
        ks.put(key.to_be_bytes(), [7; 50]).unwrap();
    }
    ks.flush().unwrap();
    ks.put("in the log", "x").unwrap();
    db.wait_idle().unwrap();
    let report = db.verify().unwrap();
    assert!(report.is_clean(), "{report:?}");
    let on_disk: u64 =
        std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    // Pointer, manifest, log, table, and its index if the policy wants one.
    let files = std::fs::read_dir(dir.path()).unwrap().count() as u64 - 1;
    assert!(files >= 4);
    assert_eq!((report.files, report.bytes), (files, on_disk));
    let names = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
    for path in names.filter(|path| !path.ends_with("LOCK")) {
        let whole = std::fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        // The room that the log has reserved is no part of it.
        bytes[written(&whole).len() / 2] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let report = db.verify().unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(report.problems.iter().any(|problem| problem.file == name), "{name}: {report:?}");
        std::fs::write(&path, &whole).unwrap();
    }
    assert!(db.verify().unwrap().is_clean());
}

#[test]
fn handles_print_in_one_line() {
    let dir = directory();
    let db = Db::open(dir.path()).unwrap();
    let ks = db.default_keyspace();
    (0..500_u32).for_each(|key| ks.put(key.to_be_bytes(), [7; 50]).unwrap());
    for text in [format!("{db:?}"), format!("{ks:?}"), format!("{:?}", db.snapshot())] {
        assert!(text.len() < 400, "{text}");
    }
}

#[test]
fn many_short_sessions_leave_few_log_files() {
    let dir = directory();
    let other = |db: &Db| db.keyspace("other").unwrap();
    for session in 0..40_u32 {
        let db = Db::open(dir.path()).unwrap();
        db.default_keyspace().put(session.to_be_bytes(), "x").unwrap();
        other(&db).put(session.to_be_bytes(), "y").unwrap();
        assert!(db.stats().log_files <= 10, "session {session}: {} files", db.stats().log_files);
    }
    let db = Db::open(dir.path()).unwrap();
    assert_eq!((db.default_keyspace().iter().count(), other(&db).iter().count()), (40, 40));
    assert!(db.verify().unwrap().is_clean());
}
