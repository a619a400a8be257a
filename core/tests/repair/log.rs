//! What repair takes from the log, and from tables whose place among it matters.

use std::collections::BTreeSet;
use std::sync::Arc;

use kiban::storage::{MemStorage, Storage};
use kiban::{Db, ErrorKind, Settings};

use crate::store::{Store, dir, tiny};
use crate::{Pairs, contents, names, open, path, repair};

#[test]
fn what_a_lost_table_had_is_taken_from_the_log_where_that_has_it_still() {
    let disk = MemStorage::new(1);
    let settings = Settings {
        log_bytes_max: 1 << 20,
        memtable_bytes: 8 << 10,
        memtables_total_bytes: 64 << 10,
        ..tiny()
    };
    let store = Store::open(Arc::new(disk.clone()), settings).unwrap();
    // The other keyspace is never flushed and keeps the whole log.
    store.spaces[1].put("keeps", "the log").unwrap();
    let mut expected = Pairs::new();
    for no in 0..300_u32 {
        let (key, value) = ((no % 100).to_be_bytes(), [no as u8; 100]);
        store.spaces[0].put(key, value).unwrap();
        expected.insert(key.to_vec(), value.to_vec());
    }
    store.spaces[0].delete(7_u32.to_be_bytes()).unwrap();
    expected.remove(&7_u32.to_be_bytes()[..]);
    store.spaces[0].flush().unwrap();
    store.db.wait_idle().unwrap();
    store.db.close().unwrap();
    let tables = names(&disk, ".sst");
    assert!(!tables.is_empty());
    for table in tables {
        let disk = disk.fork();
        disk.remove(&path(&table)).unwrap();
        let report = repair(&disk).unwrap();
        assert!(report.records_from_log > 300, "{report:?}");
        let found = contents(&disk);
        assert!(found["default"] == expected);
        assert_eq!(found["other"].len(), 1);
    }
}

/// Of a lost table and a log cut short only the older half of the log is left: what it says must not
/// hide what newer tables say.
#[test]
fn an_old_log_does_not_hide_newer_tables() {
    let disk = MemStorage::new(1);
    let settings = Settings {
        log_bytes_max: 1 << 20,
        memtable_bytes: 8 << 10,
        memtables_total_bytes: 64 << 10,
        ..tiny()
    };
    let settings = Settings { level0_tables: 100, ..settings };
    let store = Store::open(Arc::new(disk.clone()), settings).unwrap();
    store.spaces[1].put("keeps", "the log").unwrap();
    let mut newest = Pairs::new();
    for no in 0..400_u32 {
        let (key, value) = ((no % 100).to_be_bytes(), no.to_be_bytes().repeat(25));
        store.spaces[0].put(key, &value).unwrap();
        newest.insert(key.to_vec(), value);
    }
    store.spaces[0].flush().unwrap();
    store.db.wait_idle().unwrap();
    store.db.close().unwrap();
    drop(store);
    let (table, log) = (names(&disk, ".sst")[0].clone(), names(&disk, ".log")[0].clone());
    assert!(names(&disk, ".sst").len() > 3);
    disk.remove(&path(&table)).unwrap();
    let mut bytes = disk.bytes(&path(&log)).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    disk.set_bytes(&path(&log), bytes);
    let report = repair(&disk).unwrap();
    assert!(report.records_from_log > 30 && !report.rebuilt, "{report:?}");
    assert!(contents(&disk)["default"] == newest);
}

#[test]
fn what_the_log_says_was_cleared_stays_cleared() {
    let disk = MemStorage::new(1);
    let store = Store::open(Arc::new(disk.clone()), Settings { log_bytes_max: 1 << 20, ..tiny() }).unwrap();
    // It keeps the log.
    store.spaces[1].put("k", "v").unwrap();
    for no in 0..100_u32 {
        store.spaces[0].put(no.to_be_bytes(), [1; 100]).unwrap();
    }
    store.spaces[0].flush().unwrap();
    store.spaces[0].clear().unwrap();
    store.spaces[0].put("after", "the clear").unwrap();
    store.db.close().unwrap();
    drop(store);
    disk.remove(&path(&names(&disk, "MANIFEST").pop().unwrap())).unwrap();
    let report = repair(&disk).unwrap();
    assert!(report.records_from_log > 100, "{report:?}");
    let found = contents(&disk);
    assert_eq!((found["default"].len(), found["recovered-1"].len()), (1, 1));
}

#[test]
fn a_log_that_is_damaged_in_the_middle_is_read_up_to_there() {
    let template = MemStorage::new(1);
    let db =
        Db::builder(dir()).storage(Arc::new(template.clone())).settings(Settings { ..Settings::default() });
    let db = db.open().unwrap();
    let (left, right) = (db.default_keyspace(), db.keyspace("other").unwrap());
    for no in 0..100_u32 {
        let mut batch = kiban::WriteBatch::new();
        batch.put(&left, no.to_be_bytes(), [1; 50]);
        batch.put(&right, no.to_be_bytes(), [2; 50]);
        db.write(batch).unwrap();
    }
    db.close().unwrap();
    let log = names(&template, ".log").pop().unwrap();
    let bytes = template.bytes(&path(&log)).unwrap();
    let mut counts = BTreeSet::new();
    for part in 1..8 {
        let disk = template.fork();
        let mut changed = bytes.clone();
        changed[bytes.len() * part / 8] ^= 4;
        disk.set_bytes(&path(&log), changed);
        assert_eq!(open(&disk.fork()).unwrap_err().kind(), ErrorKind::Corruption);
        let report = repair(&disk).unwrap();
        assert_eq!((&report.damage[0].file, &report.moved[..]), (&log, &[log.clone()][..]));
        let found = contents(&disk);
        let keys: Vec<_> = found["default"].keys().cloned().collect();
        let prefix: Vec<_> = (0..keys.len() as u32).map(|no| no.to_be_bytes().to_vec()).collect();
        assert_eq!(keys, prefix, "no hole");
        assert_eq!(keys, found["other"].keys().cloned().collect::<Vec<_>>(), "no half batch");
        assert_eq!(report.records_from_log, 2 * keys.len() as u64);
        assert!((100 * part / 8).abs_diff(keys.len()) <= 2, "{} of part {part}", keys.len());
        counts.insert(keys.len());
    }
    assert_eq!(counts.len(), 7);
}

#[test]
fn cleared_and_dropped_keyspaces_stay_so() {
    for lose_manifest in [false, true] {
        let disk = MemStorage::new(1);
        let store = Store::open(Arc::new(disk.clone()), tiny()).unwrap();
        for no in 0..100_u32 {
            store.spaces[0].put(no.to_be_bytes(), [1; 100]).unwrap();
            store.spaces[1].put(no.to_be_bytes(), [1; 100]).unwrap();
        }
        store.db.flush().unwrap();
        store.spaces[0].clear().unwrap();
        store.spaces[0].put("after", "the clear").unwrap();
        store.db.drop_keyspace("other").unwrap();
        store.db.wait_idle().unwrap();
        store.db.close().unwrap();
        drop(store);
        let victim =
            if lose_manifest { names(&disk, "MANIFEST").pop().unwrap() } else { "CURRENT".to_owned() };
        disk.remove(&path(&victim)).unwrap();
        repair(&disk).unwrap();
        let found = contents(&disk);
        assert_eq!(found["default"].len(), 1, "{lose_manifest}");
        let others: usize =
            found.iter().filter(|(name, _)| *name != "default").map(|(_, pairs)| pairs.len()).sum();
        assert_eq!(others, 0, "{lose_manifest}: {found:?}");
    }
}

#[test]
fn ingested_tables_keep_their_place_among_the_writes() {
    for victim in ["MANIFEST", "CURRENT"] {
        let disk = MemStorage::new(1);
        let store = Store::open(Arc::new(disk.clone()), tiny()).unwrap();
        let space = &store.spaces[0];
        for no in 0..200_u32 {
            space.put(no.to_be_bytes(), "before").unwrap();
        }
        space.ingest((0..100_u32).map(|no| (no.to_be_bytes(), "ingested"))).unwrap();
        for no in 0..10_u32 {
            space.put(no.to_be_bytes(), "after").unwrap();
        }
        store.db.close().unwrap();
        drop(store);
        disk.remove(&path(&names(&disk, victim).pop().unwrap())).unwrap();
        repair(&disk).unwrap();
        let found = contents(&disk).remove("default").unwrap();
        let values = |range: std::ops::Range<u32>| {
            range
                .map(|no| String::from_utf8(found[&no.to_be_bytes()[..]].clone()).unwrap())
                .collect::<BTreeSet<_>>()
        };
        assert_eq!(values(0..10), BTreeSet::from(["after".to_owned()]), "{victim}");
        assert_eq!(values(10..100), BTreeSet::from(["ingested".to_owned()]), "{victim}");
        assert_eq!(values(100..200), BTreeSet::from(["before".to_owned()]), "{victim}");
    }
}
