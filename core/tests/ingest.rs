//! Ingest: order, atomicity, and its place among other writes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod memory;
}

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use common::memory::{dir, open, open_with, settings};
use kiban::storage::{MemStorage, Storage};
use kiban::{Db, ErrorKind, Event, Iter, Keyspace, Settings};

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn read(iter: Iter) -> Pairs {
    iter.map(|pair| pair.map(|(key, value)| (key.into(), value.into())).unwrap()).collect()
}

fn text(ks: &Keyspace, key: &str) -> Option<String> {
    ks.get(key).unwrap().map(|value| String::from_utf8(value.into()).unwrap())
}

/// `count` pairs whose keys rise, with values that name `what`.
fn pairs(count: usize, what: &str) -> Pairs {
    (0..count).map(|no| (format!("key-{no:05}").into_bytes(), format!("{what} {no}").into_bytes())).collect()
}

/// Tables and unfinished files in the directory.
fn table_files(disk: &MemStorage) -> Vec<String> {
    let names = disk.list(dir()).unwrap().into_iter().map(|entry| entry.name);
    names.filter(|name| name.ends_with(".sst") || name.ends_with(".tmp")).collect()
}

fn level_tables(db: &Db) -> Vec<u64> {
    db.stats().keyspaces[0].levels.iter().map(|level| level.tables).collect()
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
        let db = open_with(MemStorage::new(1), Settings { table_bytes: 4 << 10, cache_bytes: 0, ..settings })
            .unwrap();
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
            assert_eq!(read(before.iter(&ks)), old);
            assert!(read(before.iter(&ks)).iter().eq(&old));
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

fn own((key, value): (kiban::Key, kiban::Value)) -> (Vec<u8>, Vec<u8>) {
    (key.into(), value.into())
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
fn the_iterator_may_use_the_store() {
    let db = open(&MemStorage::new(1));
    let (ks, other) = (db.default_keyspace(), db.keyspace("other").unwrap());
    let mut seen = Vec::new();
    let generate = (0..20u8).map(|no| {
        ks.put([no], "put").unwrap();
        other.ingest([([no], "inner")]).unwrap();
        if no % 5 == 0 {
            ks.flush().unwrap();
            ks.compact().unwrap();
            other.clear().unwrap();
        }
        seen.push(ks.get([no]).unwrap().unwrap().to_vec());
        ([no], "ingested")
    });
    ks.ingest(generate).unwrap();
    assert!(seen.iter().all(|value| value == b"put"));
    assert!(ks.iter().all(|pair| pair.unwrap().1 == "ingested".as_bytes()));
    assert_eq!((ks.iter().count(), other.iter().count()), (20, 4));
}

#[test]
fn an_iterator_that_panics_leaves_nothing() {
    let disk = MemStorage::new(1);
    let db = open_with(disk.clone(), Settings { table_bytes: 4 << 10, ..settings() }).unwrap();
    let ks = db.default_keyspace();
    let broken = pairs(900, "lost").into_iter().enumerate().map(|(no, pair)| {
        assert!(no < 800, "as the test wants it");
        pair
    });
    assert!(catch_unwind(AssertUnwindSafe(|| ks.ingest(broken))).is_err());
    assert_eq!(table_files(&disk), Vec::<String>::new());
    assert_eq!(ks.iter().count(), 0);
    ks.ingest(pairs(900, "kept")).unwrap();
    assert_eq!(read(ks.iter()), pairs(900, "kept"));
    db.close().unwrap();
}

#[test]
fn limits_and_closed_places_are_refused() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    let ks = db.keyspace("k").unwrap();
    ks.ingest(Pairs::new()).unwrap();
    assert_eq!(db.stats().last_sequence, 0);
    let error = ks.ingest([(vec![1], "v"), (vec![2; kiban::KEY_BYTES_MAX + 1], "v")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("pair 1 "), "{error}");
    ks.ingest([(vec![2; kiban::KEY_BYTES_MAX], vec![3; 300_000])]).unwrap();
    assert_eq!(ks.get(vec![2; kiban::KEY_BYTES_MAX]).unwrap().unwrap(), vec![3; 300_000]);
    db.drop_keyspace("k").unwrap();
    assert_eq!(ks.ingest([("a", "b")]).unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(ks.ingest(Pairs::new()).unwrap_err().kind(), ErrorKind::Closed);
    let ks = db.default_keyspace();
    db.close().unwrap();
    assert_eq!(ks.ingest([("a", "b")]).unwrap_err().kind(), ErrorKind::Closed);
    let reading = Db::builder(dir()).storage(Arc::new(disk.clone())).read_only(true).open().unwrap();
    let error = reading.default_keyspace().ingest([("a", "b")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
    assert_eq!(table_files(&disk), Vec::<String>::new(), "the dropped keyspace's table went with it");
}

#[test]
fn a_keyspace_that_is_dropped_or_cleared_meanwhile_is_not_half_filled() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    let ks = db.keyspace("k").unwrap();
    let dropping = pairs(200, "lost").into_iter().enumerate().map(|(no, pair)| {
        if no == 100 {
            db.drop_keyspace("k").unwrap();
        }
        pair
    });
    assert_eq!(ks.ingest(dropping).unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(table_files(&disk), Vec::<String>::new());

    let ks = db.keyspace("k").unwrap();
    assert_eq!(ks.iter().count(), 0);
    ks.put("old", "").unwrap();
    let clearing = pairs(200, "kept").into_iter().enumerate().map(|(no, pair)| {
        if no == 100 {
            ks.clear().unwrap();
        }
        pair
    });
    ks.ingest(clearing).unwrap();
    assert_eq!(read(ks.iter()), pairs(200, "kept"));
    let snapshot = db.snapshot();
    ks.clear().unwrap();
    assert_eq!((ks.iter().count(), snapshot.iter(&ks).count()), (0, 200));
    drop(snapshot);
    assert_eq!(table_files(&disk), Vec::<String>::new());
}

#[test]
fn closing_does_not_wait_for_the_iterator() {
    let disk = MemStorage::new(1);
    let db = open_with(disk.clone(), Settings { table_bytes: 4 << 10, ..settings() }).unwrap();
    let ks = db.default_keyspace();
    let mut next = None;
    let closing = pairs(600, "lost").into_iter().enumerate().map(|(no, pair)| {
        if no == 500 {
            db.close().unwrap();
            // The next opener finds unfinished files, and makes its own.
            let db = open(&disk);
            db.default_keyspace().ingest(pairs(600, "kept")).unwrap();
            next = Some(db);
        }
        pair
    });
    assert_eq!(ks.ingest(closing).unwrap_err().kind(), ErrorKind::Closed);
    let db = next.unwrap();
    assert_eq!(read(db.default_keyspace().iter()), pairs(600, "kept"));
    assert!(db.verify().unwrap().is_clean());
    assert_eq!(table_files(&disk).len(), 1);
}

/// Readers see all of an ingest or nothing, and later ones not less.
#[test]
fn readers_beside_it_see_all_or_nothing() {
    let settings = Settings { table_bytes: 4 << 10, memtable_bytes: 16 << 10, ..settings() };
    let db = open_with(MemStorage::new(1), settings).unwrap();
    let ks = db.default_keyspace();
    let round = |no: u64| (0..150u64).map(move |key| (key.to_be_bytes(), no.to_be_bytes()));
    ks.ingest(round(0)).unwrap();
    std::thread::scope(|scope| {
        let done = scope.spawn(|| (1..60).for_each(|no| ks.ingest(round(no)).unwrap()));
        let noise = scope
            .spawn(|| (0..3000u64).for_each(|no| ks.put((1000 + no % 9).to_be_bytes(), [0; 90]).unwrap()));
        let mut last = BTreeMap::new();
        while !done.is_finished() {
            let snapshot = db.snapshot();
            let ids = ks.multi_get(&(0..150u64).map(u64::to_be_bytes).collect::<Vec<_>>()).unwrap();
            for values in [
                ids.into_iter().flatten().map(|value| value.to_vec()).collect::<Vec<_>>(),
                ks.range(..1000u64.to_be_bytes()).map(|pair| pair.unwrap().1.into()).collect(),
                snapshot.range(&ks, ..1000u64.to_be_bytes()).map(|pair| pair.unwrap().1.into()).collect(),
            ] {
                assert_eq!(values.len(), 150);
                assert!(values.iter().all(|value| *value == values[0]), "half an ingest is visible");
            }
            let now = ks.get(0u64.to_be_bytes()).unwrap().unwrap().to_vec();
            assert!(last.insert((), now.clone()).is_none_or(|before| before <= now), "an ingest went away");
        }
        noise.join().unwrap();
    });
    assert!(ks.range(..1000u64.to_be_bytes()).all(|pair| pair.unwrap().1 == 59u64.to_be_bytes().to_vec()));
}
