//! Every bit of small files of every kind flipped, every truncation, bytes added, files swapped
//! between stores, files gone: the right value or a clear error, never a wrong or a missing
//! value, never a panic.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod log_file;
    pub(crate) mod seeds;
}

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::log_file::written;
use common::seeds::for_each_seed;
use kiban::storage::{MemStorage, Storage};
use kiban::{Db, Durability, Error, ErrorKind, Key, Keyspace, RecoveryMode, Result, Settings, Value};

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// A store on a disk, closed or killed, and what it held after each write.
struct Sample {
    disk: MemStorage,
    /// The last is what it holds now. The first is what its tables hold.
    history: Vec<Contents>,
}

fn dir() -> &'static Path {
    Path::new("/store")
}

fn settings() -> Settings {
    Settings { cache_bytes: 0, background_threads: 1, ..Settings::default() }
}

/// Two tables and a log; `seed` decides the store's id and all values.
fn sample(seed: u64, closed: bool) -> Sample {
    let disk = MemStorage::new(seed);
    let db = Db::builder(dir()).storage(Arc::new(disk.clone())).settings(settings()).open().unwrap();
    let space = db.default_keyspace();
    let mut contents = Contents::new();
    let put = |contents: &mut Contents, no: usize, bytes: usize| {
        let key = format!("key-{no:03}").into_bytes();
        let value = format!("{seed}/{no}/{}-", contents.len()).into_bytes().repeat(bytes / 8 + 1);
        space.put_with(&key, &value, Durability::Sync).unwrap();
        contents.insert(key, value);
    };
    (0..24).for_each(|no| put(&mut contents, no * 3, 10));
    space.delete_with("key-003", Durability::Sync).unwrap();
    contents.remove(&b"key-003"[..]);
    db.flush().unwrap();
    (0..12).for_each(|no| put(&mut contents, no * 5, 100));
    space.delete_with("key-006", Durability::Sync).unwrap();
    contents.remove(&b"key-006"[..]);
    db.flush().unwrap();
    let mut history = vec![contents.clone()];
    for no in 0..8 {
        put(&mut contents, no * 7, 30);
        history.push(contents.clone());
    }
    let disk = if closed {
        db.close().unwrap();
        disk
    } else {
        disk.fork()
    };
    Sample { disk: disk.fork(), history }
}

impl Sample {
    fn now(&self) -> &Contents {
        self.history.last().unwrap()
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<_> = self.disk.list(dir()).unwrap().into_iter().map(|entry| entry.name).collect();
        names.retain(|name| name != "LOCK");
        names.sort();
        assert!(names.len() >= 5, "{names:?}");
        names
    }

    /// The bytes of a file; of a log those that were appended.
    fn bytes(&self, name: &str) -> Vec<u8> {
        let bytes = self.disk.bytes(&path(name)).unwrap();
        if is_log(name) { written(&bytes).to_vec() } else { bytes }
    }

    /// The same disk with other bytes in one file. A log that had room behind them keeps some.
    fn with(&self, name: &str, mut bytes: Vec<u8>) -> MemStorage {
        const ROOM_BYTES: usize = 600;
        let disk = self.disk.fork();
        let room = disk.bytes(&path(name)).unwrap().len() - self.bytes(name).len();
        bytes.resize(bytes.len() + room.min(ROOM_BYTES), 0);
        disk.set_bytes(&path(name), bytes);
        disk
    }
}

/// A sidecar: made of a table, and made again where it is not as it was.
fn is_derived(name: &str) -> bool {
    name.contains(".ph4")
}

fn path(name: &str) -> PathBuf {
    dir().join(name)
}

/// How a store is opened and how much of history it may have lost.
#[derive(Clone, Copy)]
struct Rules {
    read_only: bool,
    recovery: RecoveryMode,
    /// The file is a log whose end may be what a power cut left: a prefix of history is right.
    prefix: bool,
}

impl Rules {
    const STRICT: Self = Self { read_only: true, recovery: RecoveryMode::Strict, prefix: false };

    fn prefix_if(self, prefix: bool) -> Self {
        Self { prefix, ..self }
    }
}

/// Reads all there is by every road; each answer must be right or an error.
fn check(disk: MemStorage, sample: &Sample, rules: Rules) -> Result<()> {
    let db = Db::builder(dir())
        .storage(Arc::new(disk))
        .settings(Settings { recovery: rules.recovery, ..settings() })
        .read_only(rules.read_only)
        .open()
        .map_err(expected)?;
    let space = db.default_keyspace();
    let possible: Vec<&Contents> = match rules.prefix {
        true => sample.history.iter().collect(),
        false => vec![sample.now()],
    };
    let mut wrong = String::new();
    for contents in possible {
        match compare(&space, contents) {
            Verdict::Right => return Ok(()),
            Verdict::Error(error) => return Err(expected(error)),
            Verdict::Wrong(what) => wrong = what,
        }
    }
    panic!("{wrong}");
}

/// Damage is called damage, or a version that this build does not know.
fn expected(error: Error) -> Error {
    let kinds = [ErrorKind::Corruption, ErrorKind::Unsupported];
    assert!(kinds.contains(&error.kind()), "{:?}: {error}", error.kind());
    assert!(!error.to_string().is_empty());
    error
}

enum Verdict {
    Right,
    /// No answer was wrong, but some were errors.
    Error(Error),
    Wrong(String),
}

fn compare(space: &Keyspace, contents: &Contents) -> Verdict {
    let mut error = None;
    let forward: Vec<_> = contents.iter().collect();
    let backward: Vec<_> = contents.iter().rev().collect();
    for (scan, expected) in [(scan(space.iter()), forward), (scan(space.iter().rev()), backward)] {
        let (found, failed) = scan;
        let right = found.iter().zip(&expected).all(|((key, value), (k, v))| *key == **k && *value == **v);
        let complete = failed.is_some() || found.len() == expected.len();
        if !right || !complete || found.len() > expected.len() {
            return Verdict::Wrong(format!("a scan of {} found {}", expected.len(), found.len()));
        }
        error = error.or(failed);
    }
    let keys: Vec<Vec<u8>> = (0..75).map(|no| format!("key-{no:03}").into_bytes()).collect();
    for key in &keys {
        match space.get(key) {
            Ok(found) if found.as_deref() == contents.get(key).map(Vec::as_slice) => {}
            Ok(found) => return Verdict::Wrong(format!("get of {}: {found:?}", key.escape_ascii())),
            Err(failed) => error = error.or(Some(failed)),
        }
    }
    match space.multi_get(&keys) {
        Ok(found) => {
            for (key, found) in keys.iter().zip(found) {
                if found.as_deref() != contents.get(key).map(Vec::as_slice) {
                    return Verdict::Wrong(format!("multi_get of {}: {found:?}", key.escape_ascii()));
                }
            }
        }
        Err(failed) => error = error.or(Some(failed)),
    }
    error.map_or(Verdict::Right, Verdict::Error)
}

/// What a scan gave before its end or its error. An error must repeat.
fn scan(mut pairs: impl Iterator<Item = Result<(Key, Value)>>) -> (Vec<(Key, Value)>, Option<Error>) {
    let mut found = Vec::new();
    while let Some(pair) = pairs.next() {
        match pair {
            Ok(pair) => found.push(pair),
            Err(error) => {
                assert!(matches!(pairs.next(), Some(Err(_))), "a scan that failed looks finished");
                return (found, Some(error));
            }
        }
        assert!(found.len() < 1000, "a scan without end");
    }
    (found, None)
}

fn is_log(name: &str) -> bool {
    name.ends_with(".log")
}

#[test]
fn the_samples_are_sound() {
    for closed in [false, true] {
        let sample = sample(1, closed);
        check(sample.disk.fork(), &sample, Rules::STRICT).unwrap();
        check(sample.disk.fork(), &sample, Rules { read_only: false, ..Rules::STRICT }).unwrap();
        let kinds = [".sst", ".log", "MANIFEST", "CURRENT"];
        for kind in kinds {
            assert!(
                sample.files().iter().any(|name| name.contains(kind)),
                "no {kind} in {:?}",
                sample.files()
            );
        }
    }
}

/// Flips each bit of one kind of file; a flip in a byte that is used must be an error or
/// harmless to every answer.
fn flip_every_bit(test: &str, kind: &str, closed: bool) {
    let sample = sample(1, closed);
    let files: Vec<_> = sample.files().into_iter().filter(|name| name.contains(kind)).collect();
    assert!(!files.is_empty());
    for name in files {
        let bytes = sample.bytes(&name);
        for_each_seed(test, 0, bytes.len() as u64 * 8, |bit| {
            let mut damaged = bytes.clone();
            damaged[bit as usize / 8] ^= 1 << (bit % 8);
            check(sample.with(&name, damaged), &sample, Rules::STRICT).ok();
        });
    }
}

#[test]
fn no_flipped_bit_of_a_log_is_missed() {
    flip_every_bit("no_flipped_bit_of_a_log_is_missed", ".log", false);
    flip_every_bit("no_flipped_bit_of_a_log_is_missed", ".log", true);
}

#[test]
fn no_flipped_bit_of_a_manifest_is_missed() {
    flip_every_bit("no_flipped_bit_of_a_manifest_is_missed", "MANIFEST", false);
}

#[test]
fn no_flipped_bit_of_the_pointer_is_missed() {
    flip_every_bit("no_flipped_bit_of_the_pointer_is_missed", "CURRENT", false);
}

#[test]
fn no_flipped_bit_of_a_table_is_missed() {
    flip_every_bit("no_flipped_bit_of_a_table_is_missed", &smallest_table(&sample(1, true)), true);
}

fn smallest_table(sample: &Sample) -> String {
    let tables = sample.files().into_iter().filter(|name| name.ends_with(".sst"));
    tables.min_by_key(|name| sample.bytes(name).len()).unwrap()
}

#[test]
fn a_flipped_bit_is_an_error_wherever_the_byte_is_needed() {
    let sample = sample(1, false);
    for name in sample.files() {
        let bytes = sample.bytes(&name);
        let mut errors = 0;
        let places: Vec<_> = (0..bytes.len()).step_by(if bytes.len() > 4000 { 13 } else { 1 }).collect();
        for at in &places {
            let mut damaged = bytes.clone();
            damaged[*at] ^= 0xFF;
            errors += usize::from(check(sample.with(&name, damaged), &sample, Rules::STRICT).is_err());
        }
        if is_derived(&name) {
            assert_eq!(errors, 0, "{name}: no answer needs it");
            continue;
        }
        // Padding and what only hints may use are harmless; the rest is not.
        assert!(errors * 3 > places.len(), "{name}: {errors} of {} bytes are needed", places.len());
    }
}

/// `verify` reads what no answer needs: every changed byte is found, by it or by the open before.
#[test]
fn verify_finds_every_changed_byte_and_names_the_file() {
    let test = "verify_finds_every_changed_byte_and_names_the_file";
    for closed in [false, true] {
        let sample = sample(1, closed);
        for name in sample.files() {
            let bytes = sample.bytes(&name);
            let stride = if bytes.len() > 4000 { 5 } else { 1 };
            for_each_seed(test, 0, bytes.len() as u64 / stride, |place| {
                let mut damaged = bytes.clone();
                damaged[(place * stride) as usize] ^= 1 << (place % 8);
                let disk = Arc::new(sample.with(&name, damaged));
                let opened = Db::builder(dir()).storage(disk).settings(settings()).read_only(true).open();
                let at = place * stride;
                match opened.and_then(|db| db.verify()) {
                    Ok(report) => {
                        assert!(!report.is_clean(), "{name}: the change of byte {at} is not found");
                        assert!(
                            report.problems.iter().any(|problem| problem.file == name),
                            "{name}: not named"
                        );
                    }
                    Err(error) => {
                        expected(error);
                    }
                }
            });
        }
    }
}

#[test]
fn every_truncation_is_right_or_an_error_and_of_a_log_a_prefix() {
    let test = "every_truncation_is_right_or_an_error_and_of_a_log_a_prefix";
    for closed in [false, true] {
        let sample = sample(1, closed);
        for name in sample.files() {
            let bytes = sample.bytes(&name);
            if closed && name.ends_with(".sst") {
                continue;
            }
            let rules = Rules::STRICT.prefix_if(is_log(&name));
            for_each_seed(test, 0, bytes.len() as u64, |len| {
                check(sample.with(&name, bytes[..len as usize].to_vec()), &sample, rules).ok();
            });
        }
    }
}

#[test]
fn bytes_added_to_a_file_change_no_answer() {
    let garbage: Vec<u8> = (0..4096_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8 | 1).collect();
    for closed in [false, true] {
        let sample = sample(1, closed);
        for name in sample.files() {
            for tail in
                [&[0][..], &[1], &garbage[..17], &garbage[..1024], &garbage, &[0; 4096], &[0; 1 << 20]]
            {
                let bytes = [&sample.bytes(&name), tail].concat();
                let verdict = check(sample.with(&name, bytes), &sample, Rules::STRICT);
                if is_log(&name) && (tail.iter().all(|byte| *byte == 0) || tail.len() == 17) {
                    verdict.expect("a tail of zeros or of a torn frame is no damage");
                }
            }
        }
    }
}

/// Half-written frames, zeroed sectors, runs of garbage.
#[test]
fn damaged_runs_of_bytes_change_no_answer() {
    let sample = sample(1, false);
    for name in sample.files() {
        let bytes = sample.bytes(&name);
        let rules = Rules::STRICT.prefix_if(is_log(&name));
        for_each_seed("damaged_runs_of_bytes_change_no_answer", 0, 2000, |seed| {
            let start = (seed.wrapping_mul(7919) % bytes.len() as u64) as usize;
            let len = [2, 3, 8, 64, 512, 4096][seed as usize % 6];
            let end = bytes.len().min(start + len);
            let mut damaged = bytes.clone();
            match seed % 3 {
                0 => damaged[start..end].fill(0),
                1 => damaged[start..end].fill(0xFF),
                _ => {
                    damaged[start..end].iter_mut().for_each(|byte| *byte = byte.wrapping_add(seed as u8 | 1))
                }
            }
            check(sample.with(&name, damaged), &sample, rules).ok();
        });
    }
}

#[test]
fn a_damaged_log_read_up_to_a_point_in_time_gives_a_prefix_of_history() {
    let test = "a_damaged_log_read_up_to_a_point_in_time_gives_a_prefix_of_history";
    let sample = sample(1, false);
    let log = sample.files().into_iter().rfind(|name| is_log(name)).unwrap();
    let bytes = sample.bytes(&log);
    let rules = Rules { recovery: RecoveryMode::PointInTime, ..Rules::STRICT.prefix_if(true) };
    let opened = std::sync::atomic::AtomicUsize::new(0);
    for_each_seed(test, 0, bytes.len() as u64, |at| {
        let mut damaged = bytes.clone();
        damaged[at as usize] ^= 0x10;
        if check(sample.with(&log, damaged), &sample, rules).is_ok() {
            opened.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert!(opened.into_inner() > bytes.len() / 2, "it stops instead of refusing");
}

#[test]
fn a_file_of_another_store_is_refused() {
    let (ours, theirs) = (sample(1, true), sample(2, true));
    let mut swapped = 0;
    for name in ours.files() {
        if let Ok(foreign) = theirs.disk.bytes(&path(&name)) {
            match check(ours.with(&name, foreign), &ours, Rules::STRICT) {
                Ok(()) => assert!(is_derived(&name), "{name} is of another store and nobody says so"),
                Err(error) => {
                    assert!(error.to_string().contains(&name) || name == "CURRENT", "{name}: {error}");
                }
            }
            swapped += 1;
        }
    }
    assert!(swapped >= 4, "the samples have no names in common");
}

#[test]
fn a_table_under_the_name_of_another_is_refused() {
    let sample = sample(1, true);
    let tables: Vec<_> = sample.files().into_iter().filter(|name| name.ends_with(".sst")).collect();
    for (name, other) in [(&tables[0], &tables[1]), (&tables[1], &tables[0])] {
        let error = check(sample.with(name, sample.bytes(other)), &sample, Rules::STRICT).unwrap_err();
        assert!(error.to_string().contains(&**name), "{error}");
    }
}

#[test]
fn a_missing_file_is_named_and_nothing_is_made_in_its_place() {
    for read_only in [true, false] {
        for closed in [false, true] {
            let sample = sample(1, closed);
            for name in sample.files() {
                let disk = sample.disk.fork();
                disk.remove(&path(&name)).unwrap();
                let before = names(&disk);
                let rules = Rules { read_only, ..Rules::STRICT }.prefix_if(is_log(&name));
                match check(disk.clone(), &sample, rules) {
                    Ok(()) => {
                        assert!(is_log(&name) || is_derived(&name), "{name} is missing and nobody says so")
                    }
                    Err(error) => assert!(error.to_string().contains(&name), "{name}: {error}"),
                }
                let is_new = |made: &String| !before.contains(made) && made != "LOCK" && !is_derived(made);
                assert_eq!(names(&disk).into_iter().find(is_new), None, "{name}");
            }
        }
    }
}

fn names(disk: &MemStorage) -> Vec<String> {
    disk.list(dir()).unwrap().into_iter().map(|entry| entry.name).collect()
}

/// A writable open may clean up; it must not do so on the word of damaged files.
#[test]
fn opening_a_damaged_store_for_writing_removes_no_table_and_no_log_that_is_needed() {
    let sample = sample(1, false);
    for name in sample.files() {
        let bytes = sample.bytes(&name);
        for_each_seed("opening_a_damaged_store", 0, 200, |seed| {
            let at = (seed * 7919) as usize % bytes.len();
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (seed % 8);
            let disk = sample.with(&name, damaged);
            check(disk.clone(), &sample, Rules { read_only: false, ..Rules::STRICT }).ok();
            let repaired = disk.fork();
            repaired.set_bytes(&path(&name), bytes.clone());
            check(repaired, &sample, Rules::STRICT).expect("the damage is undone, all is there");
        });
    }
}
