//! Inserts that vanish, and roads to a key that disagree.

use std::path::Path;
use std::thread;

use kiban::{Db, Durability, Settings, WriteBatch};

use crate::rng::Rng;
use crate::{MODES, Mode, Model, check, pairs};

#[test]
fn h09_no_insert_vanishes_with_several_workers() {
    const KEYS: u32 = 60_000;
    for (run, mode) in [MODES[1], MODES[0], MODES[1]].into_iter().enumerate() {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings {
            memtable_bytes: 256 << 10,
            memtables_total_bytes: 2 << 20,
            background_threads: 2 + run as u32,
            durability: Durability::Buffered,
            ..mode.settings()
        };
        let db = Db::builder(dir.path()).settings(settings).open().unwrap();
        let value = |no: u32| no.to_le_bytes().repeat(64);
        thread::scope(|scope| {
            for writer in 0..2 {
                let ks = db.default_keyspace();
                scope.spawn(move || {
                    // Neighbours are far apart in time.
                    let numbers = (0..KEYS).filter(|no| no % 2 == writer);
                    numbers.for_each(|no| {
                        let key = no.wrapping_mul(0x9E37_79B1).to_be_bytes();
                        ks.put(key, value(no)).unwrap();
                    });
                });
            }
        });
        let ks = db.default_keyspace();
        for no in 0..KEYS {
            let found = ks.get(no.wrapping_mul(0x9E37_79B1).to_be_bytes()).unwrap();
            assert!(found.is_some_and(|found| found == value(no)), "run {run}: key {no} is missing");
        }
        assert_eq!(pairs(ks.iter()).count(), KEYS as usize, "run {run}");
        db.wait_idle().unwrap();
        assert_eq!(pairs(ks.iter()).count(), KEYS as usize, "run {run}, at rest");
    }
}

const KEYS: usize = 5_000;

fn key(no: usize) -> Vec<u8> {
    format!("{no:05}").into_bytes()
}

/// A store, what must be in it, and who writes to it.
struct Walk<'a> {
    mode: Mode,
    dir: &'a Path,
    db: Db,
    model: Model,
    rng: Rng,
    step: u64,
}

impl Walk<'_> {
    /// Most puts are long enough for several levels.
    fn put(&mut self) {
        let value = self.step.to_le_bytes().repeat(1 + self.rng.below(40));
        let key = key(self.rng.below(KEYS));
        let durability = *self.rng.pick(&[Durability::Buffered, Durability::Buffered, Durability::Sync]);
        self.db.default_keyspace().put_with(&key, &value, durability).unwrap();
        self.model.insert(key, value);
    }

    fn delete(&mut self) {
        let key = key(self.rng.below(KEYS));
        self.db.default_keyspace().delete(&key).unwrap();
        self.model.remove(&key);
    }

    fn batch(&mut self) {
        let ks = self.db.default_keyspace();
        let mut batch = WriteBatch::new();
        for _ in 0..30 {
            let key = key(self.rng.below(KEYS));
            if self.rng.percent(30) {
                batch.delete(&ks, &key);
                self.model.remove(&key);
            } else {
                batch.put(&ks, &key, self.step.to_be_bytes());
                self.model.insert(key, self.step.to_be_bytes().to_vec());
            }
        }
        self.db.write(batch).unwrap();
    }

    fn step(&mut self) {
        self.step += 1;
        let ks = self.db.default_keyspace();
        match self.rng.below(200) {
            0..100 => self.put(),
            100..150 => self.delete(),
            150..196 => self.batch(),
            196 | 197 => ks.flush().unwrap(),
            198 => {
                let from = self.rng.below(KEYS);
                ks.compact_range(key(from)..key(from + KEYS / 10)).unwrap();
            }
            _ => {
                drop(ks);
                self.db.close().unwrap();
                self.db = self.mode.open(self.dir);
            }
        }
    }
}

#[test]
fn h10_get_multi_get_and_scans_agree_and_verify_proves_the_levels() {
    for mode in MODES {
        let dir = tempfile::tempdir().unwrap();
        let db = mode.open(dir.path());
        let mut walk = Walk { mode, dir: dir.path(), db, model: Model::new(), rng: Rng::new(10), step: 0 };
        let all: Vec<Vec<u8>> = (0..KEYS).map(key).collect();
        for round in 0..12 {
            (0..200).for_each(|_| walk.step());
            check(&walk.db.default_keyspace(), &walk.model, &all, &format!("{mode:?}, round {round}"));
            let report = walk.db.verify().unwrap();
            assert!(report.is_clean(), "{mode:?}, round {round}: {:?}", report.problems);
        }
        walk.db.wait_idle().unwrap();
        assert!(walk.db.stats().keyspaces[0].levels.len() > 1, "{mode:?}: no deeper level");
    }
}
