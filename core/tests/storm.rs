//! Readers, writers, compactions, checkpoints and keyspace drops, all at once: no wrong value, no
//! error, and no file left behind.
//!
//! `KIBAN_STORM_SECONDS` sets how long; CI runs a minute.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod env;
    pub(crate) mod rng;
    pub(crate) mod switching;
}

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::env::env_u64;
use common::rng::Rng;
use common::switching;
use kiban::storage::FsStorage;
use kiban::{Db, Durability, IndexPolicy, Keyspace, Settings, Snapshot, Value, WriteBatch};

const WRITERS: u64 = 2;
const READERS: u64 = 8;
/// Groups of keys of each writer. All keys of a group are written by one batch, with one number.
const GROUPS: u64 = 40;
/// Keys of a group in each of the two keyspaces.
const KEYS: u64 = 5;

/// What all threads share.
struct Storm {
    db: Db,
    spaces: [Keyspace; 2],
    /// The number that each group had at least when it was last acknowledged.
    acked: Vec<AtomicU64>,
    stop: AtomicBool,
    /// What each kind of thread did, so that a thread that does nothing is noticed.
    rounds: [AtomicU64; KINDS.len()],
}

const KINDS: [&str; 7] = ["writes", "reads", "compactions", "checkpoints", "drops", "ingests", "switches"];
const WRITES: usize = 0;
const READS: usize = 1;
const COMPACTIONS: usize = 2;
const CHECKPOINTS: usize = 3;
const DROPS: usize = 4;
const INGESTS: usize = 5;
const SWITCHES: usize = 6;

/// Ends the others when a thread ends, also by a failure.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// SplitMix64.
fn mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

fn key(group: u64, no: u64) -> Vec<u8> {
    format!("group-{group:03}/{no}").into_bytes()
}

/// The number, and filling that follows from it.
fn value(number: u64) -> Vec<u8> {
    let bytes = 8 + number % 700;
    (0..bytes).map(|at| number.to_le_bytes()[(at % 8) as usize] ^ (at / 8) as u8).collect()
}

fn number(value: &[u8]) -> u64 {
    let number = u64::from_le_bytes(value[..8].try_into().unwrap());
    assert!(value == self::value(number), "a value that was never written");
    number
}

fn settings() -> Settings {
    Settings {
        cache_bytes: 256 << 10,
        memtable_bytes: 64 << 10,
        memtables_total_bytes: 512 << 10,
        table_bytes: 32 << 10,
        level_ratio: 4,
        level0_tables: 2,
        level0_stall_tables: 20,
        log_bytes_max: 1 << 20,
        background_threads: 2,
        open_files_max: 24,
        mmap_max_level: Some(1),
        ..Settings::default()
    }
}

impl Storm {
    fn count(&self, kind: usize) {
        self.rounds[kind].fetch_add(1, Ordering::Relaxed);
    }

    /// Runs until it is time to stop.
    fn repeat(&self, mut round: impl FnMut(u64)) {
        let _stop = Stop(&self.stop);
        for no in 0.. {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            round(no);
        }
    }

    fn write(&self, writer: u64) {
        let mut random = writer;
        self.repeat(|round| {
            let group = writer * GROUPS + mix(&mut random) % GROUPS;
            let number = round + 2;
            let mut batch = WriteBatch::new();
            for space in &self.spaces {
                (0..KEYS).for_each(|no| batch.put(space, key(group, no), value(number)));
            }
            let durability =
                if mix(&mut random).is_multiple_of(50) { Durability::Sync } else { Durability::Buffered };
            self.db.write_with(batch, durability).unwrap();
            self.acked[group as usize].store(number, Ordering::Release);
            self.count(WRITES);
        });
    }

    /// Each read of a group sees one number, never an older one than was seen or acknowledged.
    fn read(&self, reader: u64) {
        let mut random = 100 + reader;
        let mut seen = vec![0; (WRITERS * GROUPS) as usize];
        self.repeat(|_| {
            let group = mix(&mut random) % (WRITERS * GROUPS);
            let least = self.acked[group as usize].load(Ordering::Acquire).max(seen[group as usize]);
            let found = self.number_of(group, mix(&mut random) % 6);
            assert!(found >= least, "group {group} went back from {least} to {found}");
            seen[group as usize] = found;
            self.count(READS);
        });
    }

    /// The number of a group, read by one of the roads.
    fn number_of(&self, group: u64, road: u64) -> u64 {
        let space = &self.spaces[(road % 2) as usize];
        let keys: Vec<_> = (0..KEYS).map(|no| key(group, no)).collect();
        match road {
            0 => number(&space.get(&keys[0]).unwrap().unwrap()),
            1 => one(space.multi_get(&keys).unwrap().into_iter().map(Option::unwrap)),
            2 => one(space.prefix(format!("group-{group:03}/")).map(|pair| pair.unwrap().1)),
            3 => one(space.prefix(format!("group-{group:03}/")).rev().map(|pair| pair.unwrap().1)),
            4 => self.walk(space, &keys),
            _ => self.number_in(&self.db.snapshot(), group),
        }
    }

    fn walk(&self, space: &Keyspace, keys: &[Vec<u8>]) -> u64 {
        let mut cursor = space.cursor();
        let mut numbers = Vec::new();
        assert!(cursor.seek(&keys[0]).unwrap());
        for key in keys {
            assert_eq!(cursor.key(), key);
            numbers.push(number(cursor.value()));
            cursor.next().unwrap();
        }
        cursor.seek_for_prev(&keys[4]).unwrap();
        numbers.push(number(cursor.value()));
        numbers.dedup();
        assert_eq!(numbers.len(), 1, "a cursor sees one moment");
        numbers[0]
    }

    /// A snapshot sees the group at one moment, in both keyspaces, whenever it reads.
    fn number_in(&self, snapshot: &Snapshot, group: u64) -> u64 {
        let keys: Vec<_> = (0..KEYS).map(|no| key(group, no)).collect();
        one(self.spaces.iter().flat_map(|space| {
            let many = snapshot.multi_get(space, &keys).unwrap();
            many.into_iter().map(Option::unwrap).collect::<Vec<_>>()
        }))
    }

    fn compact(&self) {
        self.repeat(|round| {
            let space = &self.spaces[(round % 2) as usize];
            let group = round * 7 % (WRITERS * GROUPS);
            match round % 5 {
                0 => space.compact().unwrap(),
                1 | 2 => space.compact_range(key(group, 0)..key(group + 9, 0)).unwrap(),
                3 => self.db.flush().unwrap(),
                _ => assert!(self.db.verify().unwrap().is_clean()),
            }
            self.count(COMPACTIONS);
            thread::sleep(Duration::from_millis(20));
        });
    }

    /// A checkpoint holds all that was acknowledged before, and whole batches.
    fn checkpoint(&self, dir: &Path) {
        self.repeat(|round| {
            let least: Vec<u64> = self.acked.iter().map(|acked| acked.load(Ordering::Acquire)).collect();
            let target = dir.join(format!("checkpoint-{round}"));
            self.db.checkpoint(&target).unwrap();
            let copy = Db::builder(&target).settings(settings()).open().unwrap();
            assert!(copy.verify().unwrap().is_clean());
            let spaces = [copy.default_keyspace(), copy.keyspace("other").unwrap()];
            for (group, least) in (0..).zip(&least) {
                let all = spaces
                    .iter()
                    .flat_map(|space| (0..KEYS).map(move |no| space.get(key(group, no)).unwrap().unwrap()));
                let found = one(all);
                assert!(found >= *least, "group {group}: {found} in the checkpoint, {least} acknowledged");
            }
            copy.close().unwrap();
            std::fs::remove_dir_all(&target).unwrap();
            self.count(CHECKPOINTS);
        });
    }

    /// A keyspace that comes and goes: always empty when it is made, and readable by a snapshot
    /// and an iterator from before it was dropped.
    fn come_and_go(&self) {
        self.repeat(|round| {
            let space = self.db.keyspace("passing").unwrap();
            assert_eq!(space.iter().count(), 0, "a new keyspace is empty");
            for no in 0..300_u64 {
                space.put(no.to_be_bytes(), value(round * 300 + no)).unwrap();
            }
            if round % 3 == 0 {
                space.flush().unwrap();
            }
            if round % 4 == 1 {
                space.clear().unwrap();
                assert_eq!(space.iter().count(), 0, "a cleared keyspace is empty");
                (0..300_u64).for_each(|no| space.put(no.to_be_bytes(), value(round * 300 + no)).unwrap());
            }
            let (snapshot, mut iter) = (self.db.snapshot(), space.iter());
            self.db.drop_keyspace("passing").unwrap();
            assert!(space.get(0_u64.to_be_bytes()).is_err(), "its handle is closed");
            for no in 0..300_u64 {
                let expected = round * 300 + no;
                assert_eq!(number(&snapshot.get(&space, no.to_be_bytes()).unwrap().unwrap()), expected);
                assert_eq!(number(&iter.next().unwrap().unwrap().1), expected);
            }
            assert!(iter.next().is_none());
            self.count(DROPS);
        });
    }

    /// Sorted pairs that replace all there were.
    fn ingest(&self) {
        let space = self.db.keyspace("ingested").unwrap();
        self.repeat(|round| {
            space.ingest((0..500_u64).map(|no| (no.to_be_bytes(), value(round + 1)))).unwrap();
            assert_eq!(one(space.iter().map(|pair| pair.unwrap().1)), round + 1);
            assert_eq!(space.iter().count(), 500);
            self.count(INGESTS);
            thread::sleep(Duration::from_millis(50));
        });
    }

    /// Indexes that come, go, are kept elsewhere, and whose files vanish.
    fn switch(&self, dir: &Path) {
        let mut rng = Rng::new(9);
        self.repeat(|_| {
            if rng.percent(25) {
                for path in switching::sidecars(&FsStorage::new(), dir).unwrap() {
                    // The store may have been quicker.
                    let _ = std::fs::remove_file(path);
                }
            }
            rng.pick(&self.spaces).reindex(switching::policy(&mut rng)).unwrap();
            self.count(SWITCHES);
            thread::sleep(Duration::from_millis(30));
        });
    }

    /// Every table gets an index again, also those whose sidecars were taken away.
    fn index_all(&self) {
        for name in self.db.keyspaces().unwrap() {
            self.db.keyspace(&name).unwrap().reindex(IndexPolicy::always("ph4")).unwrap();
        }
    }

    /// The files of the directory are the live ones, as soon as all is at rest.
    fn check_files(&self, dir: &Path) {
        self.db.wait_idle().unwrap();
        let stats = self.db.stats();
        let tables: u64 =
            stats.keyspaces.iter().flat_map(|space| &space.levels).map(|level| level.tables).sum();
        let explained = stats
            .keyspaces
            .iter()
            .flat_map(|space| self.db.keyspace(&space.name).unwrap().explain().unwrap());
        let sidecars = explained.map(|table| table.sidecars.len() as u64).sum();
        let mut live = BTreeMap::from([
            ("CURRENT".to_owned(), 1),
            ("LOCK".to_owned(), 1),
            ("MANIFEST".to_owned(), 1),
            ("log".to_owned(), stats.log_files),
            ("sst".to_owned(), tables),
            ("ph4".to_owned(), sidecars),
        ]);
        live.retain(|_, count| *count > 0);
        let began = Instant::now();
        while files(dir) != live {
            assert!(began.elapsed() < Duration::from_secs(10), "{:?} there, {live:?} live", files(dir));
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// How many files of each kind there are.
fn files(dir: &Path) -> BTreeMap<String, u64> {
    let mut kinds = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let kind = match name.split_once(['.', '-']) {
            Some(("MANIFEST", _)) => "MANIFEST",
            Some((_, kind)) => kind,
            None => &name,
        };
        *kinds.entry(kind.to_owned()).or_insert(0) += 1;
    }
    kinds
}

/// The one number of all these values.
fn one(values: impl Iterator<Item = Value>) -> u64 {
    let mut numbers: Vec<u64> = values.map(|value| number(&value)).collect();
    numbers.dedup();
    assert_eq!(numbers.len(), 1, "half a batch");
    numbers[0]
}

#[test]
fn all_at_once_gives_no_wrong_value_no_error_and_leaves_no_file() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("store");
    let db = Db::builder(&dir).settings(settings()).open().unwrap();
    let spaces = [db.default_keyspace(), db.keyspace("other").unwrap()];
    let storm = Storm {
        acked: (0..WRITERS * GROUPS).map(|_| AtomicU64::new(0)).collect(),
        stop: AtomicBool::new(false),
        rounds: Default::default(),
        db,
        spaces,
    };
    for space in &storm.spaces {
        for group in 0..WRITERS * GROUPS {
            (0..KEYS).for_each(|no| space.put(key(group, no), value(1)).unwrap());
        }
    }
    thread::scope(|scope| {
        let _stop = Stop(&storm.stop);
        let storm = &storm;
        (0..WRITERS).for_each(|writer| drop(scope.spawn(move || storm.write(writer))));
        (0..READERS).for_each(|reader| drop(scope.spawn(move || storm.read(reader))));
        scope.spawn(|| storm.compact());
        scope.spawn(|| storm.checkpoint(root.path()));
        scope.spawn(|| storm.come_and_go());
        scope.spawn(|| storm.ingest());
        scope.spawn(|| storm.switch(&dir));
        let end = Instant::now() + Duration::from_secs(env_u64("KIBAN_STORM_SECONDS", 4));
        while Instant::now() < end && !storm.stop.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(20));
        }
    });
    for (kind, rounds) in KINDS.iter().zip(&storm.rounds) {
        let rounds = rounds.load(Ordering::Relaxed);
        eprintln!("{rounds} {kind}");
        assert!(rounds > 0, "no {kind}");
    }
    for group in 0..WRITERS * GROUPS {
        let acked = storm.acked[group as usize].load(Ordering::Relaxed).max(1);
        (0..6).for_each(|road| assert_eq!(storm.number_of(group, road), acked, "group {group}"));
    }
    storm.index_all();
    assert!(storm.db.verify().unwrap().is_clean());
    storm.check_files(&dir);
}
