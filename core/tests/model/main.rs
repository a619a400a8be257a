//! Random operations against an ordered map with versions, under absurd settings.
//!
//! `KIBAN_SEEDS` sets how many seeds, `KIBAN_SEED_FROM` the first, `KIBAN_MODEL_STEPS` the length;
//! `just soak` runs many. A failure is cut down to the shortest run of its seed that still fails.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod absurd;
mod cursor;
#[path = "../common/env.rs"]
mod env;
#[path = "../common/history.rs"]
mod history;
#[path = "../common/pairs.rs"]
mod pairs;
#[path = "../common/rng.rs"]
mod rng;
#[path = "../common/seeds.rs"]
mod seeds;
#[path = "../common/store.rs"]
mod store;
#[path = "../common/switching.rs"]
mod switching;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use cursor::CursorWalk;
use env::env_u64;
use history::{Contents, KEYS, SPACES, Writer, apply, key};
use kiban::storage::{SimStorage, Storage};
use kiban::{Durability, ErrorKind, Iter, Keyspace, Settings, Snapshot, WriteBatch};
use rng::Rng;
use seeds::for_each_seed;
use store::{Store, dir};

type Pair = (Vec<u8>, Vec<u8>);
type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// An iterator half eaten, and what it still has to give.
struct OpenIter {
    iter: Iter,
    left: VecDeque<Pair>,
}

/// A snapshot, the handles it was taken beside, and what it sees through them.
#[derive(Clone)]
struct Taken {
    snapshot: Snapshot,
    spaces: [Keyspace; SPACES.len()],
    contents: Contents,
}

/// A store, and what it should hold.
struct Run {
    rng: Rng,
    writer: Writer,
    disk: SimStorage,
    settings: Settings,
    store: Store,
    now: Contents,
    snapshots: Vec<Taken>,
    checkpoints: usize,
    iters: Vec<OpenIter>,
    /// Names of sidecars that were damaged. One that no policy wants stays so.
    damaged: BTreeSet<String>,
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
            checkpoints: 0,
            iters: Vec::new(),
            damaged: BTreeSet::new(),
        }
    }

    fn step(&mut self) {
        match self.rng.below(1000) {
            0..388 => self.write(),
            388..395 => self.reindex(),
            395..400 => self.remove_sidecars(),
            400..430 => self.compare_and_swap(),
            430..530 => self.read_keys(),
            530..580 => self.read_range(),
            580..620 => self.open_iter(),
            620..720 => self.advance_iter(),
            720..750 => self.walk_a_cursor(),
            750..780 => self.take_snapshot(),
            780..860 => self.read_snapshot(),
            860..870 => self.release(),
            870..880 => self.compact(),
            880..885 => self.verify(),
            885..910 => self.store.db.flush().unwrap(),
            910..925 => self.store.spaces[0].flush().unwrap(),
            925..935 => self.store.db.sync().unwrap(),
            935..950 => self.ingest(),
            950..955 => self.clear(),
            955..960 => self.drop_and_make(),
            960..965 => self.checkpoint(),
            965..975 => self.compare_all(),
            975..988 => self.reopen(true),
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
                let Taken { snapshot, spaces, contents } = self.rng.pick(&self.snapshots);
                let left = in_range(&contents[no], &range).into();
                self.iters.push(OpenIter { iter: snapshot.range(&spaces[no], range), left });
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
        CursorWalk::new(cursor, keys).walk(&mut self.rng);
    }

    fn take_snapshot(&mut self) {
        if self.snapshots.len() < 5 {
            let (spaces, contents) = (self.store.spaces.clone(), self.now.clone());
            self.snapshots.push(Taken { snapshot: self.store.db.snapshot(), spaces, contents });
        }
    }

    fn read_snapshot(&mut self) {
        if self.snapshots.is_empty() {
            return;
        }
        let Taken { snapshot, spaces, contents } = self.rng.pick(&self.snapshots).clone();
        for (space, contents) in spaces.iter().zip(&contents) {
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

    /// Sorted pairs that replace what there was of their keys; sometimes one that is out of order,
    /// and then none.
    fn ingest(&mut self) {
        let no = self.rng.below(2);
        let mut pairs = pairs::pairs(&mut self.writer, &mut self.rng);
        let (space, model) = (&self.store.spaces[no], &mut self.now[no]);
        if pairs.len() > 1 && self.rng.percent(20) {
            let last = pairs.len() - 1;
            pairs.swap(0, last);
            let error = space.ingest(pairs).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            return;
        }
        space.ingest(pairs.iter().map(|(key, value)| (key, value))).unwrap();
        model.extend(pairs);
    }

    fn verify(&self) {
        let mut problems = self.store.db.verify().unwrap().problems;
        problems.retain(|problem| !self.damaged.contains(&problem.file));
        assert!(problems.is_empty(), "{problems:?}");
    }

    /// Another policy, whose indexes are there when the call returns.
    fn reindex(&mut self) {
        let no = self.rng.below(2);
        self.store.spaces[no].reindex(switching::policy(&mut self.rng)).unwrap();
    }

    /// Sidecars go under the feet of a store that has them open.
    fn remove_sidecars(&mut self) {
        for path in switching::sidecars(&self.disk, dir()).unwrap() {
            if self.rng.percent(50) {
                // The store may have been quicker.
                let _ = self.disk.remove(&path);
            }
        }
    }

    /// Sidecars of a store that is not open: gone, cut, with a changed bit, another's.
    fn damage_sidecars(&mut self) {
        let paths = switching::sidecars(&self.disk, dir()).unwrap();
        for path in &paths {
            let mut bytes = self.disk.bytes(path).unwrap();
            if bytes.is_empty() {
                continue;
            }
            let at = self.rng.below(bytes.len());
            match self.rng.below(8) {
                0 => {
                    self.disk.remove(path).unwrap();
                    continue;
                }
                1 => bytes.truncate(at),
                2 => bytes[at] ^= 1 << self.rng.below(8),
                3 => bytes = self.disk.bytes(self.rng.pick::<PathBuf>(&paths)).unwrap_or_default(),
                _ => continue,
            }
            self.disk.set_bytes(path, &bytes).unwrap();
            self.damaged.insert(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
    }

    fn clear(&mut self) {
        let no = self.rng.below(2);
        self.store.spaces[no].clear().unwrap();
        self.now[no].clear();
    }

    /// Drops the second keyspace and makes it anew.
    fn drop_and_make(&mut self) {
        self.store.db.drop_keyspace(SPACES[1]).unwrap();
        let error = self.store.spaces[1].get(key(9)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
        self.store.spaces[1] = self.store.db.keyspace(SPACES[1]).unwrap();
        self.now[1].clear();
    }

    /// A store of its own that holds the same.
    fn checkpoint(&mut self) {
        self.checkpoints += 1;
        let target = PathBuf::from(format!("/checkpoint-{}", self.checkpoints));
        self.store.db.checkpoint(&target).unwrap();
        let copy = Store::open_at(&target, Arc::new(self.disk.clone()), self.settings.clone()).unwrap();
        assert!(copy.contents().unwrap() == self.now, "a checkpoint differs");
    }

    /// By every road.
    fn compare_all(&mut self) {
        assert!(self.store.contents().unwrap() == self.now, "a scan differs");
        self.store.check_reads(&self.now).unwrap();
        for (space, contents) in self.store.spaces.iter().zip(&self.now) {
            CursorWalk::new(space.cursor(), pairs(contents).collect()).sweep();
        }
    }

    /// A close, or the death of the process; nothing acknowledged goes missing either way.
    fn reopen(&mut self, close: bool) {
        self.snapshots.clear();
        self.iters.clear();
        if close {
            self.store.db.close().unwrap();
        }
        self.disk = self.disk.kill();
        if self.rng.percent(30) {
            self.damage_sidecars();
        }
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

/// Runs one seed; on failure finds the shortest run of it that fails.
fn agree(seed: u64) {
    let steps = env_u64("KIBAN_MODEL_STEPS", 400);
    let run = |steps: u64| {
        // The same operations for each of the settings in turn.
        let mut run = Run::new(seed / absurd::COUNT, absurd::settings(seed));
        for step in 0..steps {
            run.step();
            if step % 100 == 99 {
                run.compare_all();
            }
        }
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
    let (from, count) = (env_u64("KIBAN_SEED_FROM", 0), env_u64("KIBAN_SEEDS", 25 * absurd::COUNT));
    for_each_seed("random_operations_agree_with_an_ordered_map", from, count, agree);
}
