//! Options of one keyspace: in their place, stored, refused.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod memory;
}

use std::path::Path;
use std::sync::Arc;

use common::memory::{dir, open, open_with, settings};
use kiban::storage::{MemStorage, SimStorage, Storage};
use kiban::{Db, ErrorKind, IndexPolicy, Keyspace, KeyspaceOptions};

fn fill(space: &Keyspace) {
    for no in 0..4_000_u32 {
        space.put(no.to_be_bytes(), [no as u8; 60]).unwrap();
    }
    space.compact().unwrap();
}

fn level_tables(db: &Db, name: &str) -> u64 {
    let stats = db.stats();
    let space = stats.keyspaces.iter().find(|space| space.name == name).unwrap();
    space.levels.iter().map(|level| level.tables).sum()
}

/// The options of all keyspaces.
fn stored(db: &Db) -> Vec<(String, KeyspaceOptions)> {
    db.stats().keyspaces.into_iter().map(|space| (space.name, space.options)).collect()
}

#[test]
fn they_hold_for_their_keyspace_alone_and_after_a_reopen() {
    let disk = MemStorage::new(1);
    let options =
        KeyspaceOptions::default().table_bytes(8 << 10).filter_bits_per_key(0).memtable_bytes(64 << 10);
    let db = open(&disk);
    let small = db.keyspace_with("small", options.clone()).unwrap();
    let plain = db.keyspace("plain").unwrap();
    fill(&small);
    fill(&plain);
    assert!(level_tables(&db, "small") > 20, "tables of 8 KiB");
    assert_eq!(level_tables(&db, "plain"), 1);
    assert!(small.get(7_u32.to_be_bytes()).unwrap().is_some());
    assert!(plain.get(7_u32.to_be_bytes()).unwrap().is_some());
    let filters = |name: &str| {
        let stats = db.stats();
        let space = stats.keyspaces.iter().find(|space| space.name == name).unwrap();
        space.levels.iter().map(|level| level.filter_bytes).sum::<u64>()
    };
    assert_eq!((filters("small") > 0, filters("plain") > 0), (false, true));
    db.close().unwrap();

    let db = open(&disk);
    assert_eq!(db.keyspace("small").unwrap().options(), options);
    assert_eq!(db.keyspace("plain").unwrap().options(), KeyspaceOptions::default());
    // `keyspace` leaves them alone, `keyspace_with` replaces them.
    let small = db.keyspace_with("small", KeyspaceOptions::default()).unwrap();
    small.compact().unwrap();
    assert_eq!(level_tables(&db, "small"), 1);
    drop((small, db));
    assert_eq!(open(&disk).keyspace("small").unwrap().options(), KeyspaceOptions::default());
}

#[test]
fn memtables_are_sealed_at_their_own_size() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    let eager = db.keyspace_with("eager", KeyspaceOptions::default().memtable_bytes(16 << 10)).unwrap();
    let plain = db.keyspace("plain").unwrap();
    for no in 0..1_000_u32 {
        eager.put(no.to_be_bytes(), [1; 100]).unwrap();
        plain.put(no.to_be_bytes(), [1; 100]).unwrap();
    }
    db.wait_idle().unwrap();
    assert!(level_tables(&db, "eager") > 0);
    assert_eq!(level_tables(&db, "plain"), 0);
}

#[test]
fn what_is_out_of_range_is_refused_with_its_name_and_nothing_is_made() {
    let db = open(&MemStorage::new(1));
    let refused = [
        (KeyspaceOptions::default().table_bytes(1), "`table_bytes`"),
        (KeyspaceOptions::default().memtable_bytes(0), "`memtable_bytes`"),
        (KeyspaceOptions::default().filter_bits_per_key(33), "`filter_bits_per_key`"),
        (KeyspaceOptions::default().index_policy(IndexPolicy::always("none")), "`none`"),
    ];
    for (options, name) in refused {
        let error = db.keyspace_with("new", options.clone()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(name), "{error}");
        assert!(db.keyspace_with("default", options).is_err());
    }
    assert_eq!(db.keyspaces().unwrap(), ["default"]);
    assert_eq!(db.default_keyspace().options(), KeyspaceOptions::default());
}

#[test]
fn the_default_keyspace_has_them_too_and_stats_tell() {
    let disk = MemStorage::new(1);
    let options = KeyspaceOptions::default().table_bytes(8 << 10);
    let db = open(&disk);
    let default = db.keyspace_with("default", options.clone()).unwrap();
    fill(&default);
    assert!(level_tables(&db, "default") > 20, "tables of 8 KiB");
    assert_eq!(stored(&db), [("default".to_owned(), options.clone())]);
    drop((default, db));
    assert_eq!(stored(&open(&disk)), [("default".to_owned(), options)]);
}

#[test]
fn they_are_durable_when_the_call_returns() {
    let first = KeyspaceOptions::default().table_bytes(8 << 10);
    let second = first.clone().filter_bits_per_key(4);
    for seed in 0..20 {
        for calls in [&[&first][..], &[&first, &second]] {
            let disk = SimStorage::new(seed);
            let db = open(&disk);
            for options in calls {
                db.keyspace_with("own", (*options).clone()).unwrap();
            }
            let found = open(&disk.reboot(seed)).keyspace("own").unwrap().options();
            assert_eq!(Some(&&found), calls.last(), "seed {seed}");
        }
    }
}

#[test]
fn checkpoint_and_repair_keep_them() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    let own = db.keyspace_with("own", KeyspaceOptions::default().table_bytes(8 << 10)).unwrap();
    // Of two that were stored the last one counts.
    let last = KeyspaceOptions::default().filter_bits_per_key(3).index_policy(IndexPolicy::sorted_only());
    db.keyspace_with("own", last.clone()).unwrap();
    own.put("key", "value").unwrap();
    let expected = [("default".to_owned(), KeyspaceOptions::default()), ("own".to_owned(), last)];

    let copy = Path::new("/copy");
    db.checkpoint(copy).unwrap();
    drop((own, db));
    let at = |dir: &Path| Db::builder(dir).storage(Arc::new(disk.clone())).settings(settings());
    assert_eq!(stored(&at(copy).open().unwrap()), expected);

    // A store with no fault is left as it is.
    disk.remove(&dir().join("CURRENT")).unwrap();
    assert!(!at(dir()).repair().unwrap().healthy);
    assert_eq!(stored(&open(&disk)), expected);
}

#[test]
fn a_store_that_is_read_only_takes_none() {
    let disk = MemStorage::new(1);
    let options = KeyspaceOptions::default().table_bytes(8 << 10);
    let db = open_with(disk.clone(), settings()).unwrap();
    db.keyspace_with("own", options.clone()).unwrap();
    db.close().unwrap();
    let builder = Db::builder(dir()).storage(Arc::new(disk));
    let db = builder.read_only(true).open().unwrap();
    assert_eq!(db.keyspace_with("own", options.clone()).unwrap().options(), options);
    let other = db.keyspace_with("own", options.table_bytes(16 << 10)).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::ReadOnly);
}
