//! Approximate sizes: where they are exact, how far off they may be elsewhere, and what they read.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod memory;
}

use common::memory::{open, open_with, settings};
use kiban::storage::MemStorage;
use kiban::{Db, Keyspace, Settings};

fn key(no: u64) -> Vec<u8> {
    format!("key-{no:06}").into_bytes()
}

fn put(space: &Keyspace, numbers: impl IntoIterator<Item = u64>) {
    for no in numbers {
        space.put(key(no), [no as u8; 100]).unwrap();
    }
}

fn table_bytes(db: &Db) -> u64 {
    db.stats().keyspaces.iter().flat_map(|space| &space.levels).map(|level| level.bytes).sum()
}

fn small() -> Settings {
    Settings {
        memtable_bytes: 64 << 10,
        memtables_total_bytes: 256 << 10,
        table_bytes: 64 << 10,
        ..settings()
    }
}

#[test]
fn the_number_of_keys_is_exact_in_one_small_memtable_and_in_one_sorted_run() {
    let disk = MemStorage::new(1);
    let db = open_with(disk.clone(), small()).unwrap();
    let space = db.default_keyspace();
    assert_eq!(space.approximate_len().unwrap(), 0);
    put(&space, 0..200);
    put(&space, 50..100);
    (0..300).step_by(3).for_each(|no| space.delete(key(no)).unwrap());
    let exact = space.iter().count() as u64;
    assert_eq!(space.approximate_len().unwrap(), exact);

    put(&space, 0..3_000);
    (0..3_000).step_by(7).for_each(|no| space.delete(key(no)).unwrap());
    space.compact().unwrap();
    let exact = space.iter().count() as u64;
    assert_eq!(space.approximate_len().unwrap(), exact);
    db.close().unwrap();
    let db = open(&disk);
    assert_eq!(db.default_keyspace().approximate_len().unwrap(), exact);

    db.default_keyspace().clear().unwrap();
    assert_eq!(db.default_keyspace().approximate_len().unwrap(), 0);
    assert_eq!(db.default_keyspace().approximate_bytes::<&[u8], _>(..).unwrap(), 0);
}

/// What is in a newer place counts against what is in an older one.
#[test]
fn tombstones_of_a_memtable_or_a_table_hide_keys_of_older_tables() {
    let db = open(&MemStorage::new(1));
    let space = db.default_keyspace();
    put(&space, 0..1_000);
    db.flush().unwrap();
    (0..400).for_each(|no| space.delete(key(no)).unwrap());
    assert_eq!(space.approximate_len().unwrap(), 600);
    db.flush().unwrap();
    assert_eq!(space.approximate_len().unwrap(), 600);
    put(&space, 0..100);
    assert_eq!(space.approximate_len().unwrap(), 700);
    // Deletes of what is not there count against the rest, and never below none.
    (5_000..9_000).for_each(|no| space.delete(key(no)).unwrap());
    assert_eq!(space.approximate_len().unwrap(), 100);
}

#[test]
fn a_key_in_several_places_counts_in_each() {
    let db = open(&MemStorage::new(1));
    let space = db.default_keyspace();
    put(&space, 0..500);
    db.flush().unwrap();
    put(&space, 0..500);
    let about = space.approximate_len().unwrap();
    assert!((500..=1_000).contains(&about), "{about}");
}

#[test]
fn a_long_memtable_is_extrapolated() {
    let db = open(&MemStorage::new(1));
    let space = db.default_keyspace();
    put(&space, 0..20_000);
    (0..20_000).step_by(4).for_each(|no| space.delete(key(no)).unwrap());
    let about = space.approximate_len().unwrap();
    assert!((14_000..=16_000).contains(&about), "{about}, and there are 15000");
    let all = space.approximate_bytes::<&[u8], _>(..).unwrap();
    assert_eq!(all, db.stats().memory.memtable_bytes);
    let (head, middle) = (space.approximate_bytes(..key(1_000)).unwrap(), key(5_000)..key(15_000));
    assert!((all / 21..all / 19).contains(&head), "{head} of {all}");
    let middle = space.approximate_bytes(middle).unwrap();
    assert!(middle > all / 4 && middle < all * 3 / 4, "{middle} of {all}");
    let but_the_ends = space.approximate_bytes(key(1_000)..key(19_000)).unwrap();
    assert!((all * 17 / 19..all * 19 / 20).contains(&but_the_ends), "{but_the_ends} of {all}");
}

/// A store of several levels with 6,000 equal records, of which none is in a memtable.
fn levels() -> Db {
    let db = open_with(MemStorage::new(1), small()).unwrap();
    let space = db.default_keyspace();
    // 7 and 6,000 have no common divisor: all keys, out of order.
    put(&space, (0..6_000).map(|no| no * 7 % 6_000));
    db.flush().unwrap();
    db.wait_idle().unwrap();
    db
}

#[test]
fn bytes_of_everything_are_the_tables_and_memtables() {
    let db = levels();
    let space = db.default_keyspace();
    assert_eq!(space.approximate_bytes::<&[u8], _>(..).unwrap(), table_bytes(&db));
    assert_eq!(space.approximate_bytes(key(0)..=key(9_999)).unwrap(), table_bytes(&db));
    space.put(key(3), "in memory").unwrap();
    let memory = db.stats().memory.memtable_bytes;
    assert_eq!(space.approximate_bytes::<&[u8], _>(..).unwrap(), table_bytes(&db) + memory);
    assert_eq!(space.approximate_bytes(key(4)..key(4)).unwrap(), 0);
    let alone = space.approximate_bytes(key(3)..=key(3)).unwrap();
    assert!(alone > memory && alone < table_bytes(&db) / 10, "{alone}");
}

#[test]
fn bytes_of_a_part_are_its_share_and_no_data_page_is_read() {
    let db = levels();
    let space = db.default_keyspace();
    let (all, tables) =
        (table_bytes(&db), db.stats().keyspaces[0].levels.iter().map(|level| level.tables).sum::<u64>());
    assert!(tables > 5);
    let before = db.stats().pages;
    for (from, to) in [(0, 600), (600, 1_200), (100, 5_900), (2_999, 3_001), (5_999, 6_000), (0, 3_000)] {
        let about = space.approximate_bytes(key(from)..key(to)).unwrap();
        let share = all * (to - from) / 6_000;
        // Half a page at each end of a table of each sorted run, and what a table has beside pages.
        let error = all / 50 + 8_192 * db.stats().keyspaces[0].levels.len() as u64;
        assert!(about.abs_diff(share) <= error, "{from}..{to}: {about}, and {share} would be fair of {all}");
    }
    let after = db.stats().pages;
    assert_eq!(after.data_reads, before.data_reads);
    assert!(after.index_reads - before.index_reads <= 6 * 2 * tables);
}

#[test]
fn a_small_memtable_counts_all_versions_of_the_keys_inside_the_bounds_and_no_other() {
    use std::ops::Bound::{Excluded, Included, Unbounded};

    let db = open(&MemStorage::new(1));
    let space = db.default_keyspace();
    put(&space, [1, 2, 2, 2, 3]);
    let entry = db.stats().memory.memtable_bytes / 5;
    let count = |lower, upper| space.approximate_bytes::<Vec<u8>, _>((lower, upper)).unwrap() / entry;
    assert_eq!(count(Included(key(2)), Included(key(2))), 3);
    assert_eq!(count(Included(key(1)), Excluded(key(2))), 1);
    assert_eq!(count(Excluded(key(1)), Included(key(3))), 4);
    assert_eq!(count(Excluded(key(2)), Unbounded), 1);
    assert_eq!(count(Unbounded, Excluded(key(3))), 4);
    assert_eq!(count(Excluded(key(1)), Excluded(key(2))), 0);
}

#[test]
fn ranges_without_a_key_have_no_bytes() {
    let db = levels();
    let space = db.default_keyspace();
    let nothing =
        |from: &[u8], to: &[u8]| assert_eq!(space.approximate_bytes(from..to).unwrap(), 0, "{from:?}");
    nothing(&key(500), &key(500));
    nothing(&key(900), &key(100));
    nothing(b"z", b"a");
    nothing(b"z", b"zz");
    nothing(b"", b"key");
    nothing(b"", b"");
    let db = open(&MemStorage::new(2));
    assert_eq!(db.default_keyspace().approximate_bytes::<&[u8], _>(..).unwrap(), 0);
}

/// A wider range is never said to be smaller, at whatever keys it ends.
#[test]
fn bytes_grow_with_the_range() {
    let db = levels();
    let space = db.default_keyspace();
    put(&space, 1_000..1_100);
    let mut last = 0;
    for to in (0..6_100).step_by(17) {
        let about = space.approximate_bytes(key(100)..key(to)).unwrap();
        assert!(about >= last, "..{to}: {about} after {last}");
        last = about;
    }
    db.close().unwrap();
    assert_eq!(space.approximate_len().unwrap_err().kind(), kiban::ErrorKind::Closed);
    assert_eq!(space.approximate_bytes(key(1)..).unwrap_err().kind(), kiban::ErrorKind::Closed);
}
