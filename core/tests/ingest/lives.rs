//! Iterators that use, close or break the store while it takes from them; readers beside it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use kiban::storage::MemStorage;
use kiban::{Db, ErrorKind, Event, Keyspace, Settings};

use crate::memory::{dir, open, open_with, settings};
use crate::{Pairs, pairs, read, table_files};

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
        let mut last = Vec::new();
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
            assert!(last <= now, "an ingest went away");
            last = now;
        }
        noise.join().unwrap();
    });
    assert!(ks.range(..1000u64.to_be_bytes()).all(|pair| pair.unwrap().1 == 59u64.to_be_bytes().to_vec()));
}

/// It waits for the background, which is who calls the listener.
#[test]
fn a_listener_may_ingest() {
    let place: Arc<OnceLock<Keyspace>> = Arc::default();
    let inner = place.clone();
    let db = Db::builder(dir())
        .storage(Arc::new(MemStorage::new(1)))
        .settings(settings())
        .on_event(Arc::new(move |event: &Event| {
            if let (Event::Flush { .. }, Some(ks)) = (event, inner.get()) {
                ks.ingest(pairs(10, "told")).unwrap();
            }
        }))
        .open()
        .unwrap();
    let ks = db.default_keyspace();
    place.set(db.keyspace("told").unwrap()).unwrap();
    ks.put("a", "b").unwrap();
    ks.flush().unwrap();
    db.wait_idle().unwrap();
    assert_eq!(read(db.keyspace("told").unwrap().iter()), pairs(10, "told"));
    db.close().unwrap();
}
