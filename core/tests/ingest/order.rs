//! Order, atomicity, snapshots, and the levels that it goes to.

use std::sync::{Arc, Mutex};

use kiban::storage::MemStorage;
use kiban::{Db, ErrorKind, Event, Keyspace, Settings};

use crate::memory::{dir, open, open_with, settings};
use crate::{Pairs, level_tables, own, pairs, read, table_files};

fn text(ks: &Keyspace, key: &str) -> Option<String> {
    ks.get(key).unwrap().map(|value| String::from_utf8(value.into()).unwrap())
}

/// Levels whose tables are read through a map, and by `pread`.
fn both_reads(check: impl Fn(Settings)) {
    for mmap_max_level in [None, Some(u32::MAX)] {
        check(Settings { mmap_max_level, ..settings() });
    }
}

#[test]
fn keys_that_do_not_rise_are_refused_with_their_ordinal() {
    let disk = MemStorage::new(1);
    let db = open_with(disk.clone(), Settings { table_bytes: 4 << 10, ..settings() }).unwrap();
    let ks = db.default_keyspace();
    ks.put("b", "old").unwrap();
    let long: Pairs = pairs(500, "new");
    for (keys, ordinal) in [
        (vec![&b"a"[..], b"c", b"b"], 2),
        (vec![b"", b""], 1),
        (vec![b"b", b"a"], 1),
        (long.iter().map(|(key, _)| &key[..]).chain([&b"a"[..]]).collect(), 500),
    ] {
        let error = ks.ingest(keys.iter().map(|key| (key, [7; 40]))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains(&format!("pair {ordinal} ")), "{error}");
        assert_eq!(read(ks.iter()), [(b"b".to_vec(), b"old".to_vec())]);
        assert_eq!(table_files(&disk), Vec::<String>::new());
    }
    let sequence = db.stats().last_sequence;
    ks.ingest([("a", "new")]).unwrap();
    assert_eq!(db.stats().last_sequence, sequence + 1, "refused ones take no sequence, one takes one");
}

#[test]
fn h40_an_ingest_with_a_repeated_key_is_refused() {
    let db = open(&MemStorage::new(1));
    let ks = db.default_keyspace();
    let error = ks.ingest([("a", 1), ("b", 1), ("b", 2), ("c", 1)].map(|(key, no)| (key, [no]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert_eq!(ks.iter().count(), 0);
}

#[test]
fn h37_an_empty_key_is_ingested() {
    both_reads(|settings| {
        let disk = MemStorage::new(1);
        let db = open_with(disk.clone(), settings.clone()).unwrap();
        let ks = db.default_keyspace();
        ks.ingest([(&b""[..], "e"), (&[0], "z")]).unwrap();
        let check = |ks: &Keyspace| {
            assert_eq!(ks.get("").unwrap().as_deref(), Some(&b"e"[..]));
            let mut cursor = ks.cursor();
            assert!(cursor.first().unwrap() && cursor.key().is_empty());
            assert!(cursor.seek("").unwrap() && cursor.key().is_empty());
            assert!(cursor.seek_lt([0]).unwrap() && cursor.key().is_empty());
            assert!(cursor.last().unwrap() && cursor.key() == [0]);
        };
        check(&ks);
        ks.compact().unwrap();
        check(&ks);
        drop((ks, db));
        let db = open_with(disk.clone(), settings).unwrap();
        check(&db.default_keyspace());
        db.default_keyspace().delete("").unwrap();
        assert_eq!(db.default_keyspace().get("").unwrap(), None);
    });
}

#[test]
fn h49_an_ingested_value_wins_over_older_ones() {
    both_reads(|settings| {
        let disk = MemStorage::new(1);
        let db = open_with(disk.clone(), settings.clone()).unwrap();
        let ks = db.default_keyspace();
        for _ in 0..3 {
            ks.put("k", "a").unwrap();
            ks.flush().unwrap();
        }
        let snapshot = db.snapshot();
        ks.ingest([("k", "b")]).unwrap();
        assert_eq!(text(&ks, "k").as_deref(), Some("b"));
        assert_eq!(snapshot.get(&ks, "k").unwrap().as_deref(), Some(&b"a"[..]));
        drop((snapshot, ks, db));
        let db = open_with(disk.clone(), settings).unwrap();
        let ks = db.default_keyspace();
        assert_eq!(text(&ks, "k").as_deref(), Some("b"));
        ks.compact().unwrap();
        assert_eq!(text(&ks, "k").as_deref(), Some("b"));
        ks.put("k", "c").unwrap();
        assert_eq!(text(&ks, "k").as_deref(), Some("c"));
        ks.flush().unwrap();
        ks.compact().unwrap();
        assert_eq!(text(&ks, "k").as_deref(), Some("c"));
    });
}

#[test]
fn it_is_newer_than_what_lies_anywhere_and_older_than_what_comes() {
    let db = open(&MemStorage::new(1));
    let ks = db.default_keyspace();
    ks.put("run", "old").unwrap();
    ks.put("deleted", "old").unwrap();
    ks.compact().unwrap();
    ks.put("level0", "old").unwrap();
    ks.flush().unwrap();
    ks.put("memtable", "old").unwrap();
    ks.delete("tombstone").unwrap();
    let keys = ["deleted", "level0", "memtable", "run", "tombstone"];
    ks.ingest(keys.map(|key| (key, "new"))).unwrap();
    for key in keys {
        assert_eq!(text(&ks, key).as_deref(), Some("new"), "{key}");
    }
    ks.put("run", "newer").unwrap();
    ks.delete("deleted").unwrap();
    ks.put("memtable", "newer").unwrap();
    let expected = [("level0", "new"), ("memtable", "newer"), ("run", "newer"), ("tombstone", "new")];
    let expected: Pairs = expected.map(|(key, value)| (key.into(), value.into())).into();
    let check = |when: &str| {
        assert_eq!(read(ks.iter()), expected, "{when}");
        assert_eq!(text(&ks, "deleted"), None, "{when}");
        assert!(expected.iter().all(|(key, value)| ks.get(key).unwrap().unwrap() == *value), "{when}");
    };
    check("in memory");
    ks.flush().unwrap();
    check("flushed");
    ks.compact().unwrap();
    check("compacted");
    assert!(db.verify().unwrap().is_clean());
}

/// An older snapshot looks through the ingested tables, in every direction, and a younger one
/// reads them.
#[test]
fn snapshots_read_what_they_read_before() {
    both_reads(|settings| {
        // Nothing is merged before the test wants it.
        let (level0_tables, level0_stall_tables) = (100, 100);
        let settings =
            Settings { table_bytes: 4 << 10, cache_bytes: 0, level0_tables, level0_stall_tables, ..settings };
        let db = open_with(MemStorage::new(1), settings).unwrap();
        let ks = db.default_keyspace();
        let some = |what: &str| pairs(300, what).into_iter().step_by(7);
        some("old").for_each(|(key, value)| ks.put(key, value).unwrap());
        let (before, mut half) = (db.snapshot(), ks.iter());
        let old: Pairs = some("old").collect();
        assert_eq!(half.next().unwrap().unwrap().0, old[0].0);
        ks.ingest(pairs(300, "new")).unwrap();
        let between = db.snapshot();
        ks.put("key-00003", "newer").unwrap();
        ks.ingest(pairs(10, "newest")).unwrap();
        for compacted in [false, true] {
            if compacted {
                ks.compact().unwrap();
            }
            assert_eq!(level_tables(&db)[0] > 2, !compacted);
            assert_eq!(read(before.iter(&ks)), old);
            let mut backward: Pairs = before.iter(&ks).rev().map(Result::unwrap).map(own).collect();
            backward.reverse();
            assert_eq!(backward, old);
            let mut cursor = before.cursor(&ks);
            for (key, _) in pairs(300, "") {
                let at = old.partition_point(|(old, _)| *old < key);
                assert_eq!(cursor.seek(&key).unwrap(), at < old.len());
                assert!(!cursor.valid() || cursor.key() == old[at].0);
                assert_eq!(cursor.seek_lt(&key).unwrap(), at > 0);
                assert!(!cursor.valid() || cursor.key() == old[at - 1].0);
                assert_eq!(
                    before.get(&ks, &key).unwrap().is_some(),
                    old.get(at).is_some_and(|(old, _)| *old == key)
                );
            }
            assert_eq!(read(between.iter(&ks)), pairs(300, "new"));
            let now: Pairs = pairs(10, "newest").into_iter().chain(pairs(300, "new").split_off(10)).collect();
            assert_eq!(read(ks.iter()), now);
        }
        assert_eq!(half.map(Result::unwrap).map(own).collect::<Pairs>(), old[1..]);
    });
}

#[test]
fn many_tables_are_one_ingest() {
    let disk = MemStorage::new(1);
    let settings =
        Settings { table_bytes: 4 << 10, level0_tables: 100, level0_stall_tables: 100, ..settings() };
    let events = Arc::new(Mutex::new(Vec::new()));
    let told = events.clone();
    let db = Db::builder(dir())
        .storage(Arc::new(disk.clone()))
        .settings(settings.clone())
        .on_event(Arc::new(move |event: &Event| told.lock().unwrap().push(event.clone())))
        .open()
        .unwrap();
    let ks = db.default_keyspace();
    let all = pairs(2000, "value");
    ks.ingest(all.clone()).unwrap();
    let tables: u64 = level_tables(&db).iter().sum();
    assert!(tables > 5, "{tables} tables");
    let told = events.lock().unwrap();
    let is_told = |event: &Event| {
        matches!(event, Event::Ingest { keyspace, tables: told, records: 2000, .. }
            if keyspace == "default" && told.len() as u64 == tables)
    };
    assert_eq!(told.iter().filter(|event| is_told(event)).count(), 1, "{told:?}");
    drop(told);
    assert_eq!(read(ks.iter()), all);
    assert!(db.verify().unwrap().is_clean());
    drop((ks, db));
    let db = open_with(disk, settings).unwrap();
    let ks = db.default_keyspace();
    assert_eq!(read(ks.iter()), all);
    assert_eq!(
        ks.multi_get(&[&all[0].0, &all[1999].0, &b"absent".to_vec()]).unwrap().iter().flatten().count(),
        2
    );
    ks.compact().unwrap();
    assert_eq!(read(ks.iter()), all);
    assert!(db.verify().unwrap().is_clean());
}

#[test]
fn tables_go_below_what_they_do_not_overlap() {
    let db = open_with(MemStorage::new(1), Settings { table_bytes: 4 << 10, ..settings() }).unwrap();
    let ks = db.default_keyspace();
    let all = pairs(900, "value");
    ks.ingest(all[300..600].to_vec()).unwrap();
    let first = level_tables(&db)[1];
    assert_eq!(level_tables(&db), [0, first], "an empty store has no level 0 to fill");
    ks.ingest(all[600..].to_vec()).unwrap();
    ks.ingest(all[..300].to_vec()).unwrap();
    let run = level_tables(&db)[1];
    assert_eq!(level_tables(&db), [0, run]);
    assert!(run > first);
    // What is still in memory is older, and must be in a table of level 0 before.
    ks.put(&all[0].0, "old").unwrap();
    ks.ingest([(&all[0].0, "new")]).unwrap();
    assert_eq!(level_tables(&db), [2, run]);
    ks.ingest([("zz", "beyond")]).unwrap();
    assert_eq!(level_tables(&db), [2, run + 1]);
    assert_eq!(ks.get(&all[0].0).unwrap().unwrap(), "new".as_bytes());
    assert_eq!(read(ks.iter())[1..900], all[1..]);
    assert!(db.verify().unwrap().is_clean());
}

#[test]
fn a_large_ingest_does_not_stall_writers() {
    let stalls = Arc::new(Mutex::new(0));
    let told = stalls.clone();
    let small = Settings { table_bytes: 4 << 10, level0_tables: 4, level0_stall_tables: 8, ..settings() };
    let db = Db::builder(dir())
        .storage(Arc::new(MemStorage::new(1)))
        .settings(small)
        .on_event(Arc::new(move |event: &Event| {
            *told.lock().unwrap() += usize::from(matches!(event, Event::WriteStall { .. }));
        }))
        .open()
        .unwrap();
    let ks = db.default_keyspace();
    ks.put("key-", "").unwrap();
    ks.put("key-9", "").unwrap();
    ks.flush().unwrap();
    for round in 0..4 {
        ks.ingest(pairs(2000, &round.to_string())).unwrap();
        ks.put("key-1", "").unwrap();
    }
    assert_eq!(*stalls.lock().unwrap(), 0);
    db.wait_idle().unwrap();
    assert_eq!(ks.iter().count(), 2003);
}
