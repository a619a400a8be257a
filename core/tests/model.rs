//! Random operations against an ordered map with versions, under absurd settings.
//!
//! `KIBAN_SEEDS` sets how many seeds, `KIBAN_SEED_FROM` the first, `KIBAN_MODEL_STEPS` the length;
//! `just soak` runs many. A failure is cut down to the shortest run of its seed that still fails.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod env;
    pub(crate) mod history;
    pub(crate) mod rng;
    pub(crate) mod seeds;
    pub(crate) mod store;
}

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use common::env::env_u64;
use common::history::{Contents, KEYS, Writer, apply, key};
use common::rng::Rng;
use common::seeds::for_each_seed;
use common::store::{Store, tiny};
use kiban::storage::SimStorage;
use kiban::{Cursor, Durability, ErrorKind, Iter, Settings, Snapshot, WriteBatch};

type Pair = (Vec<u8>, Vec<u8>);
type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// An iterator half eaten, and what it still has to give.
struct OpenIter {
    iter: Iter,
    left: VecDeque<Pair>,
}

/// A store, and what it should hold.
struct Run {
    rng: Rng,
    writer: Writer,
    disk: SimStorage,
    settings: Settings,
    store: Store,
    now: Contents,
    snapshots: Vec<(Snapshot, Contents)>,
    iters: Vec<OpenIter>,
}

impl Run {
    fn new(seed: u64, settings: Settings) -> Self {
        let disk = SimStorage::new(seed);
        let store = Store::open(Arc::new(disk.clone()), settings.clone()).unwrap();
        Self {
            rng: Rng::new(seed),
            writer: Writer::default(),
            disk,
            settings,
            store,
            now: Contents::default(),
            snapshots: Vec::new(),
            iters: Vec::new(),
        }
    }

    fn step(&mut self) {
        match self.rng.below(1000) {
            0..420 => self.write(),
            420..450 => self.compare_and_swap(),
            450..550 => self.read_keys(),
            550..600 => self.read_range(),
            600..640 => self.open_iter(),
            640..740 => self.advance_iter(),
            740..770 => self.walk_a_cursor(),
            770..800 => self.take_snapshot(),
            800..880 => self.read_snapshot(),
            880..890 => self.release(),
            890..897 => self.compact(),
            897..900 => {
                let report = self.store.db.verify().unwrap();
                assert!(report.is_clean(), "{:?}", report.problems);
            }
            900..930 => self.store.db.flush().unwrap(),
            930..945 => self.store.spaces[0].flush().unwrap(),
            945..960 => self.store.db.sync().unwrap(),
            960..975 => self.compare_all(),
            975..990 => self.reopen(true),
            _ => self.reopen(false),
        }
    }

    fn write(&mut self) {
        let batch = self.writer.batch(&mut self.rng);
        let durability = if self.rng.percent(20) { Durability::Sync } else { Durability::Buffered };
        self.store.write(&batch, durability).unwrap();
        apply(&mut self.now, &batch);
    }

    /// A batch that expects two values: applied whole if both are right, else not at all.
    fn compare_and_swap(&mut self) {
        let changes = self.writer.batch(&mut self.rng);
        let mut batch = WriteBatch::new();
        let mut holds = true;
        for change in changes.iter().take(2) {
            let current = self.now[change.space].get(&change.key);
            let wrong = Some(&b"never a value"[..]);
            let expected = if self.rng.percent(80) { current.map(Vec::as_slice) } else { wrong };
            holds &= expected == current.map(Vec::as_slice);
            batch.expect(&self.store.spaces[change.space], &change.key, expected);
        }
        for change in &changes {
            let space = &self.store.spaces[change.space];
            match &change.value {
                Some(value) => batch.put(space, &change.key, value),
                None => batch.delete(space, &change.key),
            }
        }
        match self.store.db.write(batch) {
            Ok(()) => {
                assert!(holds, "an expectation that does not hold was passed over");
                apply(&mut self.now, &changes);
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                assert!(!holds, "{error}");
            }
        }
    }

    fn read_keys(&mut self) {
        let no = self.rng.below(2);
        let keys: Vec<_> = (0..1 + self.rng.below(6)).map(|_| key(self.rng.below(KEYS + 4))).collect();
        let (space, model) = (&self.store.spaces[no], &self.now[no]);
        let many = space.multi_get(&keys).unwrap();
        for (key, many) in keys.iter().zip(many) {
            let expected = model.get(key).map(Vec::as_slice);
            assert_eq!(space.get(key).unwrap().as_deref(), expected, "get of {}", key.escape_ascii());
            assert_eq!(many.as_deref(), expected, "multi_get of {}", key.escape_ascii());
            assert_eq!(space.contains(key).unwrap(), expected.is_some(), "contains");
        }
    }

    fn read_range(&mut self) {
        let no = self.rng.below(2);
        let range = random_range(&mut self.rng);
        let expected = in_range(&self.now[no], &range);
        let space = &self.store.spaces[no];
        let (reverse, found) = match self.rng.percent(50) {
            true => (true, space.range(range.clone()).rev().map(pair).collect::<Vec<_>>()),
            false => (false, space.range(range.clone()).map(pair).collect::<Vec<_>>()),
        };
        let expected: Vec<_> = if reverse { expected.into_iter().rev().collect() } else { expected };
        assert!(found == expected, "range {range:?}, reverse {reverse}");

        let mut prefix = key(self.rng.below(KEYS));
        prefix.truncate(self.rng.below(6));
        let found: Vec<_> = space.prefix(&prefix).map(pair).collect();
        let expected: Vec<_> = pairs(&self.now[no]).filter(|(key, _)| key.starts_with(&prefix)).collect();
        assert!(found == expected, "prefix {}", prefix.escape_ascii());
    }

    fn open_iter(&mut self) {
        let no = self.rng.below(2);
        let range = random_range(&mut self.rng);
        let left = in_range(&self.now[no], &range).into();
        let iter = match self.rng.below(3) {
            0 if !self.snapshots.is_empty() => {
                let (snapshot, contents) = self.rng.pick(&self.snapshots);
                let left = in_range(&contents[no], &range).into();
                self.iters.push(OpenIter { iter: snapshot.range(&self.store.spaces[no], range), left });
                return;
            }
            _ => self.store.spaces[no].range(range),
        };
        self.iters.push(OpenIter { iter, left });
    }

    /// Front and back in any order; each pair once, then the end for good.
    fn advance_iter(&mut self) {
        if self.iters.is_empty() {
            return;
        }
        let no = self.rng.below(self.iters.len());
        let open = &mut self.iters[no];
        for _ in 0..1 + self.rng.below(8) {
            let (found, expected) = if self.rng.percent(60) {
                (open.iter.next(), open.left.pop_front())
            } else {
                (open.iter.next_back(), open.left.pop_back())
            };
            assert!(found.map(pair) == expected, "a step of an iterator");
            if expected.is_none() {
                self.iters.swap_remove(no);
                return;
            }
        }
    }

    fn walk_a_cursor(&mut self) {
        let no = self.rng.below(2);
        let range = random_range(&mut self.rng);
        let keys = in_range(&self.now[no], &range);
        let cursor = self.store.spaces[no].cursor_in(range);
        CursorWalk { cursor, keys, at: At::Fresh }.walk(&mut self.rng);
    }

    fn take_snapshot(&mut self) {
        if self.snapshots.len() < 5 {
            self.snapshots.push((self.store.db.snapshot(), self.now.clone()));
        }
    }

    fn read_snapshot(&mut self) {
        if self.snapshots.is_empty() {
            return;
        }
        let (snapshot, contents) = self.rng.pick(&self.snapshots).clone();
        for (space, contents) in self.store.spaces.iter().zip(&contents) {
            let keys: Vec<_> = (0..5).map(|_| key(self.rng.below(KEYS))).collect();
            let many = snapshot.multi_get(space, &keys).unwrap();
            for (key, many) in keys.iter().zip(many) {
                let expected = contents.get(key).map(Vec::as_slice);
                assert_eq!(snapshot.get(space, key).unwrap().as_deref(), expected, "snapshot get");
                assert_eq!(many.as_deref(), expected, "snapshot multi_get");
            }
            let found: Vec<_> = match self.rng.percent(50) {
                true => snapshot.iter(space).map(pair).collect(),
                false => {
                    let mut found: Vec<_> = snapshot.iter(space).rev().map(pair).collect();
                    found.reverse();
                    found
                }
            };
            assert!(found == pairs(contents).collect::<Vec<_>>(), "snapshot scan");
        }
    }

    fn release(&mut self) {
        if !self.snapshots.is_empty() {
            let no = self.rng.below(self.snapshots.len());
            self.snapshots.swap_remove(no);
        }
        if !self.iters.is_empty() {
            let no = self.rng.below(self.iters.len());
            self.iters.swap_remove(no);
        }
    }

    fn compact(&mut self) {
        let no = self.rng.below(2);
        let space = &self.store.spaces[no];
        match self.rng.percent(50) {
            true => space.compact().unwrap(),
            false => space.compact_range(random_range(&mut self.rng)).unwrap(),
        }
    }

    fn compare_all(&mut self) {
        assert!(self.store.contents().unwrap() == self.now, "a scan differs");
        self.store.check_reads(&self.now).unwrap();
    }

    /// A close, or the death of the process; nothing acknowledged goes missing either way.
    fn reopen(&mut self, close: bool) {
        self.snapshots.clear();
        self.iters.clear();
        if close {
            self.store.db.close().unwrap();
        }
        self.disk = self.disk.kill();
        self.store = Store::open(Arc::new(self.disk.clone()), self.settings.clone()).unwrap();
        self.compare_all();
    }
}

fn pair(item: kiban::Result<(kiban::Key, kiban::Value)>) -> Pair {
    let (key, value) = item.unwrap();
    (key.into(), value.into())
}

fn pairs(contents: &BTreeMap<Vec<u8>, Vec<u8>>) -> impl Iterator<Item = Pair> {
    contents.iter().map(|(key, value)| (key.clone(), value.clone()))
}

/// Any bounds, inverted and empty ones as well.
fn random_range(rng: &mut Rng) -> Range {
    let mut bound = || match rng.below(4) {
        0 => Bound::Unbounded,
        1 => Bound::Excluded(key(rng.below(KEYS))),
        _ => Bound::Included(key(rng.below(KEYS))),
    };
    (bound(), bound())
}

fn in_range(contents: &BTreeMap<Vec<u8>, Vec<u8>>, (from, to): &Range) -> Vec<Pair> {
    let above = |key: &Vec<u8>| match from {
        Bound::Unbounded => true,
        Bound::Included(from) => key >= from,
        Bound::Excluded(from) => key > from,
    };
    let below = |key: &Vec<u8>| match to {
        Bound::Unbounded => true,
        Bound::Included(to) => key <= to,
        Bound::Excluded(to) => key < to,
    };
    pairs(contents).filter(|(key, _)| above(key) && below(key)).collect()
}

/// Where a cursor stands among the keys it may show.
#[derive(Clone, Copy, Debug)]
enum At {
    Fresh,
    Key(usize),
    BeforeFirst,
    AfterLast,
}

struct CursorWalk {
    cursor: Cursor,
    keys: Vec<Pair>,
    at: At,
}

impl CursorWalk {
    fn walk(&mut self, rng: &mut Rng) {
        for _ in 0..12 {
            let target = key(rng.below(KEYS));
            let at_least = self.keys.partition_point(|(key, _)| *key < target);
            let beyond = self.keys.partition_point(|(key, _)| *key <= target);
            let (step, moved, at) = match rng.below(8) {
                0 => ("seek", self.cursor.seek(&target), self.forward_to(at_least)),
                1 => ("seek_for_prev", self.cursor.seek_for_prev(&target), backward_to(beyond)),
                2 => ("seek_lt", self.cursor.seek_lt(&target), backward_to(at_least)),
                3 => ("first", self.cursor.first(), self.forward_to(0)),
                4 => ("last", self.cursor.last(), backward_to(self.keys.len())),
                5 | 6 => ("next", self.cursor.next(), self.next()),
                _ => ("prev", self.cursor.prev(), self.prev()),
            };
            assert_eq!(moved.unwrap(), matches!(at, At::Key(_)), "{step} from {:?}", self.at);
            self.at = at;
            assert_eq!(self.cursor.valid(), matches!(at, At::Key(_)), "{step}");
            if let At::Key(no) = at {
                let found = (self.cursor.key().to_vec(), self.cursor.value().to_vec());
                assert!(found == self.keys[no], "{step} stands on {}", found.0.escape_ascii());
            }
        }
    }

    fn forward_to(&self, no: usize) -> At {
        if no < self.keys.len() { At::Key(no) } else { At::AfterLast }
    }

    fn next(&self) -> At {
        match self.at {
            At::Fresh | At::BeforeFirst => self.forward_to(0),
            At::Key(no) => self.forward_to(no + 1),
            At::AfterLast => At::AfterLast,
        }
    }

    fn prev(&self) -> At {
        match self.at {
            At::Fresh | At::AfterLast => backward_to(self.keys.len()),
            At::Key(no) => backward_to(no),
            At::BeforeFirst => At::BeforeFirst,
        }
    }
}

/// The key before the `end`-th.
fn backward_to(end: usize) -> At {
    end.checked_sub(1).map_or(At::BeforeFirst, At::Key)
}

/// Settings that must make no difference to any answer.
fn absurd(seed: u64) -> Settings {
    match seed % 5 {
        0 => tiny(),
        1 => Settings { mmap_max_level: Some(u32::MAX), ..tiny() },
        2 => Settings { filter_bits_per_key: 0, cache_bytes: 8 << 10, background_threads: 3, ..tiny() },
        3 => Settings {
            memtable_bytes: 1 << 10,
            memtables_total_bytes: 4 << 10,
            log_bytes_max: 4 << 10,
            ..tiny()
        },
        _ => Settings { background_threads: 1, ..Settings::default() },
    }
}

/// Runs one seed; on failure finds the shortest run of it that fails.
fn agree(seed: u64) {
    let steps = env_u64("KIBAN_MODEL_STEPS", 400);
    let run = |steps: u64| {
        // The same operations for five settings in turn.
        let mut run = Run::new(seed / 5, absurd(seed));
        (0..steps).for_each(|_| run.step());
        run.compare_all();
    };
    let fails = |steps| catch_unwind(AssertUnwindSafe(|| run(steps))).is_err();
    if !fails(steps) {
        return;
    }
    let (mut passes_with, mut fails_with) = (0, steps);
    while fails_with - passes_with > 1 {
        let middle = passes_with + (fails_with - passes_with) / 2;
        if fails(middle) { fails_with = middle } else { passes_with = middle }
    }
    panic!("seed {seed} fails within {fails_with} steps; again: KIBAN_MODEL_STEPS={fails_with}");
}

#[test]
fn random_operations_agree_with_an_ordered_map() {
    let (from, count) = (env_u64("KIBAN_SEED_FROM", 0), env_u64("KIBAN_SEEDS", 60));
    for_each_seed("random_operations_agree_with_an_ordered_map", from, count, agree);
}
