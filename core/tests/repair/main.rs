//! Repair: whatever is missing or damaged, the store opens afterwards, is clean, and has all that
//! could be read; the report says what could not.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

#[path = "../common/env.rs"]
mod env;
#[path = "../common/history.rs"]
mod history;
mod log;
#[path = "../common/rng.rs"]
mod rng;
#[path = "../common/seeds.rs"]
mod seeds;
#[path = "../common/store.rs"]
mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::env_u64;
use history::{Batch, Contents, SPACES, Writer, apply};
use kiban::storage::{Effect, Fault, MemStorage, Op, SimStorage, Storage};
use kiban::{Db, Durability, ErrorKind, RepairReport, Result};
use rng::Rng;
use seeds::for_each_seed;
use store::{Store, dir, tiny};

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

fn repair(disk: &(impl Storage + Clone + 'static)) -> Result<RepairReport> {
    Db::builder(dir()).storage(Arc::new(disk.clone())).settings(tiny()).repair()
}

fn open(disk: &(impl Storage + Clone + 'static)) -> Result<Db> {
    Db::builder(dir()).storage(Arc::new(disk.clone())).settings(tiny()).create_if_missing(false).open()
}

fn path(name: &str) -> PathBuf {
    dir().join(name)
}

/// Names of the files with this in their name, in order.
fn names(disk: &impl Storage, part: &str) -> Vec<String> {
    let mut names: Vec<String> = disk.list(dir()).unwrap().into_iter().map(|entry| entry.name).collect();
    names.retain(|name| name.contains(part));
    names.sort();
    names
}

fn files(disk: &MemStorage) -> BTreeMap<String, Vec<u8>> {
    names(disk, "").into_iter().map(|name| (name.clone(), disk.bytes(&path(&name)).unwrap())).collect()
}

/// All keyspaces of the store, which opens as if nothing had been, and has no fault.
fn contents(disk: &(impl Storage + Clone + 'static)) -> BTreeMap<String, Pairs> {
    let db = open(disk).unwrap();
    let report = db.verify().unwrap();
    assert!(report.is_clean(), "{report:?}");
    let pairs = |name: &String| {
        let space = db.keyspace(name).unwrap();
        let all: Pairs =
            space.iter().map(|pair| pair.map(|(k, v)| (k.to_vec(), v.to_vec())).unwrap()).collect();
        for (key, value) in &all {
            assert_eq!(space.get(key).unwrap().as_deref(), Some(&value[..]));
        }
        all
    };
    let all = db.keyspaces().unwrap().iter().map(|name| (name.clone(), pairs(name))).collect();
    db.close().unwrap();
    // It opens again, with the leftovers gone.
    open(disk).unwrap().close().unwrap();
    all
}

/// As `contents` shows it; `other` by another name where that is lost.
fn expected(contents: &Contents, other: &str) -> BTreeMap<String, Pairs> {
    BTreeMap::from([(SPACES[0].to_owned(), contents[0].clone()), (other.to_owned(), contents[1].clone())])
}

/// A closed store with several levels, overwritten and deleted keys, and a log.
fn filled(disk: &(impl Storage + Clone + 'static), seed: u64) -> Contents {
    filled_with_history(disk, seed).0
}

/// The same with all that was ever written.
fn filled_with_history(disk: &(impl Storage + Clone + 'static), seed: u64) -> (Contents, Vec<Batch>) {
    let store = Store::open(Arc::new(disk.clone()), tiny()).unwrap();
    let (mut rng, mut writer, mut contents) = (Rng::new(seed), Writer::default(), Contents::default());
    let mut history = Vec::new();
    for round in 0..4 {
        for _ in 0..20 + rng.below(40) {
            let batch = writer.batch(&mut rng);
            store.write(&batch, *rng.pick(&[Durability::Buffered, Durability::Sync])).unwrap();
            apply(&mut contents, &batch);
            history.push(batch);
        }
        match round {
            0 | 2 if rng.percent(60) => store.spaces[round / 2].compact().unwrap(),
            1 => store.db.flush().unwrap(),
            _ => {}
        }
    }
    store.db.wait_idle().unwrap();
    store.check_reads(&contents).unwrap();
    assert!(store.contents().unwrap() == contents);
    store.db.close().unwrap();
    (contents, history)
}

/// One run of tables in `default`, all of equal records, and a few later writes in the log.
fn run_of_tables(disk: &(impl Storage + Clone + 'static)) -> Pairs {
    let db = Db::builder(dir()).storage(Arc::new(disk.clone())).settings(tiny()).open().unwrap();
    let space = db.default_keyspace();
    let mut pairs = Pairs::new();
    let mut put = |no: u32, value: u8| {
        let (key, value) = (format!("key-{no:05}").into_bytes(), vec![value; 100]);
        space.put(&key, &value).unwrap();
        pairs.insert(key, value);
    };
    (0..600).for_each(|no| put(no, 1));
    space.compact().unwrap();
    db.wait_idle().unwrap();
    (0..5).for_each(|no| put(no * 100, 2));
    db.close().unwrap();
    pairs
}

#[test]
fn a_store_without_a_fault_is_left_as_it_is() {
    let disk = MemStorage::new(1);
    filled(&disk, 1);
    let before = files(&disk);
    let report = repair(&disk).unwrap();
    assert!(report.healthy && !report.rebuilt, "{report:?}");
    assert_eq!(report.keyspaces, SPACES);
    assert_eq!(report.tables_kept, names(&disk, ".sst").len() as u64);
    assert!(files(&disk) == before);
    assert!(disk.list(&path("lost")).is_err());
}

#[test]
fn nothing_is_repaired_where_no_store_is_or_somebody_has_it_open() {
    let disk = MemStorage::new(1);
    assert_eq!(repair(&disk).unwrap_err().kind(), ErrorKind::NotFound);
    disk.create_dir_all(dir()).unwrap();
    assert_eq!(repair(&disk).unwrap_err().kind(), ErrorKind::NotFound);
    disk.set_bytes(&path("letter.txt"), b"dear".to_vec());
    assert_eq!(repair(&disk).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(names(&disk, ""), ["letter.txt"]);

    let disk = MemStorage::new(1);
    let store = Store::open(Arc::new(disk.clone()), tiny()).unwrap();
    assert_eq!(repair(&disk).unwrap_err().kind(), ErrorKind::Locked);
    store.db.close().unwrap();
    assert!(repair(&disk).unwrap().healthy);
    // A newer format is no damage.
    let mut pointer = disk.bytes(&path("CURRENT")).unwrap();
    pointer[8] = 9;
    let crc = kiban_formats::crc::crc32(&pointer[..60]);
    pointer[60..].copy_from_slice(&crc.to_le_bytes());
    disk.set_bytes(&path("CURRENT"), pointer);
    assert_eq!(repair(&disk).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn a_pointer_that_is_lost_or_damaged_is_written_anew() {
    for damage in ["gone", "empty", "cut", "garbage"] {
        let disk = MemStorage::new(1);
        let contents_before = filled(&disk, 2);
        let pointer = disk.bytes(&path("CURRENT")).unwrap();
        match damage {
            "gone" => disk.remove(&path("CURRENT")).unwrap(),
            "empty" => disk.set_bytes(&path("CURRENT"), Vec::new()),
            "cut" => disk.set_bytes(&path("CURRENT"), pointer[..40].to_vec()),
            _ => disk.set_bytes(&path("CURRENT"), vec![0xA5; 64]),
        }
        assert_eq!(open(&disk).unwrap_err().kind(), ErrorKind::Corruption, "{damage}");
        let report = repair(&disk).unwrap();
        assert!(!report.healthy && !report.rebuilt && report.tables_lost.is_empty(), "{report:?}");
        assert_eq!(report.damage[0].file, "CURRENT");
        assert_eq!(report.moved.contains(&"CURRENT".to_owned()), damage != "gone");
        assert!(contents(&disk) == expected(&contents_before, "other"), "{damage}");
    }
}

/// Whatever is left of it: tables say whose they are, the log has the rest.
#[test]
fn a_manifest_that_is_lost_or_damaged_is_made_anew_from_the_tables_and_the_log() {
    let (from, count) = (env_u64("KIBAN_SEED_FROM", 0), env_u64("KIBAN_SEEDS", 24));
    for_each_seed("a_manifest_that_is_lost_or_damaged", from, count, |seed| {
        for damage in ["gone", "empty", "cut", "garbage", "byte", "all gone"] {
            let disk = MemStorage::new(seed);
            let contents_before = filled(&disk, seed);
            let name = names(&disk, "MANIFEST").pop().unwrap();
            let bytes = disk.bytes(&path(&name)).unwrap();
            let mut changed = bytes.clone();
            match damage {
                "gone" | "all gone" => disk.remove(&path(&name)).unwrap(),
                "empty" => disk.set_bytes(&path(&name), Vec::new()),
                "cut" => disk.set_bytes(&path(&name), bytes[..bytes.len() / 2].to_vec()),
                "garbage" => disk.set_bytes(&path(&name), vec![0x5A; bytes.len()]),
                _ => {
                    changed[bytes.len() * 2 / 3] ^= 0x10;
                    disk.set_bytes(&path(&name), changed);
                }
            }
            if damage == "all gone" {
                disk.remove(&path("CURRENT")).unwrap();
            }
            let report = repair(&disk).unwrap();
            assert!(report.tables_lost.is_empty(), "{damage}: {report:?}");
            let found = contents(&disk);
            let other = if found.contains_key("other") { "other" } else { "recovered-1" };
            if ["gone", "empty", "garbage"].contains(&damage) {
                assert_eq!(other, "recovered-1");
            }
            assert!(found == expected(&contents_before, other), "{damage}: {report:?}");
        }
    });
}

/// An edit that was durable is gone, and what is left looks whole.
#[test]
fn a_manifest_cut_between_two_edits_is_seen_to_be_too_old() {
    let mut rebuilt = 0;
    for seed in 0..12 {
        let disk = MemStorage::new(seed);
        let contents_before = filled(&disk, seed);
        let name = names(&disk, "MANIFEST").pop().unwrap();
        let bytes = disk.bytes(&path(&name)).unwrap();
        // Edits are 8-byte aligned frames; any cut leaves whole ones and a torn tail.
        for part in 3..8 {
            let disk = disk.fork();
            disk.set_bytes(&path(&name), bytes[..bytes.len() * part / 8].to_vec());
            if repair(&disk).unwrap().rebuilt {
                rebuilt += 1;
            }
            let found = contents(&disk);
            let other = if found.contains_key("other") { "other" } else { "recovered-1" };
            assert!(found == expected(&contents_before, other), "seed {seed}, part {part}");
        }
    }
    assert!(rebuilt > 10, "{rebuilt}");
}

#[test]
fn a_table_that_is_gone_takes_only_its_own_keys_along() {
    let disk = MemStorage::new(1);
    let pairs = run_of_tables(&disk);
    let tables = names(&disk, ".sst");
    assert!(tables.len() > 2);
    disk.remove(&path(&tables[1])).unwrap();
    let report = repair(&disk).unwrap();
    assert!(!report.rebuilt);
    assert_eq!(report.tables_lost.len(), 1);
    assert_eq!((&report.tables_lost[0].file, report.tables_lost[0].entries_saved), (&tables[1], 0));
    assert_eq!(report.tables_kept, tables.len() as u64 - 1);
    let found = contents(&disk).remove("default").unwrap();
    assert!(found.iter().all(|(key, value)| pairs.get(key) == Some(value)));
    let lost: Vec<_> = pairs.keys().filter(|key| !found.contains_key(*key)).collect();
    assert!((100..300).contains(&lost.len()), "{}", lost.len());
    let range = lost[0]..=lost[lost.len() - 1];
    let spared = pairs.keys().filter(|key| range.contains(key) && found.contains_key(*key)).count();
    assert!(spared <= 2, "what is in the log is there");
    assert!(repair(&disk).unwrap().healthy);
}

#[test]
fn of_a_damaged_table_all_but_the_damaged_page_is_kept() {
    let template = MemStorage::new(1);
    let pairs = run_of_tables(&template);
    let table = names(&template, ".sst")[0].clone();
    let bytes = template.bytes(&path(&table)).unwrap();
    for (place, lost_most) in
        [(9_000, 40), (bytes.len() / 2, 40), (bytes.len() - 300, 0), (bytes.len() - 100, 160)]
    {
        let disk = template.fork();
        let mut changed = bytes.clone();
        changed[place] ^= 0x40;
        disk.set_bytes(&path(&table), changed.clone());
        let report = repair(&disk).unwrap();
        let [loss] = &report.tables_lost[..] else { panic!("{report:?}") };
        assert_eq!(loss.file, table, "byte {place}");
        assert!(!loss.what.is_empty());
        assert_eq!(disk.bytes(&path("lost").join(&table)).unwrap(), changed, "it is kept as it was");
        let found = contents(&disk).remove("default").unwrap();
        assert!(found.iter().all(|(key, value)| pairs.get(key) == Some(value)), "byte {place}");
        let lost = pairs.len() - found.len();
        assert!(lost <= lost_most, "byte {place}: {lost} keys are lost, {report:?}");
        assert!(lost > 0 || lost_most == 0, "byte {place}");
    }
}

/// Does something bad to a file.
fn spoil(disk: &MemStorage, rng: &mut Rng) -> String {
    let all = names(disk, "");
    let name = rng.pick(&all).clone();
    let mut bytes = disk.bytes(&path(&name)).unwrap();
    let place = rng.below(bytes.len().max(1));
    let what = match rng.below(6) {
        0 => {
            disk.remove(&path(&name)).unwrap();
            return format!("{name} is gone");
        }
        1 => {
            bytes.truncate(place);
            "is cut"
        }
        2 => {
            bytes.extend(vec![0x5A; place]);
            "is longer"
        }
        3 => {
            let end = (place + 600).min(bytes.len());
            bytes[place.min(end)..end].fill(0);
            "has a hole"
        }
        4 => {
            bytes = disk.bytes(&path(&all[rng.below(all.len())])).unwrap();
            "is another file"
        }
        _ => {
            if let Some(byte) = bytes.get_mut(place) {
                *byte ^= 1 << rng.below(8);
            }
            "has a changed bit"
        }
    };
    disk.set_bytes(&path(&name), bytes);
    format!("{name} {what} at {place}")
}

/// Nothing that was not written comes up, and no keyspace's pairs in another.
#[test]
fn whatever_happens_to_its_files_the_store_opens_afterwards() {
    let (from, count) = (env_u64("KIBAN_SEED_FROM", 0), env_u64("KIBAN_SEEDS", 60));
    for_each_seed("whatever_happens_to_its_files", from, count, |seed| {
        let template = MemStorage::new(seed);
        let (_, history) = filled_with_history(&template, seed);
        let changes = history.iter().flatten();
        let written: BTreeSet<_> = changes.map(|change| (change.space, &change.key, &change.value)).collect();
        let mut rng = Rng::new(seed);
        for _ in 0..6 {
            let disk = template.fork();
            let spoilt: Vec<String> = (0..1 + rng.below(3)).map(|_| spoil(&disk, &mut rng)).collect();
            let report = repair(&disk).unwrap_or_else(|error| panic!("{spoilt:?}: {error}"));
            for (name, pairs) in contents(&disk) {
                let space = usize::from(name != "default");
                for (key, value) in pairs {
                    let is_written = written.contains(&(space, &key, &Some(value)));
                    assert!(is_written, "{spoilt:?}: {name}, {}, {report:?}", key.escape_ascii());
                }
            }
            let again = repair(&disk).unwrap();
            assert!(again.healthy, "{spoilt:?}: {again:?}");
        }
    });
}

/// A closed store on the simulated disk that lacks its manifest and has a damaged table.
fn broken() -> (SimStorage, BTreeMap<String, Pairs>) {
    let disk = SimStorage::new(5);
    filled(&disk, 5);
    let disk = disk.kill();
    let table = names(&disk, ".sst")[0].clone();
    let mut bytes = disk.bytes(&path(&table)).unwrap();
    bytes[4_000] ^= 1;
    disk.set_bytes(&path(&table), &bytes).unwrap();
    let manifest = names(&disk, "MANIFEST").pop().unwrap();
    let bytes = disk.bytes(&path(&manifest)).unwrap();
    disk.set_bytes(&path(&manifest), &bytes[..bytes.len() / 3]).unwrap();
    // A file that compaction removed and a power cut brings back cannot be told from a live one.
    disk.sync_dir(dir()).unwrap();
    let trial = disk.kill();
    let template = trial.kill();
    repair(&template).unwrap();
    let expected = contents(&template);
    (trial, expected)
}

#[test]
fn a_repair_that_fails_or_is_cut_short_can_be_done_again() {
    let (template, expected) = broken();
    let tables = names(&template.kill(), ".sst");
    let pointer = template.bytes(&path("CURRENT")).unwrap();
    let changed = |disk: &SimStorage| disk.bytes(&path("CURRENT")).ok().as_ref() != Some(&pointer);
    for effect in [Effect::Eio, Effect::NoSpace, Effect::Crash] {
        for nth in 1.. {
            let disk = template.kill();
            // What the device cannot read is damage, and is lost.
            let fault = Fault::at(nth, effect);
            disk.inject(fault);
            let before = disk.operations();
            let repaired = repair(&disk);
            let done = disk.operations() - before < nth;
            let what = format!("{effect:?} at operation {nth}");
            if repaired.is_err() && effect != Effect::Crash && !changed(&disk) {
                assert_eq!(names(&disk, ".sst"), tables, "{what}: tables are left");
            }
            let left = if effect == Effect::Crash { disk.reboot(nth) } else { disk.kill() };
            if repaired.is_err() {
                repair(&left).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(contents(&left) == expected, "{what}");
            }
            if done {
                break;
            }
        }
    }
}

#[test]
fn a_table_that_the_device_cannot_read_is_lost_and_no_more() {
    let disk = SimStorage::new(1);
    let pairs = run_of_tables(&disk);
    let disk = disk.kill();
    let name: &'static str = names(&disk, ".sst")[1].clone().leak();
    disk.inject(Fault::at_op(Op::Read, 1, Effect::Eio).on(name).for_good());
    let report = repair(&disk).unwrap();
    assert_eq!(report.tables_lost.len(), 1);
    assert_eq!(report.tables_lost[0].file, name);
    disk.clear_faults();
    let found = contents(&disk).remove("default").unwrap();
    assert!(found.len() > pairs.len() / 2 && found.len() < pairs.len());
    assert!(disk.list(Path::new("/store/lost")).unwrap().iter().any(|entry| entry.name == name));
}
