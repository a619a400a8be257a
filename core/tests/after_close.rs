//! What a closed store still holds must not touch the directory, which is somebody else's by then.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;

use kiban::{Db, ErrorKind, Settings};

fn open(dir: &Path) -> Db {
    let settings = Settings { table_bytes: 4 << 10, background_threads: 1, ..Settings::default() };
    Db::builder(dir).settings(settings).open().unwrap()
}

/// Another store in the same place, which gives its files the same numbers; closed again.
fn replace_store(dir: &Path) {
    std::fs::remove_dir_all(dir).unwrap();
    let db = open(dir);
    for round in 0..8_u32 {
        db.default_keyspace().put(round.to_be_bytes(), "new").unwrap();
        db.flush().unwrap();
    }
    db.wait_idle().unwrap();
    db.close().unwrap();
}

fn check_replaced(dir: &Path) {
    let db = open(dir);
    assert_eq!(db.default_keyspace().iter().map(kiban::Result::unwrap).count(), 8);
    let report = db.verify().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

#[test]
fn an_iterator_that_outlives_its_store_removes_no_table_of_the_next_one() {
    for flushes in 1..12_u32 {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("store");
        let db = open(&dir);
        let ks = db.default_keyspace();
        for round in 0..flushes {
            ks.put(round.to_be_bytes(), "old").unwrap();
            db.flush().unwrap();
        }
        let pinned = ks.iter();
        ks.compact().unwrap();
        db.close().unwrap();
        replace_store(&dir);
        drop(pinned);
        check_replaced(&dir);
    }
}

#[test]
fn an_ingest_that_a_close_cuts_short_removes_no_table_of_the_next_store() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("store");
    let db = open(&dir);
    let pairs = (0..1_000_u32).map(|no| {
        if no == 900 {
            db.close().unwrap();
            replace_store(&dir);
        }
        (no.to_be_bytes(), [7; 100])
    });
    let error = db.default_keyspace().ingest(pairs).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    check_replaced(&dir);
}
