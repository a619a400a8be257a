//! Ingest: its order and place among other writes, its life cycles, and what faults leave of it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod faults;
mod lives;
#[path = "../common/memory.rs"]
mod memory;
mod order;

use kiban::storage::{MemStorage, Storage};
use kiban::{Db, Iter};
use memory::dir;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn own((key, value): (kiban::Key, kiban::Value)) -> (Vec<u8>, Vec<u8>) {
    (key.into(), value.into())
}

fn read(iter: Iter) -> Pairs {
    iter.map(|pair| own(pair.unwrap())).collect()
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

/// Tables in each level of the default keyspace.
fn level_tables(db: &Db) -> Vec<u64> {
    let keyspaces = db.stats().keyspaces;
    let default = keyspaces.iter().find(|space| space.name == "default");
    default.iter().flat_map(|space| &space.levels).map(|level| level.tables).collect()
}
