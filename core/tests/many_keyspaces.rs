//! Hundreds of keyspaces: none is forgotten by the background, and a batch over all of them
//! writes each operation where it belongs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod memory;
}

use common::memory::{open, open_with, settings};
use kiban::storage::MemStorage;
use kiban::{Db, Keyspace, Settings, WriteBatch};

const SPACES: usize = 600;

fn spaces_of(db: &Db) -> Vec<Keyspace> {
    (0..SPACES).map(|no| db.keyspace(&format!("space {no}")).unwrap()).collect()
}

/// Every keyspace in turn, twice over, so that no two operations on one stand together.
fn write_to_all(db: &Db, spaces: &[Keyspace], round: u32) {
    let mut batch = WriteBatch::new();
    for (key, step) in [("even", 2), ("all", 1)] {
        for (no, space) in spaces.iter().enumerate().step_by(step) {
            batch.put(space, key, format!("{no} {round}"));
        }
    }
    for space in &spaces[SPACES - 5..] {
        batch.delete(space, "all");
    }
    db.write(batch).unwrap();
}

fn check_all(spaces: &[Keyspace], round: u32) {
    for (no, space) in spaces.iter().enumerate() {
        let value = Some(format!("{no} {round}").into_bytes());
        let get = |key: &str| space.get(key).unwrap().map(Vec::from);
        assert_eq!(get("even"), value.clone().filter(|_| no % 2 == 0), "keyspace {no}");
        assert_eq!(get("all"), value.filter(|_| no < SPACES - 5), "keyspace {no}");
    }
}

#[test]
fn no_keyspace_of_many_is_forgotten() {
    let disk = MemStorage::new(1);
    let settings = Settings { level0_tables: 2, level0_stall_tables: 4, background_threads: 2, ..settings() };
    let db = open_with(disk.clone(), settings).unwrap();
    let spaces = spaces_of(&db);
    for round in 0..4 {
        write_to_all(&db, &spaces, round);
        check_all(&spaces, round);
        db.flush().unwrap();
    }
    db.wait_idle().unwrap();
    for space in &db.stats().keyspaces {
        let level0 = space.levels.first().map_or(0, |level| level.tables);
        assert!(level0 < 2 && space.memtable_entries == 0, "{}: left behind", space.name);
    }
    check_all(&spaces, 3);
    write_to_all(&db, &spaces, 4);
    db.close().unwrap();
    check_all(&spaces_of(&open(&disk)), 4);
}
