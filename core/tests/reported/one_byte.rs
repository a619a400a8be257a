//! One changed byte in a table: a value or an error, from every call.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use kiban::{Db, Durability, Settings, WriteBatch};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::Mode;
use crate::actor::{Actor, say};
use crate::rng::Rng;

/// How many bytes are changed; more by `just flips`.
const FLIPS: u64 = 600;
const FLIPS_VARIABLE: &str = "KIBAN_FLIPS";
const CHILDREN: u64 = 2;
/// A change takes no longer than this.
const LONG: Duration = Duration::from_secs(10);

fn flips() -> u64 {
    std::env::var(FLIPS_VARIABLE).map_or(FLIPS, |text| text.parse().unwrap())
}

/// The reported case has 50,000 entries; a short run is content with fewer.
fn entries() -> u32 {
    if flips() > FLIPS { 50_000 } else { 8_000 }
}

fn open(dir: &Path, mapped: bool) -> kiban::Result<Db> {
    let mode = Mode { mapped, durability: Durability::Buffered };
    let (memtable_bytes, memtables_total_bytes) = (8 << 20, 32 << 20);
    let settings =
        Settings { memtable_bytes, memtables_total_bytes, background_threads: 1, ..mode.settings() };
    Db::builder(dir).settings(settings).open()
}

fn key(no: u32) -> String {
    format!("key {no:07}")
}

fn value(no: u32) -> Vec<u8> {
    no.to_le_bytes().repeat(3 + no as usize % 20)
}

fn fill(dir: &Path) {
    let db = open(dir, false).unwrap();
    let ks = db.default_keyspace();
    let mut batch = WriteBatch::new();
    (0..entries()).for_each(|no| batch.put(&ks, key(no), value(no)));
    db.write(batch).unwrap();
    ks.compact().unwrap();
    db.wait_idle().unwrap();
    db.close().unwrap();
}

/// Tables, and the indexes beside them.
fn tables(dir: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let is_one = |path: &PathBuf| path.extension().is_some_and(|end| end == "sst" || end == "ph4");
    let mut tables: Vec<_> = files.filter(is_one).collect();
    tables.sort();
    tables
}

/// What a store with a changed byte says is right, or an error. Whether there was one.
fn read(dir: &Path, mapped: bool, rng: &mut Rng) -> bool {
    let Ok(db) = open(dir, mapped) else { return true };
    let ks = db.default_keyspace();
    let mut refused = false;
    for _ in 0..100 {
        let no = rng.below(entries() as usize + 10) as u32;
        match ks.get(key(no)) {
            Ok(found) => {
                let expected = (no < entries()).then(|| value(no));
                assert_eq!(found.as_deref(), expected.as_deref(), "get of {no}");
            }
            Err(_) => refused = true,
        }
    }
    let mut next = 0;
    for pair in ks.iter() {
        let Ok((found, found_value)) = pair else {
            refused = true;
            break;
        };
        assert_eq!(found, key(next).as_bytes(), "scan");
        assert_eq!(found_value, value(next), "scan: value of {next}");
        next += 1;
    }
    assert!(refused || next == entries(), "a scan ended after {next} keys");
    let report = db.verify();
    refused | report.is_ok_and(|report| !report.is_clean())
}

/// The child: its share of the changes, in a store of its own, with little memory.
pub(crate) fn flip(part: u64, dir: &Path) {
    let mut limit = getrlimit(Resource::As);
    limit.current = Some(1 << 30);
    setrlimit(Resource::As, limit).unwrap();
    static AT: AtomicU64 = AtomicU64::new(0);
    thread::spawn(|| {
        let mut last = 0;
        loop {
            thread::sleep(LONG);
            let now = AT.load(Ordering::Relaxed);
            if now == last {
                eprintln!("change {now} takes for ever");
                std::process::exit(9);
            }
            last = now;
        }
    });
    fill(dir);
    let tables = tables(dir);
    let total: u64 = tables.iter().map(|table| fs::metadata(table).unwrap().len()).sum();
    let mut refused = 0;
    for no in (part..flips()).step_by(CHILDREN as usize) {
        AT.store(no + 1, Ordering::Relaxed);
        let mut rng = Rng::new(no);
        // A grid over all the files, and a random place in each field of it.
        let field = (total / flips()).max(1);
        let mut place = no * total / flips() + rng.below(field as usize) as u64;
        let table = tables.iter().find(|table| {
            let len = fs::metadata(table).unwrap().len();
            let here = place < len;
            place -= if here { 0 } else { len };
            here
        });
        let Some(table) = table else { continue };
        let whole = fs::read(table).unwrap();
        let mut bytes = whole.clone();
        bytes[place as usize] ^= 1 + rng.below(255) as u8;
        let change = format!("change {no}: byte {place} of {}", table.display());
        fs::write(table, &bytes).unwrap();
        let checked = std::panic::catch_unwind(move || read_both(no));
        assert!(checked.is_ok(), "{change}");
        refused += u64::from(checked.unwrap_or(false));
        fs::write(table, whole).unwrap();
    }
    say(&format!("{refused}"));
}

fn read_both(no: u64) -> bool {
    let (_, dir) = crate::actor::role().unwrap();
    read(&dir, no.is_multiple_of(2), &mut Rng::new(no))
}

#[test]
fn h31_one_changed_byte_in_a_table_gives_a_value_or_an_error() {
    let scratch = tempfile::tempdir().unwrap();
    let children: Vec<Actor> = (0..CHILDREN)
        .map(|part| Actor::new(&format!("flip {part}"), &scratch.path().join(part.to_string())))
        .collect();
    let refused: u64 = children.into_iter().map(|child| child.finish()[0].parse::<u64>().unwrap()).sum();
    // A changed byte of padding may go unnoticed, others not.
    assert!(refused > flips() / 2, "{refused} of {} changes were noticed", flips());
}
