//! Rules that require their indexes, and stores that are open for reading only.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use kiban::storage::{CountingStorage, Effect, Fault, MemStorage, Op, SimStorage, Storage};
use kiban::{Db, DbBuilder, Event, IndexPolicy, Settings};

fn required() -> IndexPolicy {
    IndexPolicy::from_toml("[[rule]]\nbuild = [\"ph4\"]\nrequire = true").unwrap()
}

fn builder(storage: impl Storage + 'static, policy: IndexPolicy) -> DbBuilder {
    let settings = Settings { background_threads: 1, table_bytes: 64 << 10, ..Settings::default() };
    Db::builder("/store").storage(Arc::new(storage)).settings(settings).index_policy(policy)
}

fn fill(db: &Db) {
    let space = db.default_keyspace();
    (0..2_000_u32).for_each(|no| space.put(no.to_be_bytes(), [7; 100]).unwrap());
}

fn check(db: &Db) {
    let space = db.default_keyspace();
    for no in 0..3_000_u32 {
        assert_eq!(space.get(no.to_be_bytes()).unwrap().is_some(), no < 2_000, "{no}");
    }
}

/// Names in the store that end like this.
fn named(disk: &dyn Storage, end: &str) -> Vec<String> {
    let names = disk.list(Path::new("/store")).unwrap().into_iter().map(|entry| entry.name);
    names.filter(|name| name.ends_with(end)).collect()
}

/// How many of the tables there were had an index when each flush and compaction was told.
fn indexed_when_published(policy: IndexPolicy) -> Vec<(usize, usize)> {
    let disk = MemStorage::new(1);
    let (seen, looked_at) = (Arc::new(Mutex::new(Vec::new())), disk.clone());
    let told = seen.clone();
    let builder = builder(disk, policy).on_event(Arc::new(move |event| {
        if matches!(event, Event::Flush { .. } | Event::Compaction { .. }) {
            let counts = (named(&looked_at, ".sst").len(), named(&looked_at, ".ph4").len());
            told.lock().unwrap().push(counts);
        }
    }));
    let db = builder.open().unwrap();
    fill(&db);
    db.flush().unwrap();
    db.wait_idle().unwrap();
    db.default_keyspace().compact().unwrap();
    db.wait_idle().unwrap();
    check(&db);
    drop(db);
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[test]
fn a_rule_that_requires_its_index_publishes_no_table_without() {
    let with = indexed_when_published(required());
    assert!(with.len() > 1 && with.iter().all(|(tables, indexed)| tables == indexed), "{with:?}");
    let without = indexed_when_published(IndexPolicy::always("ph4"));
    assert_eq!(without[0], (1, 0), "an index comes after the table where no rule requires it");
}

#[test]
fn a_required_index_that_is_missing_is_there_when_open_returns() {
    let disk = MemStorage::new(1);
    let db = builder(disk.clone(), required()).open().unwrap();
    fill(&db);
    db.flush().unwrap();
    db.close().unwrap();
    let names = named(&disk, ".ph4");
    names.iter().for_each(|name| disk.remove(&Path::new("/store").join(name)).unwrap());
    let db = builder(disk.clone(), required()).open().unwrap();
    assert_eq!(named(&disk, ".ph4"), names);
    assert!(db.default_keyspace().explain().unwrap().iter().all(|table| table.active == "ph4"));
    check(&db);
}

#[test]
fn a_table_whose_required_index_cannot_be_written_is_not_published_and_is_tried_again() {
    let disk = SimStorage::new(1);
    let db = builder(disk.clone(), required()).open().unwrap();
    fill(&db);
    disk.inject(Fault::at_op(Op::Append, 1, Effect::NoSpace).on(".ph4").for_good());
    let error = db.flush().unwrap_err().to_string();
    assert!(error.contains(".ph4"), "{error}");
    check(&db);
    disk.clear_faults();
    db.flush().unwrap();
    assert_eq!((named(&disk, ".sst").len(), named(&disk, ".ph4").len()), (1, 1));
    check(&db);
    assert!(db.verify().unwrap().is_clean());
}

#[test]
fn a_full_disk_keeps_nobody_from_opening_a_store_whose_required_index_is_gone() {
    let disk = SimStorage::new(1);
    let db = builder(disk.clone(), required()).open().unwrap();
    fill(&db);
    db.flush().unwrap();
    db.close().unwrap();
    named(&disk, ".ph4").iter().for_each(|name| disk.remove(&Path::new("/store").join(name)).unwrap());
    disk.inject(Fault::at_op(Op::Create, 1, Effect::NoSpace).on(".ph4").for_good());
    let db = builder(disk, required()).open().unwrap();
    let explained = db.default_keyspace().explain().unwrap();
    assert!(explained[0].active == "sorted" && explained[0].reason.contains(".ph4"), "{explained:?}");
    check(&db);
}

#[test]
fn an_open_for_reading_reads_no_index_and_the_first_read_little_of_each() {
    let disk = MemStorage::new(1);
    let db = builder(disk.clone(), IndexPolicy::always("ph4")).open().unwrap();
    let space = db.default_keyspace();
    (0..40_000_u32).for_each(|no| space.put(no.to_be_bytes(), [7; 30]).unwrap());
    space.compact().unwrap();
    db.wait_idle().unwrap();
    drop(space);
    db.close().unwrap();
    let index_bytes: usize = named(&disk, ".ph4")
        .iter()
        .map(|name| disk.bytes(&Path::new("/store").join(name)).unwrap().len())
        .sum();
    let counting = CountingStorage::new(Arc::new(disk.clone()));
    let asked = || {
        let counts = counting.counts();
        let of_index = counts.iter().filter(|(name, _)| name.ends_with(".ph4"));
        of_index
            .map(|(_, counts)| (counts.opens, counts.read_bytes))
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    let open = builder(counting.clone(), IndexPolicy::always("ph4")).read_only(true);
    let db = open.mmap_max_level(Some(9)).open().unwrap();
    assert_eq!(asked(), (0, 0));
    let space = db.default_keyspace();
    assert_eq!(space.get(77_u32.to_be_bytes()).unwrap().unwrap(), [7; 30]);
    let (opens, bytes) = asked();
    assert!(
        opens > 1 && index_bytes > 100_000 && bytes < 4_096 * opens,
        "{opens} opens, {bytes} of {index_bytes}"
    );
    assert!(space.explain().unwrap().iter().all(|table| table.active == "ph4"));
    // The read that opened the table went without.
    assert!(space.get(78_u32.to_be_bytes()).unwrap().is_some());
    assert!(db.stats().accessors["ph4"].hits > 0, "{:?}", db.stats().accessors);
}

#[test]
fn a_reindex_that_cannot_write_or_remove_an_index_says_so() {
    let disk = SimStorage::new(1);
    let db = builder(disk.clone(), IndexPolicy::sorted_only()).open().unwrap();
    fill(&db);
    db.flush().unwrap();
    let space = db.default_keyspace();
    disk.inject(Fault::at_op(Op::Append, 1, Effect::NoSpace).on(".ph4").for_good());
    let error = space.reindex(IndexPolicy::always("ph4")).unwrap_err();
    assert!(error.to_string().contains("cannot write") && error.to_string().contains(".ph4"), "{error}");
    check(&db);
    disk.clear_faults();
    assert_eq!(space.reindex(IndexPolicy::always("ph4")).unwrap().built, 1);
    disk.inject(Fault::at_op(Op::Remove, 1, Effect::Eio).on(".ph4"));
    let error = space.reindex(IndexPolicy::sorted_only()).unwrap_err();
    assert!(error.to_string().contains("cannot remove") && error.to_string().contains(".ph4"), "{error}");
    assert_eq!(space.reindex(IndexPolicy::sorted_only()).unwrap().dropped, 1);
    check(&db);
}
