//! Which tables have their index in memory when there is not room for all.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::Path;
use std::sync::Arc;

use kiban::storage::{CountingStorage, MemStorage};
use kiban::{Db, IndexPolicy, Residency, Settings, TableIndexReport};

const KEYS: u32 = 60_000;

fn key(no: u32) -> Vec<u8> {
    format!("key-{:08x}", no.wrapping_mul(0x9E37_79B9)).into_bytes()
}

fn settings(cache_bytes: u64, is_mapped: bool) -> Settings {
    Settings {
        cache_bytes,
        mmap_max_level: is_mapped.then_some(u32::MAX),
        filter_bits_per_key: 0,
        table_bytes: 256 << 10,
        ..Settings::default()
    }
}

fn open(disk: &MemStorage, settings: Settings, policy: IndexPolicy) -> Db {
    let builder = Db::builder(Path::new("/store")).storage(Arc::new(disk.clone()));
    builder.settings(settings).index_policy(policy).open().unwrap()
}

/// About a dozen tables, with about 300 KB of indexes.
fn store() -> MemStorage {
    let disk = MemStorage::new(1);
    let db = open(&disk, settings(64 << 20, false), IndexPolicy::always("ph4"));
    let space = db.default_keyspace();
    (0..KEYS).for_each(|no| space.put(key(no), [no as u8; 30]).unwrap());
    space.compact().unwrap();
    // A close does not wait for indexes.
    db.wait_idle().unwrap();
    db.close().unwrap();
    disk
}

fn explained(db: &Db) -> Vec<TableIndexReport> {
    db.wait_idle().unwrap();
    db.default_keyspace().explain().unwrap()
}

fn kept(tables: &[TableIndexReport], residency: Residency) -> usize {
    let is_kept = |table: &&TableIndexReport| {
        table.sidecars.iter().any(|sidecar| sidecar.state == "active" && sidecar.residency == residency)
    };
    tables.iter().filter(is_kept).count()
}

fn check(db: &Db) {
    let space = db.default_keyspace();
    for no in (0..KEYS).step_by(17) {
        assert_eq!(space.get(key(no)).unwrap().unwrap(), [no as u8; 30]);
        assert!(space.get(key(no + KEYS)).unwrap().is_none());
    }
}

#[test]
fn what_has_no_room_is_mapped_where_it_may_be_and_off_where_not() {
    let disk = store();
    for is_mapped in [true, false] {
        for (cache_bytes, some, all) in [(0, false, false), (256 << 10, true, false), (64 << 20, true, true)]
        {
            let what = format!("{cache_bytes} bytes of cache, mapped: {is_mapped}");
            let db = open(&disk.fork(), settings(cache_bytes, is_mapped), IndexPolicy::always("ph4"));
            let tables = explained(&db);
            let (resident, mapped) = (kept(&tables, Residency::Resident), kept(&tables, Residency::Mapped));
            assert_eq!((resident > 0, resident == tables.len()), (some, all), "{what}: {resident}");
            let rest = if is_mapped { tables.len() - resident } else { 0 };
            assert_eq!(mapped, rest, "{what}");
            let memory = db.stats().memory;
            assert!(memory.accessor_bytes <= cache_bytes / 2 + (64 << 10), "{what}: {memory:?}");
            for table in tables.iter().filter(|table| table.active == "sorted") {
                assert!(table.reason.contains("asked") && table.reason.contains("left"), "{}", table.reason);
            }
            check(&db);
        }
    }
}

#[test]
fn a_small_share_of_the_cache_is_kept_to() {
    let disk = store();
    let policy =
        IndexPolicy::from_toml("[[rule]]\nbuild = [\"ph4\"]\n[admission]\nmax_fraction_of_cache = 0.002\n");
    let db = open(&disk, settings(64 << 20, true), policy.unwrap());
    let tables = explained(&db);
    let resident = kept(&tables, Residency::Resident);
    assert!(resident > 0 && resident < tables.len(), "{resident} of {}", tables.len());
    assert!(db.stats().memory.accessor_bytes <= (64 << 20) / 500 + (64 << 10));
    check(&db);
}

#[test]
fn a_plan_that_changes_nothing_loads_nothing_and_room_that_comes_is_used() {
    let disk = store();
    let db = open(&disk, settings(256 << 10, true), IndexPolicy::always("ph4"));
    let before = explained(&db);
    let other = db.keyspace("other").unwrap();
    other.put("a", "1").unwrap();
    other.flush().unwrap();
    let after = explained(&db);
    let where_kept = |tables: &[TableIndexReport]| {
        tables.iter().map(|table| (table.table, table.sidecars.clone())).collect::<Vec<_>>()
    };
    assert_eq!(where_kept(&before), where_kept(&after));
    // Half of the tables go, and with them their indexes.
    let space = db.default_keyspace();
    let mut keys: Vec<Vec<u8>> = (0..KEYS).map(key).collect();
    keys.sort();
    keys[..KEYS as usize * 9 / 10].iter().for_each(|key| space.delete(key).unwrap());
    space.compact().unwrap();
    let left = explained(&db);
    assert_eq!(kept(&left, Residency::Resident), left.len(), "{left:?}");
}

/// Tables and indexes that are mapped are read at random; a full copy of an index is not.
#[test]
fn the_system_is_told_not_to_read_ahead_only_where_that_is_off() {
    for read_ahead in [true, false] {
        let counting = CountingStorage::new(Arc::new(store()));
        let settings = Settings { read_ahead, ..settings(0, true) };
        let builder = Db::builder(Path::new("/store")).storage(Arc::new(counting.clone()));
        let db = builder.settings(settings).index_policy(IndexPolicy::always("ph4")).open().unwrap();
        db.wait_idle().unwrap();
        assert_eq!(db.default_keyspace().get(key(7)).unwrap().unwrap(), [7; 30]);
        for (name, file) in counting.counts().iter().filter(|(_, file)| file.maps > 0) {
            assert!(name.ends_with(".sst") || name.ends_with(".ph4"), "{name}");
            assert_eq!(file.random_hints > 0, !read_ahead, "{name}");
        }
        let mapped =
            |kind| counting.counts().iter().any(|(name, file)| name.ends_with(kind) && file.maps > 0);
        assert!(mapped(".sst") && mapped(".ph4"), "nothing was mapped");
    }
}

#[test]
fn a_reader_keeps_indexes_where_a_writer_would() {
    let disk = store();
    let settings = settings(256 << 10, false);
    let written = explained(&open(&disk.fork(), settings.clone(), IndexPolicy::always("ph4")));
    let reader = Db::builder(Path::new("/store")).storage(Arc::new(disk)).settings(settings);
    let db = reader.index_policy(IndexPolicy::always("ph4")).read_only(true).open().unwrap();
    let read = db.default_keyspace().explain().unwrap();
    assert_eq!(read, written);
    assert!(kept(&read, Residency::Resident) > 0 && read.iter().any(|table| table.active == "sorted"));
    check(&db);
}

#[test]
fn a_reader_may_look_with_another_policy_and_nothing_is_stored() {
    let disk = store();
    let builder = || Db::builder(Path::new("/store")).storage(Arc::new(disk.clone()));
    let db = builder().open().unwrap();
    db.default_keyspace().reindex(IndexPolicy::always("ph4")).unwrap();
    db.close().unwrap();
    drop(db);
    let states = |db: &Db| -> Vec<(String, String)> {
        let tables = db.default_keyspace().explain().unwrap();
        tables.iter().map(|table| (table.active.clone(), table.sidecars[0].state.clone())).collect()
    };
    let is_all = |found: Vec<(String, String)>, active: &str, state: &str| {
        assert!(found.iter().all(|one| (&*one.0, &*one.1) == (active, state)), "{found:?}");
    };
    let other = builder().index_policy_of_all(IndexPolicy::sorted_only()).read_only(true).open().unwrap();
    is_all(states(&other), "sorted", "unused");
    check(&other);
    drop(other);
    is_all(states(&builder().read_only(true).open().unwrap()), "ph4", "active");
    let refused = builder().index_policy_of_all(IndexPolicy::sorted_only()).open().unwrap_err();
    assert_eq!(refused.kind(), kiban::ErrorKind::InvalidArgument);
    let unknown = builder().index_policy_of_all(IndexPolicy::always("ph9")).read_only(true).open();
    assert!(unknown.unwrap_err().to_string().contains("ph9"));
}

#[test]
fn filters_and_indexes_keep_to_a_budget_of_any_size_together() {
    let disk = MemStorage::new(1);
    let with_filters =
        |cache_bytes, is_mapped| Settings { filter_bits_per_key: 10, ..settings(cache_bytes, is_mapped) };
    let db = open(&disk, with_filters(64 << 20, false), IndexPolicy::always("ph4"));
    let space = db.default_keyspace();
    (0..KEYS).for_each(|no| space.put(key(no), [no as u8; 30]).unwrap());
    space.compact().unwrap();
    db.close().unwrap();
    drop((space, db));
    for is_mapped in [false, true] {
        let mut resident_before = 0;
        for cache_bytes in [0, 256 << 10, 1 << 20, 4 << 20] {
            let db = open(&disk, with_filters(cache_bytes, is_mapped), IndexPolicy::always("ph4"));
            check(&db);
            let tables = explained(&db);
            check(&db);
            let memory = db.stats().memory;
            let taken = memory.filter_bytes + memory.accessor_bytes;
            // Of a map its directory is in memory: part of the engine's constant.
            assert!(taken <= cache_bytes + (16 << 10), "{taken} of {cache_bytes}, mapped {is_mapped}");
            if cache_bytes == 0 {
                assert_eq!(memory.filter_bytes, 0, "filters are denied as well");
            }
            let (resident, mapped) = (kept(&tables, Residency::Resident), kept(&tables, Residency::Mapped));
            assert!(resident >= resident_before, "more room, fewer indexes: {tables:?}");
            let without = tables.iter().filter(|table| table.active == "sorted");
            let all_told = without.clone().all(|table| table.reason.contains(" left"));
            assert!(all_told && resident + mapped + without.count() == tables.len(), "{tables:?}");
            assert!(
                !is_mapped || resident + mapped == tables.len(),
                "what has no room is mapped: {tables:?}"
            );
            resident_before = resident;
        }
        assert!(resident_before > 5, "4 MiB have room for all");
    }
}
