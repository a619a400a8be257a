//! A damaged table from the command line: found and named by `verify`, put right by `repair`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::Path;
use std::process::{Command, Output};

use kiban::Db;

fn kiban(command: &str, store: &Path) -> Output {
    let mut kiban = Command::new(env!("CARGO_BIN_EXE_kiban"));
    kiban.arg(command).arg(store).args(["--format", "csv"]).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn damage_is_named_by_verify_and_put_right_by_repair() {
    let scratch = tempfile::tempdir().unwrap();
    let store = scratch.path().join("store");
    let db = Db::open(&store).unwrap();
    let space = db.default_keyspace();
    for no in 0..1_000_u32 {
        space.put(format!("key-{no}"), [7; 100]).unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    drop((space, db));
    assert_eq!(kiban("verify", &store).status.code(), Some(0));

    let names = std::fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path());
    let table = names.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "sst")).unwrap();
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
