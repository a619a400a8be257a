//! Indexes beside tables: keys they could not be built of, versions, tables cut short, slow opens.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiban::inspect::{Options, inspect};
use kiban::storage::{CountingStorage, FsStorage};
use kiban::{Db, Durability, IndexPolicy, Keyspace, Settings};

use crate::{MODES, Mode, Model, check};

/// One table holds all there is, and has an index that is kept where tables are read from.
fn open(dir: &Path, mode: Mode) -> kiban::Result<Db> {
    let settings = Settings {
        cache_bytes: 4 << 20,
        memtable_bytes: 32 << 20,
        memtables_total_bytes: 64 << 20,
        table_bytes: 64 << 20,
        durability: Durability::Buffered,
        ..mode.settings()
    };
    let residency = if mode.mapped { "mapped" } else { "resident" };
    let policy = format!("[[rule]]\nbuild = [\"ph4\"]\nresidency = \"{residency}\"");
    Db::builder(dir).settings(settings).index_policy(IndexPolicy::from_toml(&policy)?).open()
}

/// Flushed, and every table has its index.
fn settle(db: &Db) {
    db.flush().unwrap();
    db.wait_idle().unwrap();
    for name in db.keyspaces().unwrap() {
        let tables = db.keyspace(&name).unwrap().explain().unwrap();
        assert!(tables.iter().all(|table| table.active == "ph4"), "{name}: {tables:?}");
    }
}

/// Regular keys, by name, each with a neighbour that is no key.
fn regular_keys() -> Vec<(&'static str, Vec<[Vec<u8>; 2]>)> {
    const COUNT: u64 = 20_000;
    fn hundreds(bytes: impl Fn(u64) -> Vec<u8>) -> Vec<[Vec<u8>; 2]> {
        (0..COUNT).map(|no| [bytes(no * 100), bytes(no * 100 + 1)]).collect()
    }
    let ends = |first: u8, middle: u8, last: u8| [&[first], &[middle; 30][..], &[last]].concat();
    let shifted = (0..56).flat_map(|shift| (1..256_u64).step_by(2).map(move |odd| (odd << shift, shift)));
    vec![
        ("hundreds, u32, little-endian", hundreds(|no| (no as u32).to_le_bytes().to_vec())),
        ("hundreds, u32, big-endian", hundreds(|no| (no as u32).to_be_bytes().to_vec())),
        ("hundreds, u64, little-endian", hundreds(|no| no.to_le_bytes().to_vec())),
        ("hundreds, u64, big-endian", hundreds(|no| no.to_be_bytes().to_vec())),
        (
            "powers of two times small odd numbers",
            shifted.map(|(no, shift)| [no, 257 << shift].map(|no: u64| no.to_be_bytes().to_vec())).collect(),
        ),
        (
            "first or last byte",
            (0..COUNT as u32 / 256 * 256)
                .map(|no| [5, 6].map(|middle| ends((no / 256) as u8, middle, no as u8)))
                .collect(),
        ),
    ]
}

#[test]
fn h39_indexes_are_built_of_regular_keys() {
    for mode in MODES {
        let dir = tempfile::tempdir().unwrap();
        let db = open(dir.path(), mode).unwrap();
        for (name, pairs) in regular_keys() {
            let space = db.keyspace(name).unwrap();
            pairs.iter().for_each(|[key, _]| space.put(key, &key[1..]).unwrap());
            settle(&db);
            for some in pairs.chunks(500) {
                let keys: Vec<_> = some.iter().flatten().collect();
                let found = space.multi_get(&keys).unwrap();
                for (two, found) in some.iter().zip(found.chunks(2)) {
                    let [key, absent] = [0, 1].map(|no: usize| two[no].escape_ascii());
                    assert_eq!(found[0].as_deref(), Some(&two[0][1..]), "{mode:?}, {name}: {key}");
                    assert_eq!(found[1], None, "{mode:?}, {name}: {absent}");
                }
            }
            for [key, absent] in pairs.iter().step_by(7) {
                assert_eq!(space.get(key).unwrap().as_deref(), Some(&key[1..]), "{mode:?}, {name}");
                assert!(space.get(absent).unwrap().is_none(), "{mode:?}, {name}");
            }
        }
        assert!(db.verify().unwrap().is_clean());
        assert_eq!(db.stats().accessors["ph4"].refuted, 0);
    }
}

#[test]
fn h40_an_index_of_keys_with_many_versions_is_built_and_each_snapshot_reads_its_own() {
    const VERSIONS: u32 = 1_000;
    let key = |no: u32| format!("key-{no:03}");
    let value = |version: u32, no: u32| (version * 1_000 + no).to_le_bytes();
    for mode in MODES {
        let dir = tempfile::tempdir().unwrap();
        let db = open(dir.path(), mode).unwrap();
        let space = db.default_keyspace();
        let mut snapshots = Vec::new();
        for version in 0..VERSIONS {
            (0..100).for_each(|no| space.put(key(no), value(version, no)).unwrap());
            if version % 100 == 99 {
                snapshots.push((version, db.snapshot()));
            }
        }
        for round in 0..2 {
            if round == 1 {
                space.compact().unwrap();
            }
            settle(&db);
            for (version, snapshot) in &snapshots {
                for no in 0..100 {
                    let found = snapshot.get(&space, key(no)).unwrap();
                    assert_eq!(found.as_deref(), Some(&value(*version, no)[..]), "{mode:?}, {version}, {no}");
                }
            }
            for no in 0..100 {
                assert_eq!(space.get(key(no)).unwrap().as_deref(), Some(&value(VERSIONS - 1, no)[..]));
            }
        }
        assert!(db.verify().unwrap().is_clean());
    }
}

#[test]
fn h42_a_prefix_that_is_not_there_is_told_from_the_end_of_the_keys() {
    for mode in MODES {
        let dir = tempfile::tempdir().unwrap();
        let db = open(dir.path(), mode).unwrap();
        let space = db.default_keyspace();
        let mut model = Model::new();
        for prefix in ["p1", "p3", "p5"] {
            for no in 0..100 {
                let key = format!("{prefix}/{no:02}").into_bytes();
                space.put(&key, prefix).unwrap();
                model.insert(key, prefix.into());
            }
        }
        settle(&db);
        let places = ["p0", "p1", "p1/99x", "p2", "p3", "p3/99x", "p4", "p5", "p5/99x", "p6"];
        for place in places.map(|place| place.as_bytes().to_vec()) {
            let mut cursor = space.cursor();
            let next = model.range(place.clone()..).next();
            assert_eq!(cursor.seek(&place).unwrap(), next.is_some(), "{mode:?}: {}", place.escape_ascii());
            assert_eq!(cursor.valid().then(|| cursor.key().to_vec()), next.map(|(key, _)| key.clone()));
            let last = model.range(..=place.clone()).next_back();
            let found = cursor.seek_for_prev(&place).unwrap();
            assert_eq!(found, last.is_some(), "{mode:?}: {}", place.escape_ascii());
            assert_eq!(cursor.valid().then(|| cursor.key().to_vec()), last.map(|(key, _)| key.clone()));
            assert_eq!(space.get(&place).unwrap(), None);
        }
        check(&space, &model, &[b"p2/50".to_vec()], "at rest");
    }
}

/// The files of a directory, by name.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

fn with_extension(files: &BTreeMap<PathBuf, Vec<u8>>, extension: &str) -> PathBuf {
    let found = files.keys().find(|path| path.extension().is_some_and(|end| end == extension));
    found.unwrap().clone()
}

/// Reads all there is. Whether something was refused; what is said is right.
fn read_cut(db: &Db, space: &Keyspace, keys: u32) -> bool {
    let mut refused = false;
    for no in 0..keys {
        match space.get(no.to_be_bytes()) {
            Ok(found) => assert_eq!(found.as_deref(), Some(&[no as u8; 100][..]), "get of {no}"),
            Err(_) => refused = true,
        }
    }
    let mut found = 0;
    for pair in space.iter() {
        match pair {
            Ok((key, value)) => {
                assert_eq!((&*key, &*value), (&u32::to_be_bytes(found)[..], &[found as u8; 100][..]));
                found += 1;
            }
            Err(_) => {
                refused = true;
                break;
            }
        }
    }
    assert!(refused || found == keys, "a scan ended after {found} keys");
    let report = db.verify();
    refused | report.is_ok_and(|report| !report.is_clean())
}

/// A table cut short is an error, never a signal; a sidecar cut short is no more than slow.
#[test]
fn h43_a_table_or_sidecar_cut_short_is_no_signal_mapped_or_read() {
    const KEYS: u32 = 2_000;
    for mode in MODES {
        let dir = tempfile::tempdir().unwrap();
        let db = open(dir.path(), mode).unwrap();
        let space = db.default_keyspace();
        (0..KEYS).for_each(|no| space.put(no.to_be_bytes(), [no as u8; 100]).unwrap());
        settle(&db);
        db.close().unwrap();
        drop((space, db));
        let whole = files(dir.path());
        for extension in ["sst", "ph4"] {
            let path = with_extension(&whole, extension);
            let bytes = &whole[&path];
            for left in [bytes.len() - 1, bytes.len().saturating_sub(4_096), bytes.len() / 2, 0] {
                let what = format!("{mode:?}: {left} bytes of {}", path.display());
                let copy = tempfile::tempdir().unwrap();
                for (path, bytes) in &whole {
                    fs::write(copy.path().join(path.file_name().unwrap()), bytes).unwrap();
                }
                let path = copy.path().join(path.file_name().unwrap());
                fs::write(&path, &bytes[..left]).unwrap();
                assert!(inspect(&path, Options::new(), &mut Vec::new()).is_err(), "{what}");
                let refused = match open(copy.path(), mode) {
                    Ok(db) => read_cut(&db, &db.default_keyspace(), KEYS),
                    Err(_) => true,
                };
                assert_eq!(refused, extension == "sst", "{what}");
            }
        }
    }
}

/// Some hundred tables with indexes: what is read at open, and to check all sidecars, is a small part of the data.
#[test]
fn h46_an_open_reads_a_small_part_of_many_tables() {
    const VALUE_BYTES: usize = 1_000;
    for mode in MODES {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings { table_bytes: 64 << 10, cache_bytes: 8 << 20, ..mode.settings() };
        let open = |storage: CountingStorage| {
            let builder = Db::builder(dir.path()).storage(Arc::new(storage)).settings(settings.clone());
            builder.index_policy(IndexPolicy::always("ph4")).open().unwrap()
        };
        let storage = || CountingStorage::new(Arc::new(FsStorage::new()));
        let db = open(storage());
        let key = |no: u32| no.to_be_bytes();
        let pairs = (0..20_000).map(|no| (key(no), [no as u8; VALUE_BYTES]));
        db.default_keyspace().ingest(pairs).unwrap();
        db.wait_idle().unwrap();
        db.close().unwrap();
        drop(db);
        let whole = files(dir.path());
        let (tables, others): (Vec<_>, Vec<_>) =
            whole.iter().partition(|(path, _)| path.extension().is_some_and(|end| end == "sst"));
        let data: usize = tables.iter().map(|(_, bytes)| bytes.len()).sum();
        assert!(tables.len() > 200 && others.len() > tables.len(), "{} tables", tables.len());
        let storage = storage();
        let read = |storage: &CountingStorage| -> u64 {
            storage.counts().values().map(|counts| counts.read_bytes).sum()
        };
        let db = open(storage.clone());
        assert_eq!(db.default_keyspace().get(key(7)).unwrap().unwrap(), [7; VALUE_BYTES]);
        db.wait_idle().unwrap();
        let bytes = read(&storage);
        assert!(bytes < data as u64 / 20, "{mode:?}: {bytes} bytes were read, {data} of data");
        let active = db.default_keyspace().explain().unwrap();
        assert!(active.iter().all(|table| table.active == "ph4"));
    }
}
