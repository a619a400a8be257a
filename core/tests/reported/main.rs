//! Faults that users of engines of this kind reported in public, each as a test named for its
//! fault (`hNN`). Others stand beside their kin: `grep -rn 'fn h[0-9]' core/tests`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

#[path = "../common/actor.rs"]
mod actor;
#[path = "../common/rng.rs"]
mod rng;

mod compaction;
#[cfg(unix)]
mod full_disk;
mod indexes;
mod iterators;
mod levels;
mod manifest_full;
#[cfg(unix)]
mod one_byte;

use std::collections::BTreeMap;
use std::path::Path;

use kiban::{Db, Durability, Iter, Keyspace, Settings};

/// The parts that children of these tests play. Not a test of its own: does nothing in the test
/// run itself.
#[cfg(unix)]
#[test]
fn child() {
    let Some((role, dir)) = actor::role() else { return };
    match role.as_str() {
        "fill" => full_disk::fill(&dir),
        "fill a small disk" => full_disk::fill_a_small_disk(&dir),
        "flip 0" => one_byte::flip(0, &dir),
        "flip 1" => one_byte::flip(1, &dir),
        other => panic!("no such role: {other}"),
    }
}

/// What must not make a difference: how tables are read, and how writes are made durable.
#[derive(Clone, Copy, Debug)]
struct Mode {
    mapped: bool,
    durability: Durability,
}

const MODES: [Mode; 2] = [
    Mode { mapped: false, durability: Durability::Sync },
    Mode { mapped: true, durability: Durability::Buffered },
];

impl Mode {
    /// Settings so small that a few thousand keys make several levels.
    fn settings(self) -> Settings {
        Settings {
            cache_bytes: 256 << 10,
            memtable_bytes: 64 << 10,
            memtables_total_bytes: 512 << 10,
            table_bytes: 64 << 10,
            level_ratio: 4,
            log_bytes_max: 1 << 20,
            background_threads: 2,
            mmap_max_level: self.mapped.then_some(u32::MAX),
            durability: self.durability,
            ..Settings::default()
        }
    }

    fn open(self, dir: &Path) -> Db {
        Db::builder(dir).settings(self.settings()).open().unwrap()
    }
}

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn pairs(items: Iter) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    items.map(|pair| pair.unwrap()).map(|(key, value)| (key.into(), value.into()))
}

/// Scans both ways and looks up each key both ways: all must say what the model says.
fn check(space: &Keyspace, model: &Model, also: &[Vec<u8>], when: &str) {
    assert!(pairs(space.iter()).eq(model.clone()), "{when}: a forward scan differs");
    let mut backward: Vec<_> = space.iter().rev().map(|pair| pair.unwrap()).collect();
    backward.reverse();
    assert!(
        backward
            .iter()
            .map(|(key, value)| (&key[..], &value[..]))
            .eq(model.iter().map(|(key, value)| (&key[..], &value[..]))),
        "{when}: a reverse scan differs"
    );
    let keys: Vec<&[u8]> = model.keys().chain(also).map(Vec::as_slice).collect();
    let many = space.multi_get(&keys).unwrap();
    for (key, many) in keys.iter().zip(many) {
        let expected = model.get(*key).map(Vec::as_slice);
        assert_eq!(space.get(key).unwrap().as_deref(), expected, "{when}: get of {}", key.escape_ascii());
        assert_eq!(many.as_deref(), expected, "{when}: multi_get of {}", key.escape_ascii());
    }
}
