//! Odd keys, values and batches that users of engines of this kind reported, as tests.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod memory;
}

use std::collections::BTreeMap;
use std::sync::Arc;

use common::memory::{open, open_with, settings};
use kiban::storage::{CountingStorage, MemStorage, SimStorage};
use kiban::{Db, Durability, ErrorKind, Keyspace, Result, Settings, WriteBatch};

#[test]
fn h11_put_delete_put_of_one_key_in_one_memtable_flushes() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    let space = db.default_keyspace();
    space.put("k", "1").unwrap();
    space.delete("k").unwrap();
    space.put("k", "2").unwrap();
    space.flush().unwrap();
    assert_eq!(space.get("k").unwrap().unwrap(), b"2");
    db.close().unwrap();
    let space = open(&disk).default_keyspace();
    assert_eq!(space.get("k").unwrap().unwrap(), b"2");
    let all: Vec<_> = space.iter().map(Result::unwrap).collect();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].1, b"2");
}

/// The longest value that is taken needs 8 GiB to show; `just big-values` does.
#[test]
fn h35_a_value_of_four_gib_is_refused_before_anything_is_written() {
    let counting = CountingStorage::new(Arc::new(MemStorage::new(1)));
    let db = open_with(counting.clone(), settings()).unwrap();
    let space = db.default_keyspace();
    space.put("before", "1").unwrap();
    counting.reset();
    for bytes in [1_usize << 32, (1 << 32) + 1] {
        // Zero pages that are never touched.
        let value = vec![0; bytes];
        let error = space.put("big", &value).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains("4294967295"), "{error}");
        let mut batch = WriteBatch::new();
        batch.put(&space, "small", "in a batch that is refused");
        batch.put(&space, "big", &value);
        assert_eq!(db.write(batch).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    let key = vec![7; 131_073];
    assert_eq!(space.put(&key, "1").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(space.delete(&key).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(space.get(&key).unwrap(), None);
    assert_eq!(
        counting.counts().values().map(|file| file.append_bytes).sum::<u64>(),
        0,
        "something was written"
    );

    space.put(&key[1..], "longest").unwrap();
    space.put("small", "2").unwrap();
    db.flush().unwrap();
    assert_eq!(space.get("big").unwrap(), None);
    assert_eq!(space.get("small").unwrap().unwrap(), b"2");
    assert_eq!(space.get(&key[1..]).unwrap().unwrap(), b"longest");
}

#[test]
fn h36_a_huge_batch_is_applied_whole_or_not_at_all() {
    let disk = SimStorage::new(1);
    let small = Settings { memtable_bytes: 64 << 10, memtables_total_bytes: 256 << 10, ..settings() };
    let db = open_with(disk.clone(), small.clone()).unwrap();
    let space = db.default_keyspace();
    db.write(WriteBatch::new()).unwrap();
    db.write_with(WriteBatch::default(), Durability::Sync).unwrap();

    let mut many = WriteBatch::new();
    (0..200_000_u32).for_each(|number| many.put(&space, number.to_be_bytes(), format!("value {number}")));
    assert_eq!(many.len(), 200_000);
    db.write(many).unwrap();
    let mut large = WriteBatch::new();
    (0..8).for_each(|number: u32| large.put(&space, (number << 8).to_le_bytes(), vec![1; 64 << 10]));
    let snapshot = db.snapshot();
    db.write(large).unwrap();
    assert_eq!(snapshot.iter(&space).count(), 200_000);

    // The death of the process, and power cuts: each batch is there or not.
    for seed in 0..8 {
        let left = if seed == 0 { disk.kill() } else { disk.reboot(seed) };
        let db = open_with(left, small.clone()).unwrap();
        let count = db.default_keyspace().iter().map(Result::unwrap).count();
        let legal: &[usize] = if seed == 0 { &[200_000 + 4] } else { &[0, 200_000, 200_000 + 4] };
        assert!(legal.contains(&count), "seed {seed}: {count} keys");
    }
}

#[test]
fn h37_the_empty_key_is_a_key() {
    let disk = MemStorage::new(1);
    let db = open(&disk);
    db.default_keyspace().put("", "e").unwrap();
    db.default_keyspace().put([0], "z").unwrap();
    let check = |space: &Keyspace| {
        assert_eq!(space.get("").unwrap().unwrap(), b"e");
        assert!(space.contains("").unwrap());
        let mut cursor = space.cursor();
        assert!(cursor.first().unwrap());
        assert_eq!((cursor.key(), cursor.value()), (&b""[..], &b"e"[..]));
        assert!(cursor.seek("").unwrap());
        assert_eq!(cursor.key(), b"");
        assert!(cursor.seek_lt([0]).unwrap());
        assert_eq!(cursor.key(), b"");
        assert!(!cursor.seek_lt("").unwrap());
        assert!(cursor.last().unwrap());
        assert_eq!(cursor.key(), [0]);
    };
    check(&db.default_keyspace());
    db.flush().unwrap();
    check(&db.default_keyspace());
    db.close().unwrap();
    let db = open(&disk);
    let space = db.default_keyspace();
    check(&space);
    space.delete("").unwrap();
    assert_eq!(space.get("").unwrap(), None);
    db.flush().unwrap();
    assert_eq!(space.get("").unwrap(), None);
    assert_eq!(space.iter().map(Result::unwrap).count(), 1);
}

#[test]
fn h38_the_last_operation_on_a_key_in_a_batch_wins() {
    let check = |db: &Db, stage: &str| {
        let space = db.default_keyspace();
        let found: BTreeMap<Vec<u8>, Vec<u8>> =
            space.iter().map(Result::unwrap).map(|(key, value)| (key.into(), value.into())).collect();
        let expected = [("i", "1"), ("k", "3")].map(|(key, value)| (key.into(), value.into()));
        assert_eq!(found, BTreeMap::from(expected), "{stage}");
        assert_eq!(space.iter().count(), 2, "{stage}: each once");
        assert_eq!(space.get("k").unwrap().unwrap(), b"3", "{stage}");
        assert_eq!(space.get("j").unwrap(), None, "{stage}");
        assert_eq!(space.get("i").unwrap().unwrap(), b"1", "{stage}");
    };
    let disk = MemStorage::new(1);
    let db = open(&disk);
    let space = db.default_keyspace();
    let mut batch = WriteBatch::new();
    batch.put(&space, "k", "1");
    batch.delete(&space, "k");
    batch.put(&space, "k", "2");
    batch.put(&space, "k", "3");
    db.write(batch).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(&space, "j", "1");
    batch.delete(&space, "j");
    db.write(batch).unwrap();
    let mut batch = WriteBatch::new();
    batch.delete(&space, "i");
    batch.put(&space, "i", "1");
    db.write(batch).unwrap();
    check(&db, "in memory");
    check(&open(&disk.fork()), "from the log");
    db.flush().unwrap();
    check(&db, "from a table");
    db.close().unwrap();
    check(&open(&disk), "reopened");
}

#[test]
fn at_most_open_files_max_tables_are_open_and_all_are_read() {
    let settings = Settings {
        table_bytes: 4 << 10,
        open_files_max: 16,
        filter_bits_per_key: 0,
        background_threads: 1,
        ..settings()
    };
    for mmap_max_level in [None, Some(9)] {
        let db = open_with(MemStorage::new(1), Settings { mmap_max_level, ..settings.clone() }).unwrap();
        let space = db.default_keyspace();
        for no in 0..2_000_u32 {
            space.put(no.to_be_bytes(), [no as u8; 100]).unwrap();
        }
        space.compact().unwrap();
        // Nobody else opens tables.
        db.wait_idle().unwrap();
        let levels = || db.stats().keyspaces[0].levels.clone();
        assert!(levels().iter().map(|level| level.tables).sum::<u64>() > 40);
        let held = space.get(0_u32.to_be_bytes()).unwrap().unwrap();
        for no in (0..2_000_u32).rev() {
            assert_eq!(space.get(no.to_be_bytes()).unwrap().unwrap()[0], no as u8);
            let open: u64 = levels().iter().map(|level| level.open_tables).sum();
            assert!((1..=16).contains(&open), "{open} are open");
        }
        assert_eq!(space.iter().count(), 2_000);
        assert_eq!(held, [0; 100], "a value outlives its table's handle");
    }
}

#[test]
fn filters_that_the_budget_has_no_room_for_are_denied_and_cost_no_answer() {
    for (cache_bytes, denied) in [(0, true), (20 << 10, true), (8 << 20, false)] {
        let db = open_with(MemStorage::new(1), Settings { cache_bytes, table_bytes: 32 << 10, ..settings() })
            .unwrap();
        let space = db.default_keyspace();
        for no in 0..20_000_u32 {
            space.put((2 * no).to_be_bytes(), b"").unwrap();
        }
        space.compact().unwrap();
        for no in 0..40_000_u32 {
            assert_eq!(space.contains(no.to_be_bytes()).unwrap(), no % 2 == 0, "{no}");
        }
        let memory = db.stats().memory;
        assert_eq!(memory.denied_bytes > 0, denied, "{memory:?}");
        assert_eq!(memory.filter_bytes > 0, cache_bytes > 0, "{memory:?}");
        assert!(memory.filter_bytes <= cache_bytes / 2, "{memory:?}");
    }
}
