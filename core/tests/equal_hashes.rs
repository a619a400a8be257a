//! Keys that were made to share their hash, wholly or in its upper bits: a store that is told them answers as ever.
//!
//! The hash is XXH3 under the store's seed. It is no secret to who can read the store, so such keys can be computed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::fs;
use std::path::Path;

use kiban::inspect::{Options, inspect};
use kiban::{Db, IndexPolicy, Settings, TableIndexReport};
use kiban_indexes::key_hash;

const KEYS: u64 = 100_000;
/// The first three words of XXH3's secret.
const SECRET: [u64; 3] = [0xbe4b_a423_396c_feb8, 0x1cad_21f7_2c81_017c, 0xdb97_9083_e96d_d4de];
const PRIME: u64 = 0x9fb2_1c65_1e98_df25;

/// Keys of 32 bytes of which the first word makes a product 0, whatever the second one is.
fn one_hash(seed: u64, no: u64) -> Vec<u8> {
    let mut key = vec![7; 32];
    key[..8].copy_from_slice(&SECRET[0].wrapping_add(seed).to_le_bytes());
    key[8..16].copy_from_slice(&no.to_le_bytes());
    key
}

/// The key of 8 bytes that has this hash: the steps of the hash, backwards.
fn key_of(seed: u64, hash: u64) -> Vec<u8> {
    let inverse =
        (0..6).fold(1_u64, |guess, _| guess.wrapping_mul(2_u64.wrapping_sub(PRIME.wrapping_mul(guess))));
    let mut word = hash ^ (hash >> 28) ^ (hash >> 56);
    word = word.wrapping_mul(inverse);
    word ^= (word >> 35) + 8;
    word = word.wrapping_mul(inverse);
    // The step is its own inverse when it is made 64 times.
    for _ in 0..63 {
        word ^= word.rotate_left(49) ^ word.rotate_left(24);
    }
    let seed = seed ^ (u64::from((seed as u32).swap_bytes()) << 32);
    word ^= (SECRET[1] ^ SECRET[2]).wrapping_sub(seed);
    [((word >> 32) as u32).to_le_bytes(), (word as u32).to_le_bytes()].concat()
}

/// The seed of a store's hashes.
fn seed_of(dir: &Path) -> u64 {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let is_manifest = |path: &Path| path.file_name().unwrap().to_str().unwrap().starts_with("MANIFEST");
    let manifest = names.into_iter().find(|path| is_manifest(path)).unwrap();
    let mut text = Vec::new();
    inspect(&manifest, Options::new(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let (_, rest) = text.split_once("hash_seed: ").unwrap();
    rest.split(|other: char| !other.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// A store of such keys in one table; every key and as many absent ones are asked for in every way.
fn store_of(key: fn(u64, u64) -> Vec<u8>) -> Vec<TableIndexReport> {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings { memtable_bytes: 64 << 20, ..Settings::default() };
    let open = || Db::builder(dir.path()).settings(settings.clone()).index_policy(IndexPolicy::always("ph4"));
    let db = open().open().unwrap();
    let seed = seed_of(dir.path());
    let space = db.default_keyspace();
    (0..KEYS).for_each(|no| space.put(key(seed, no), no.to_le_bytes()).unwrap());
    db.flush().unwrap();
    db.wait_idle().unwrap();
    let check = |db: &Db| {
        let space = db.default_keyspace();
        let keys: Vec<Vec<u8>> = (0..2 * KEYS).map(|no| key(seed, no)).collect();
        for (chunk, keys) in (0..).zip(keys.chunks(1_000)) {
            let many = space.multi_get(keys).unwrap();
            for ((no, key), many) in (1_000 * chunk..).zip(keys).zip(many) {
                let expected = (no < KEYS).then(|| no.to_le_bytes().to_vec());
                assert_eq!(space.get(key).unwrap().map(Vec::from), expected, "get {no}");
                assert_eq!(many.map(Vec::from), expected, "multi_get {no}");
            }
        }
    };
    check(&db);
    assert!(db.verify().unwrap().is_clean());
    let explained = space.explain().unwrap();
    drop((space, db));
    check(&open().read_only(true).open().unwrap());
    explained
}

#[test]
fn keys_of_one_hash_are_answered_by_the_sorted_index() {
    assert_eq!(key_hash(5, &one_hash(5, 1)), key_hash(5, &one_hash(5, 2)), "the keys are made wrongly");
    let tables = store_of(one_hash);
    assert_eq!(tables.len(), 1);
    assert_eq!((tables[0].active.as_str(), tables[0].keys), ("sorted", KEYS));
    assert!(tables[0].reason.contains("share theirs"), "{}", tables[0].reason);
    assert_eq!(tables[0].sidecars[0].state, "declined");
}

#[test]
fn keys_whose_hashes_agree_in_forty_bits_are_found_by_the_index() {
    let alike = |seed: u64, no: u64| key_of(seed, (0xab_cdef_0123 << 24) | no);
    assert_eq!(key_hash(5, &alike(5, 77)), (0xab_cdef_0123 << 24) | 77, "the keys are made wrongly");
    let tables = store_of(alike);
    assert_eq!((tables.len(), tables[0].active.as_str(), tables[0].keys), (1, "ph4", KEYS));
}
