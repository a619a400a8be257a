//! The manifest under faults, cuts and damage.

use std::path::Path;
use std::sync::Arc;

use kiban_formats::manifest::{Change, KeyspaceState, STORE_VERSION, State};
use kiban_formats::{FileNo, KeyspaceId, SeqNo, StoreId};

use super::{ManifestStore, REWRITE_BYTES};
use crate::error::{ErrorKind, Result};
use crate::files;
use crate::storage::{Effect, Fault, MemStorage, Op, SimStorage, Storage};

const STORE: StoreId = StoreId([5; 16]);

fn dir() -> &'static Path {
    Path::new("/db")
}

/// Gives file numbers from here on.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> FileNo {
        self.0 += 1;
        FileNo(self.0)
    }
}

fn create(storage: &(impl Storage + Clone + 'static), numbers: &mut Numbers) -> ManifestStore {
    storage.create_dir_all(dir()).unwrap();
    let mut store = ManifestStore::create(Arc::new(storage.clone()), dir(), STORE);
    let facts = Change::Facts { version: STORE_VERSION, hash_seed: 7 };
    store.append(&[facts, keyspace(0)], || numbers.next()).unwrap();
    store
}

fn open(storage: &(impl Storage + Clone + 'static)) -> Result<ManifestStore> {
    ManifestStore::open(Arc::new(storage.clone()), dir())
}

fn keyspace(id: u32) -> Change {
    Change::AddKeyspace { id: KeyspaceId(id), name: format!("keyspace {id}"), options: String::new() }
}

/// The ids of the keyspaces: what the tests write.
fn ids(state: &State) -> Vec<u32> {
    state.keyspaces.keys().map(|id| id.0).collect()
}

fn manifests(storage: &impl Storage) -> Vec<String> {
    let names = storage.list(dir()).unwrap().into_iter().map(|entry| entry.name);
    names.filter(|name| name.starts_with("MANIFEST")).collect()
}

#[test]
fn changes_are_there_after_the_death_of_the_process_and_the_power() {
    let storage = SimStorage::new(1);
    let mut numbers = Numbers(0);
    let mut store = create(&storage, &mut numbers);
    store.append(&[keyspace(1)], || numbers.next()).unwrap();
    for storage in [storage.kill(), storage.reboot(3)] {
        let opened = open(&storage).unwrap();
        assert_eq!((opened.state(), opened.store_id()), (store.state(), STORE));
        assert_eq!(ids(opened.state()), [0, 1]);
    }
}

#[test]
fn each_process_writes_its_own_file_and_leaves_no_other() {
    let storage = MemStorage::new(1);
    let mut numbers = Numbers(0);
    create(&storage, &mut numbers);
    for id in 1..4 {
        let mut store = open(&storage).unwrap();
        assert_eq!(manifests(&storage), [files::manifest(store.current())], "opening makes no file");
        store.append(&[keyspace(id)], || numbers.next()).unwrap();
        assert_eq!(store.current(), FileNo(numbers.0));
        assert!(store.state().next_file > store.current(), "the number is used");
    }
    assert_eq!(ids(open(&storage).unwrap().state()), [0, 1, 2, 3]);
}

#[test]
fn a_contradiction_is_refused_and_changes_nothing() {
    let storage = MemStorage::new(1);
    let mut numbers = Numbers(0);
    let mut store = create(&storage, &mut numbers);
    let before = store.state().clone();
    let error = store.append(&[keyspace(1), keyspace(0)], || numbers.next()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    assert_eq!(store.state(), &before);
    assert_eq!(open(&storage).unwrap().state(), &before);
}

#[test]
fn a_file_that_has_grown_is_written_anew() {
    let storage = MemStorage::new(1);
    let mut numbers = Numbers(0);
    let mut store = create(&storage, &mut numbers);
    let first = store.current();
    let options = "x".repeat(64 << 10);
    let mut edits = 0;
    while store.current() == first {
        let options = format!("{edits}{options}");
        store.append(&[Change::SetOptions { id: KeyspaceId(0), options }], || numbers.next()).unwrap();
        edits += 1;
    }
    // The one that finds the file long enough begins the next.
    assert_eq!(edits, REWRITE_BYTES.div_ceil(options.len() as u64) + 1);
    assert_eq!(manifests(&storage), [files::manifest(store.current())]);
    assert_eq!(open(&storage).unwrap().state(), store.state());
}

/// Every operation of an append and of its retry fails, one at a time and in every way.
#[test]
fn after_any_failure_the_changes_are_not_in_the_state_and_a_retry_makes_them_durable() {
    for effect in [Effect::Eio, Effect::NoSpace, Effect::ShortAppend, Effect::SyncDrops] {
        // With and without a file that can be appended to.
        for reopened in [false, true] {
            let mut nth = 1;
            while fail_at(nth, effect, reopened) {
                nth += 1;
            }
            assert!(nth > 2, "{effect:?} struck nothing");
        }
    }
}

/// Whether the fault struck.
fn fail_at(nth: u64, effect: Effect, reopened: bool) -> bool {
    let at = format!("{effect:?} at operation {nth}, reopened: {reopened}");
    let storage = SimStorage::new(nth);
    let mut numbers = Numbers(0);
    let mut store = create(&storage, &mut numbers);
    if reopened {
        store = open(&storage).unwrap();
    }
    storage.inject(Fault::at(nth, effect));
    let before = storage.operations();
    let failed = store.append(&[keyspace(1)], || numbers.next()).is_err();
    let struck = storage.operations() - before >= nth;
    storage.clear_faults();
    if failed {
        assert_eq!(ids(store.state()), [0], "{at}");
        let found = ids(open(&storage.kill()).unwrap().state());
        assert!([vec![0], vec![0, 1]].contains(&found), "{at}: {found:?}");
        let storage = storage.kill();
        let mut store = open(&storage).unwrap();
        if ids(store.state()) == [0] {
            store.append(&[keyspace(1)], || numbers.next()).unwrap();
        } else {
            store.make_durable(|| numbers.next()).unwrap();
        }
        assert_eq!(ids(open(&storage.reboot(nth)).unwrap().state()), [0, 1], "{at}");
    }
    struck
}

/// Case H27: a broken record is never followed by another.
#[test]
fn the_same_process_goes_on_after_a_failure_in_a_new_file() {
    for effect in [Effect::NoSpace, Effect::ShortAppend, Effect::SyncDrops] {
        for op in [Op::Append, Op::Sync] {
            let storage = SimStorage::new(1);
            let mut numbers = Numbers(0);
            let mut store = create(&storage, &mut numbers);
            let broken = store.current();
            storage.inject(Fault::at_op(op, 1, effect));
            store.append(&[keyspace(1)], || numbers.next()).unwrap_err();
            store.append(&[keyspace(2)], || numbers.next()).unwrap();
            store.append(&[keyspace(3)], || numbers.next()).unwrap();
            assert!(store.current() > broken);
            for seed in 0..20 {
                let opened = open(&storage.reboot(seed)).unwrap();
                assert_eq!(ids(opened.state()), [0, 2, 3], "{effect:?} of {op:?}, seed {seed}");
            }
        }
    }
}

#[test]
fn a_full_disk_is_not_filled_by_retries() {
    let storage = SimStorage::new(1);
    let mut numbers = Numbers(0);
    create(&storage, &mut numbers);
    let mut store = open(&storage).unwrap();
    for op in [Op::Create, Op::Append, Op::Sync, Op::SyncDir] {
        storage.inject(Fault::at_op(op, 1, Effect::NoSpace).for_good());
        for _ in 0..5 {
            store.append(&[keyspace(1)], || numbers.next()).unwrap_err();
        }
        storage.clear_faults();
        assert!(manifests(&storage).len() <= 2, "{op:?}: {:?}", manifests(&storage));
    }
    store.append(&[keyspace(1)], || numbers.next()).unwrap();
    assert_eq!(ids(open(&storage.reboot(1)).unwrap().state()), [0, 1]);
}

/// A manifest with some edits, and the state after each.
fn sample() -> (MemStorage, Vec<State>) {
    let storage = MemStorage::new(1);
    let mut numbers = Numbers(0);
    let mut store = create(&storage, &mut numbers);
    let mut states = vec![store.state().clone()];
    for id in 1..4 {
        store.append(&[keyspace(id), Change::LastSeq(SeqNo(id.into()))], || numbers.next()).unwrap();
        states.push(store.state().clone());
    }
    (storage, states)
}

#[test]
fn a_cut_manifest_is_a_state_that_was_or_an_error_that_names_it() {
    let (storage, states) = sample();
    let path = dir().join(&manifests(&storage)[0]);
    let whole = storage.bytes(&path).unwrap();
    let mut seen = 0;
    for cut in 0..whole.len() {
        storage.set_bytes(&path, whole[..cut].to_vec());
        match open(&storage) {
            Ok(store) => {
                let place = states.iter().position(|state| state == store.state());
                seen = seen.max(place.expect("a state that never was") + 1);
            }
            Err(error) => {
                assert_eq!((error.kind(), seen), (ErrorKind::Corruption, 0), "cut at {cut}: {error}");
                assert!(error.to_string().contains("MANIFEST-"), "{error}");
            }
        }
    }
    assert_eq!(seen, states.len() - 1);
}

#[test]
fn every_changed_byte_of_a_manifest_is_refused_by_name() {
    let (storage, _) = sample();
    let path = dir().join(&manifests(&storage)[0]);
    let whole = storage.bytes(&path).unwrap();
    for place in 0..whole.len() {
        for change in [1, 0x80, 0xFF] {
            let mut bytes = whole.clone();
            bytes[place] ^= change;
            storage.set_bytes(&path, bytes);
            let error = open(&storage).expect_err("a changed byte was not seen");
            assert_eq!(error.kind(), ErrorKind::Corruption, "byte {place}: {error}");
            assert!(error.to_string().contains("MANIFEST-"), "{error}");
        }
    }
}

#[test]
fn a_manifest_of_another_store_and_a_missing_one_are_refused_by_name() {
    let (storage, _) = sample();
    let path = dir().join(&manifests(&storage)[0]);
    let mut bytes = storage.bytes(&dir().join(files::CURRENT)).unwrap();
    storage.remove(&path).unwrap();
    let error = open(&storage).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.to_string().contains("MANIFEST-") && error.to_string().contains("not there"), "{error}");

    let other = MemStorage::new(2);
    other.create_dir_all(dir()).unwrap();
    let mut store = ManifestStore::create(Arc::new(other.clone()), dir(), StoreId([6; 16]));
    let facts = Change::Facts { version: STORE_VERSION, hash_seed: 7 };
    store.append(&[facts], || FileNo(1)).unwrap();
    storage.set_bytes(&path, other.bytes(&path).unwrap());
    let error = open(&storage).unwrap_err();
    assert!(error.to_string().contains("MANIFEST-") && error.to_string().contains("belongs to"), "{error}");

    bytes[0] ^= 1;
    storage.set_bytes(&dir().join(files::CURRENT), bytes);
    let error = open(&storage).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.to_string().contains("CURRENT"), "{error}");
}

#[test]
fn a_state_that_was_only_read_is_made_durable_once() {
    let (storage, states) = sample();
    let storage = {
        let sim = SimStorage::new(1);
        sim.create_dir_all(dir()).unwrap();
        for entry in storage.list(dir()).unwrap() {
            let path = dir().join(&entry.name);
            sim.set_bytes(&path, &storage.bytes(&path).unwrap()).unwrap();
        }
        sim
    };
    let mut numbers = Numbers(90);
    let mut store = open(&storage).unwrap();
    store.make_durable(|| numbers.next()).unwrap();
    let syncs = storage.operations_of(Op::Sync);
    store.make_durable(|| numbers.next()).unwrap();
    assert_eq!((syncs, storage.operations_of(Op::Sync)), (1, 1));

    // What a failed sync should have written may be gone: only a new file helps.
    let mut store = open(&storage).unwrap();
    storage.inject(Fault::at_op(Op::Sync, 1, Effect::SyncDrops));
    store.make_durable(|| numbers.next()).unwrap_err();
    assert_eq!(numbers.0, 90);
    store.make_durable(|| numbers.next()).unwrap();
    assert_eq!(store.current(), FileNo(91));
    let default = KeyspaceState { name: "keyspace 0".to_owned(), ..KeyspaceState::default() };
    let opened = open(&storage.reboot(1)).unwrap();
    assert_eq!(opened.state().keyspaces[&KeyspaceId(0)], default);
    assert_eq!(ids(opened.state()), ids(&states[3]));
}
