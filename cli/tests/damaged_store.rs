//! A damaged table from the command line: found and named by `verify`, put right by `repair`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kiban::{Db, IndexPolicy};

fn kiban(command: &str, store: &Path) -> Output {
    let mut kiban = Command::new(env!("CARGO_BIN_EXE_kiban"));
    kiban.arg(command).arg(store).args(["--format", "csv"]).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// The file in a store that has this extension.
fn file_of(store: &Path, extension: &str) -> PathBuf {
    let mut names = std::fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    names.find(|path| path.extension().is_some_and(|found| found == extension)).unwrap()
}

fn filled(store: &Path) {
    let db = Db::builder(store).index_policy(IndexPolicy::always("ph4")).open().unwrap();
    let space = db.default_keyspace();
    for no in 0..1_000_u32 {
        space.put(format!("key-{no}"), [7; 100]).unwrap();
    }
    db.flush().unwrap();
    db.wait_idle().unwrap();
    db.close().unwrap();
}

/// A changed bit anywhere in a table or in the index beside it: `verify` names the file, and does not crash.
#[test]
fn h30_verify_names_the_file_of_a_changed_bit_in_a_table_or_its_index() {
    let scratch = tempfile::tempdir().unwrap();
    let store = scratch.path().join("store");
    filled(&store);
    for extension in ["sst", "ph4"] {
        let path = file_of(&store, extension);
        let name = path.file_name().unwrap().to_str().unwrap();
        let whole = std::fs::read(&path).unwrap();
        let places = (0..14).map(|no| no * (whole.len() - 1) / 13);
        // Header, directory and trailer of the one, properties and footer of the other.
        for place in places.chain([9, whole.len() - 40, whole.len() - 100]) {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << (place % 8);
            std::fs::write(&path, bytes).unwrap();
            let found = kiban("verify", &store);
            assert_eq!(found.status.code(), Some(3), "byte {place} of {name}: {}", text(&found.stderr));
            let told = [text(&found.stdout), text(&found.stderr)].concat();
            assert!(told.contains(name), "byte {place} of {name}: {told}");
            assert!(!told.contains("panicked"), "byte {place} of {name}: {told}");
        }
        std::fs::write(&path, whole).unwrap();
        assert_eq!(kiban("verify", &store).status.code(), Some(0));
    }
}

#[test]
fn damage_is_named_by_verify_and_put_right_by_repair() {
    let scratch = tempfile::tempdir().unwrap();
    let store = scratch.path().join("store");
    filled(&store);
    assert_eq!(kiban("verify", &store).status.code(), Some(0));

    let table = file_of(&store, "sst");
    let mut bytes = std::fs::read(&table).unwrap();
    bytes[20_000] ^= 1;
    std::fs::write(&table, bytes).unwrap();
    let name = table.file_name().unwrap().to_str().unwrap();

    let found = kiban("verify", &store);
    assert_eq!(found.status.code(), Some(3));
    let line = text(&found.stdout).lines().nth(1).unwrap();
    let fields: Vec<&str> = line.splitn(4, ',').collect();
    assert_eq!((fields[0], fields[1]), (name, "data page"), "{line}");
    let offset: u64 = fields[2].parse().unwrap();
    assert!((12_000..=20_000).contains(&offset), "{line}");
    assert!(text(&found.stderr).ends_with(", 1 problems\n"), "{}", text(&found.stderr));

    let repaired = kiban("repair", &store);
    assert_eq!(repaired.status.code(), Some(1));
    let line = text(&repaired.stdout).lines().nth(1).unwrap();
    let fields: Vec<&str> = line.splitn(3, ',').collect();
    let saved: usize = fields[1].parse().unwrap();
    assert_eq!(fields[0], name);
    assert!((900..1_000).contains(&saved), "{line}");
    assert!(store.join("lost").join(name).exists());
    assert_eq!(kiban("verify", &store).status.code(), Some(0));
    assert_eq!(Db::open(&store).unwrap().default_keyspace().iter().count(), saved);
}
