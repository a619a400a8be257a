//! Real processes on a real file system: writers that are killed, second openers, directories
//! that may only be read, few descriptors, little memory.
//!
//! A child is this very test binary, told by an environment variable which part to play.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod actor;
}

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use common::actor::{Actor, role, say};
use kiban::{Db, Durability, ErrorKind, Keyspace, Result, Settings, WriteBatch};

const WRITERS: u32 = 4;
/// Every so many of a writer's numbers are written as one batch.
const BATCH: u32 = 5;
/// "nobody" on every Unix that has one.
const NOBODY: u32 = 65_534;

/// Not a test of its own: the part that a child plays. Does nothing in the test run itself.
#[test]
fn child() {
    let Some((role, dir)) = role() else { return };
    match role.as_str() {
        "write buffered" => write_for_ever(&dir, Durability::Buffered),
        "write sync" => write_for_ever(&dir, Durability::Sync),
        "put 1000" => put_numbers(&dir, 1000),
        "put 100" => put_numbers(&dir, 100),
        "put 1" => put_numbers(&dir, 1),
        "hold" => hold(&dir),
        "read only" => read_only(&dir),
        "few descriptors" => few_descriptors(&dir),
        "replay" => replay(&dir),
        other => panic!("no such role: {other}"),
    }
}

fn small() -> Settings {
    Settings {
        memtable_bytes: 16 << 10,
        memtables_total_bytes: 64 << 10,
        level0_stall_tables: 10_000,
        log_bytes_max: 64 << 10,
        background_threads: 1,
        ..Settings::default()
    }
}

fn open(dir: &Path) -> Result<Db> {
    Db::builder(dir).settings(small()).open()
}

fn key(writer: u32, number: u32) -> String {
    format!("{writer}-{number:08}")
}

/// Writers that say each number once it is acknowledged, until somebody kills them.
fn write_for_ever(dir: &Path, durability: Durability) {
    let db = open(dir).unwrap();
    let said = Mutex::new(());
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (db, said) = (&db, &said);
            scope.spawn(move || {
                let space = db.default_keyspace();
                for number in (0..).step_by(BATCH as usize) {
                    if number % (2 * BATCH) == 0 {
                        let mut batch = WriteBatch::new();
                        (number..number + BATCH)
                            .for_each(|number| batch.put(&space, key(writer, number), "batch"));
                        db.write_with(batch, durability).unwrap();
                    } else {
                        for number in number..number + BATCH {
                            space.put_with(key(writer, number), "single", durability).unwrap();
                        }
                    }
                    let _one_line_at_a_time = said.lock().unwrap();
                    say(&format!("{writer} {}", number + BATCH));
                }
            });
        }
    });
}

/// How many numbers of each writer there are; a gap is a failure.
fn count_without_gaps(space: &Keyspace) -> BTreeMap<u32, u32> {
    let mut counts = BTreeMap::from_iter((0..WRITERS).map(|writer| (writer, 0)));
    for pair in space.iter() {
        let (found, _) = pair.unwrap();
        let found = String::from_utf8(found.into()).unwrap();
        let (writer, number) = found.split_once('-').unwrap();
        let count = counts.get_mut(&writer.parse().unwrap()).unwrap();
        assert_eq!(number.parse(), Ok(*count), "a gap in what writer {writer} wrote");
        *count += 1;
    }
    counts
}

fn kill_writers(role: &str, rounds: usize) {
    for round in 0..rounds {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path().join("store");
        let mut actor = Actor::new(role, &dir);
        let mut said: Vec<String> = (0..1 + round * 17).map(|_| actor.line()).collect();
        said.extend(actor.kill());
        let mut acked = BTreeMap::new();
        for line in said {
            // The last line may be cut short.
            if let Some((writer, count)) = line.split_once(' ')
                && let (Ok(writer), Ok(count)) = (writer.parse::<u32>(), count.parse::<u32>())
            {
                acked.entry(writer).and_modify(|most: &mut u32| *most = (*most).max(count)).or_insert(count);
            }
        }
        let db = open(&dir).unwrap();
        let found = count_without_gaps(&db.default_keyspace());
        for (writer, acked) in acked {
            assert!(
                found[&writer] >= acked,
                "round {round}: {} of {acked} acknowledged writes",
                found[&writer]
            );
        }
        for (writer, found) in found {
            let in_batch = found % (2 * BATCH);
            assert!(in_batch == 0 || in_batch >= BATCH, "round {round}, writer {writer}: part of a batch");
        }
    }
}

#[test]
fn h29_buffered_writes_survive_kill_9() {
    kill_writers("write buffered", 12);
}

#[test]
fn h29_durable_writes_survive_kill_9() {
    kill_writers("write sync", 8);
}

fn put_numbers(dir: &Path, count: u32) {
    let db = Db::open(dir).unwrap();
    for number in 0..count {
        db.default_keyspace().put_with(number.to_be_bytes(), "v", Durability::Sync).unwrap();
    }
    say("done");
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn h21_opening_after_kill_9_replays_the_log() {
    for count in [1, 100, 1000] {
        let scratch = tempfile::tempdir().unwrap();
        let mut actor = Actor::new(&format!("put {count}"), scratch.path());
        assert_eq!(actor.line(), "done");
        actor.kill();
        let db = Db::open(scratch.path()).unwrap();
        assert_eq!(db.default_keyspace().iter().map(Result::unwrap).count(), count);
    }
}

/// Holds the store open until its input ends.
fn hold(dir: &Path) {
    let db = open(dir).unwrap();
    db.default_keyspace().put("k", "theirs").unwrap();
    say("held");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    db.default_keyspace().put("k", "theirs again").unwrap();
    db.close().unwrap();
}

#[test]
fn h33_a_second_opener_is_locked_out_in_and_out_of_the_process() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("store");
    let mut actor = Actor::new("hold", &dir);
    assert_eq!(actor.line(), "held");
    let began = Instant::now();
    assert_eq!(open(&dir).unwrap_err().kind(), ErrorKind::Locked);
    let read_only = Db::builder(&dir).read_only(true).open();
    assert_eq!(read_only.unwrap_err().kind(), ErrorKind::Locked);
    assert!(began.elapsed() < Duration::from_secs(1), "it waited");
    actor.finish();

    let db = open(&dir).unwrap();
    assert_eq!(db.default_keyspace().get("k").unwrap().unwrap(), b"theirs again");
    let error = open(&dir).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert!(error.to_string().contains(dir.to_str().unwrap()), "{error}");
    db.default_keyspace().put("k", "ours").unwrap();
    // Closing gives the lock back though handles live on.
    let space = db.default_keyspace();
    db.close().unwrap();
    let db = open(&dir).unwrap();
    assert_eq!(db.default_keyspace().get("k").unwrap().unwrap(), b"ours");
    assert_eq!(space.get("k").unwrap_err().kind(), ErrorKind::Closed);
    drop(db);

    let readers = [(); 2].map(|()| Db::builder(&dir).read_only(true).open().unwrap());
    assert_eq!(open(&dir).unwrap_err().kind(), ErrorKind::Locked);
    drop(readers);
    open(&dir).unwrap();
}

fn read_only(dir: &Path) {
    assert!(fs::write(dir.join("probe"), "").is_err(), "the directory is writable after all");
    assert_eq!(open(dir).unwrap_err().kind(), ErrorKind::Io);
    let db = Db::builder(dir).settings(small()).read_only(true).open().unwrap();
    let space = db.default_keyspace();
    assert_eq!(space.iter().map(Result::unwrap).count(), 40);
    assert_eq!(space.get("k00").unwrap().unwrap(), b"flushed");
    assert_eq!(space.get("k39").unwrap().unwrap(), b"logged");
    for refused in [space.put("k", "v"), space.delete("k"), space.flush(), db.flush()] {
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::ReadOnly);
    }
    db.close().unwrap();
    say("read");
}

#[test]
fn a_directory_that_may_only_be_read_opens_for_reading() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("store");
    let db = open(&dir).unwrap();
    (0..20).for_each(|no| db.default_keyspace().put(format!("k{no:02}"), "flushed").unwrap());
    db.flush().unwrap();
    (20..40).for_each(|no| db.default_keyspace().put(format!("k{no:02}"), "logged").unwrap());
    db.close().unwrap();
    fs::remove_file(dir.join("LOCK")).unwrap();

    // Everybody may read, nobody may write. Root may anyway, so the child is somebody else then.
    let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    set_mode(scratch.path(), 0o755);
    for file in fs::read_dir(&dir).unwrap() {
        set_mode(&file.unwrap().path(), 0o444);
    }
    set_mode(&dir, 0o555);
    let program = scratch.path().join("child");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = Command::new(&program);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
    }
    let said = Actor::spawn(command, "read only", &dir).finish();
    assert_eq!(said, ["read"]);
    assert!(!dir.join("LOCK").exists());
    set_mode(&dir, 0o755);
}

fn limit_descriptors(count: u64) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(count);
    setrlimit(Resource::Nofile, limit).unwrap();
}

fn few_descriptors(dir: &Path) {
    limit_descriptors(64);
    let db = match open(dir) {
        Ok(db) => db,
        Err(error) => return say(&format!("open {error}")),
    };
    let space = db.default_keyspace();
    for round in 0..150_u32 {
        if space.put_with(round.to_be_bytes(), [1; 100], Durability::Sync).is_ok() {
            say(&format!("{round}"));
        }
        // May fail for want of descriptors; must not harm.
        db.flush().ok();
        for number in (0..round).step_by(7) {
            if let Ok(found) = space.get(number.to_be_bytes()) {
                assert_eq!(found.as_deref(), Some(&[1; 100][..]), "round {round}, number {number}");
            }
        }
    }
}

#[test]
fn h34_few_descriptors_are_errors_at_worst() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("store");
    let acked: Vec<u32> =
        Actor::new("few descriptors", &dir).finish().iter().map(|n| n.parse().unwrap()).collect();
    assert!(acked.len() > 10, "{} writes", acked.len());
    let db = open(&dir).unwrap();
    let space = db.default_keyspace();
    for number in acked {
        assert_eq!(space.get(number.to_be_bytes()).unwrap().unwrap(), [1; 100], "number {number}");
    }
    assert!(space.iter().all(|pair| pair.is_ok()));
}

/// Peak resident memory of this process so far, in KiB.
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn replay(dir: &Path) {
    let before = peak_kib();
    let settings = Settings {
        cache_bytes: 1 << 20,
        memtable_bytes: 1 << 20,
        memtables_total_bytes: 4 << 20,
        level0_stall_tables: 10_000,
        ..Settings::default()
    };
    let db = Db::builder(dir).settings(settings).open().unwrap();
    say(&format!("{}", peak_kib() - before));
    let mut count = 0_u64;
    for pair in db.default_keyspace().iter() {
        assert_eq!(pair.unwrap().0, count.to_be_bytes());
        count += 1;
    }
    say(&format!("{count}"));
}

#[cfg(target_os = "linux")]
#[test]
fn h23_a_log_larger_than_the_memtable_is_replayed_in_bounded_memory() {
    let scratch = tempfile::tempdir().unwrap();
    let large =
        Settings { memtable_bytes: 128 << 20, memtables_total_bytes: 512 << 20, ..Settings::default() };
    let db = Db::builder(scratch.path()).settings(large).open().unwrap();
    let records = 16 << 10;
    for number in 0..records as u64 {
        db.default_keyspace().put(number.to_be_bytes(), [number as u8; 4000]).unwrap();
    }
    db.close().unwrap();
    let said = Actor::new("replay", scratch.path()).finish();
    let grown: u64 = said[0].parse().unwrap();
    assert_eq!(said[1], records.to_string());
    assert!(grown < 32 << 10, "opening took {grown} KiB");
}

/// A process that is being started has, until it runs its program, all files open that its parent
/// had, the lock file too.
#[test]
fn a_store_that_was_closed_can_be_opened_at_once_while_processes_are_started() {
    let dir = tempfile::tempdir().unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    Command::new("true").status().unwrap();
                }
            });
        }
        let opened = (0..300).try_for_each(|_| Db::open(dir.path())?.close());
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        opened.unwrap();
    });
}
