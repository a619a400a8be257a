//! A full disk under a store that is read through maps: an error, never a signal.

use std::path::Path;
use std::process::Command;

use kiban::{Db, Durability, ErrorKind, Settings};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::Mode;
use crate::actor::{Actor, say};

fn settings() -> Settings {
    let mode = Mode { mapped: true, durability: Durability::Sync };
    Settings {
        memtable_bytes: 256 << 10,
        memtables_total_bytes: 1 << 20,
        log_bytes_max: 4 << 20,
        ..mode.settings()
    }
}

fn open(dir: &Path) -> Db {
    Db::builder(dir).settings(settings()).open().unwrap()
}

fn value(no: u32) -> Vec<u8> {
    no.to_le_bytes().repeat(250)
}

/// Puts from `from` on until one fails. How many there are then, and why.
fn put_until_full(db: &Db, from: u32) -> (u32, kiban::Error) {
    for no in from..100_000 {
        if let Err(error) = db.default_keyspace().put(no.to_be_bytes(), value(no)) {
            return (no, error);
        }
    }
    panic!("it was never full")
}

fn check_all(db: &Db, count: u32) {
    for no in 0..count {
        assert_eq!(db.default_keyspace().get(no.to_be_bytes()).unwrap().unwrap(), value(no), "{no}");
    }
}

/// No file may be longer than a flushed table would be. Whoever starts this ignores SIGXFSZ.
pub(crate) fn fill(dir: &Path) {
    let db = open(dir);
    (0..1000).for_each(|no: u32| {
        db.default_keyspace().put_with(no.to_be_bytes(), value(no), Durability::Buffered).unwrap()
    });
    db.flush().unwrap();
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: Some(100 << 10), maximum }).unwrap();
    let (count, error) = put_until_full(&db, 1000);
    assert!(matches!(error.kind(), ErrorKind::Io | ErrorKind::WritesHalted), "{error}");
    check_all(&db, count);
    say(&format!("{count}"));
    std::thread::sleep(std::time::Duration::from_secs(60));
}

/// On a disk of a few MiB of its own: full, read, made room on, reopened.
pub(crate) fn fill_a_small_disk(dir: &Path) {
    let ballast = dir.join("ballast");
    std::fs::write(&ballast, vec![0; 1 << 20]).unwrap();
    let store = dir.join("store");
    let db = open(&store);
    let (count, error) = put_until_full(&db, 0);
    assert!(error.is_disk_full(), "{error}");
    assert!(count > 1000, "{count} values of 1,000 bytes");
    check_all(&db, count);
    // All of that is durable, but the store may not be able to say so.
    let _ = db.close();
    std::fs::remove_file(ballast).unwrap();
    let db = open(&store);
    check_all(&db, count);
    db.default_keyspace().put("after", "all").unwrap();
    db.flush().unwrap();
    assert!(db.verify().unwrap().is_clean());
    say("whole");
}

#[test]
fn h28_a_disk_without_room_is_an_error_and_no_signal() {
    let scratch = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]).arg(std::env::current_exe().unwrap());
    let mut actor = Actor::spawn(command, "fill", scratch.path());
    let count = actor.line().parse().unwrap();
    actor.kill();
    let db = open(scratch.path());
    check_all(&db, count);
    db.default_keyspace().put("after", "all").unwrap();
    assert!(db.verify().unwrap().is_clean());
}

/// A file system in memory that only the child sees. Where a user may not have one, the test
/// above is all there is.
#[cfg(target_os = "linux")]
#[test]
fn h28_a_small_disk_fills_up_and_goes_on_when_there_is_room_again() {
    let scratch = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=8m none";
    let in_own_disk = |then: &str| {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", &format!("{mount} {} && {then}", scratch.path().display()), "sh"]);
        command
    };
    if !in_own_disk("true").output().is_ok_and(|output| output.status.success()) {
        eprintln!("no file system of our own can be mounted here");
        return;
    }
    let mut command = in_own_disk("exec \"$@\"");
    command.arg(std::env::current_exe().unwrap());
    assert_eq!(Actor::spawn(command, "fill a small disk", scratch.path()).finish(), ["whole"]);
}
