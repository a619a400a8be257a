//! Power cuts and sudden deaths at every sync and at random operations, also in the middle of
//! the recovery from one.
//!
//! After a power cut a store must hold a prefix of history that is not shorter than the last
//! durable point; after the death of the process, everything acknowledged. Batches are steps of
//! history, so half a batch is no state of it.
//!
//! `KIBAN_SEEDS` sets how many seeds, `KIBAN_SEED_FROM` the first; `just crash-long` goes on
//! where it stopped.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

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
mod timeline;

use std::path::PathBuf;
use std::sync::Arc;

use env::env_u64;
use history::{Contents, SPACES, Writer};
use kiban::storage::{Effect, Fault, Op, SimStorage, Storage};
use kiban::{Db, Durability, ErrorKind, RecoveryMode, Result, Settings};
use rng::Rng;
use seeds::for_each_seed;
use store::{Store, dir, tiny};
use timeline::{Step, Timeline};

/// One machine over several lives.
struct Machine {
    rng: Rng,
    disk: SimStorage,
    history: Timeline,
    writer: Writer,
    /// What the history must still show at the next open: this many batches at least.
    least: usize,
    /// The power failed since the last write: whatever is found was on the disk, and stays.
    settled: bool,
    /// The newest checkpoint, and what it holds.
    checkpoint: Option<(PathBuf, Contents)>,
    checkpoints: usize,
}

impl Machine {
    fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            disk: SimStorage::new(seed),
            history: Timeline::default(),
            writer: Writer::default(),
            least: 0,
            settled: false,
            checkpoint: None,
            checkpoints: 0,
        }
    }

    /// What an open that only reads finds: nothing if there is no store yet.
    fn peek(&self) -> Option<Contents> {
        let read = || -> Result<Contents> {
            let db = Db::builder(dir()).storage(Arc::new(self.disk.clone())).read_only(true).open()?;
            let mut contents = Contents::default();
            for (name, contents) in SPACES.iter().zip(&mut contents) {
                // Dropped, and not made anew yet.
                if db.keyspaces()?.iter().any(|there| there == name) {
                    for pair in db.keyspace(name)?.iter() {
                        let (key, value) = pair?;
                        contents.insert(key.into(), value.into());
                    }
                }
            }
            Ok(contents)
        };
        match read() {
            Ok(contents) => Some(contents),
            Err(error) if error.kind() == ErrorKind::NotFound && self.least == 0 => None,
            Err(_) if self.disk.is_off() => None,
            Err(error) => panic!("a store that a crash left must open for reading: {error:?}"),
        }
    }

    /// Opens, checks, and goes on from what was found. `None` if the machine stopped meanwhile;
    /// any other failure is one of the engine.
    fn open(&mut self, settings: Settings) -> Option<Store> {
        let peeked = if self.rng.percent(25) { self.peek() } else { None };
        let verify = self.rng.percent(15);
        let opened = Store::open(Arc::new(self.disk.clone()), settings).and_then(|store| {
            let contents = store.contents()?;
            store.check_reads(&contents)?;
            if verify {
                let report = store.db.verify()?;
                assert!(report.is_clean(), "{:?}", report.problems);
            }
            Ok((store, contents))
        });
        let (store, contents) = match opened {
            Ok(found) => found,
            Err(_) if self.disk.is_off() => return None,
            Err(error) => panic!("a store that a crash left must open: {error:?}"),
        };
        assert!(peeked.is_none_or(|peeked| peeked == contents), "reading and writing opens disagree");
        let Some(count) = self.history.find(&contents, self.least) else {
            let anywhere = self.history.find(&contents, 0);
            panic!(
                "found steps {anywhere:?}, must be at least {}, acknowledged {}, handed in {}",
                self.least,
                self.history.acked,
                self.history.steps.len()
            );
        };
        self.history.settle(count);
        if self.settled {
            self.history.durable = count;
        }
        Some(store)
    }

    /// Writes, flushes, syncs and reads until the machine stops or `steps` are done.
    fn work(&mut self, store: &mut Store, steps: usize) {
        for _ in 0..steps {
            match self.step(store) {
                Ok(durable) => self.history.durable = self.history.durable.max(durable),
                Err(error) => {
                    assert!(self.disk.is_off(), "an operation failed on a machine that works: {error:?}");
                    return;
                }
            }
        }
    }

    /// How many steps of history are durable for sure after it.
    fn step(&mut self, store: &mut Store) -> Result<usize> {
        match self.rng.below(100) {
            0..4 => {
                store.db.flush()?;
                Ok(self.history.acked)
            }
            4..8 => {
                store.db.sync()?;
                Ok(self.history.acked)
            }
            8..11 => {
                // What is in memory is flushed first, of this keyspace only.
                self.rng.pick(&store.spaces).compact()?;
                Ok(0)
            }
            11..14 => {
                assert!(store.contents()? == self.history.now(), "a running store lost or made something");
                Ok(0)
            }
            14..16 => self.take_checkpoint(store),
            16..19 => self.clear_or_drop(store),
            19..24 => self.ingest(store),
            24..27 => self.switch_indexes(store),
            _ => self.write(store),
        }
    }

    fn write(&mut self, store: &Store) -> Result<usize> {
        let durability = *self.rng.pick(&[Durability::Buffered, Durability::Buffered, Durability::Sync]);
        let batch = self.writer.batch(&mut self.rng);
        self.history.steps.push(Step::Batch(batch.clone()));
        store.write(&batch, durability)?;
        self.history.acked += 1;
        Ok(if durability == Durability::Sync { self.history.acked } else { 0 })
    }

    fn ingest(&mut self, store: &Store) -> Result<usize> {
        let space = self.rng.below(SPACES.len());
        let pairs = pairs::pairs(&mut self.writer, &mut self.rng);
        let is_nothing = pairs.is_empty();
        self.history.steps.push(Step::Ingest { space, pairs: pairs.clone() });
        store.spaces[space].ingest(pairs)?;
        self.history.acked += 1;
        Ok(if is_nothing { 0 } else { self.history.acked })
    }

    /// Another policy, stored with the keyspace; and sidecars that go under the feet of the store.
    fn switch_indexes(&mut self, store: &Store) -> Result<usize> {
        if self.rng.percent(30) {
            for path in switching::sidecars(&self.disk, dir()).unwrap_or_default() {
                self.disk.remove(&path).ok();
            }
        }
        let policy = switching::policy(&mut self.rng);
        self.rng.pick(&store.spaces).reindex(policy)?;
        Ok(0)
    }

    fn clear_or_drop(&mut self, store: &mut Store) -> Result<usize> {
        let space = self.rng.below(SPACES.len());
        let drop = space == 1 && self.rng.percent(50);
        self.history.steps.push(if drop { Step::Drop { space } } else { Step::Clear { space } });
        if drop {
            store.db.drop_keyspace(SPACES[space])?;
        } else {
            store.spaces[space].clear()?;
        }
        self.history.acked += 1;
        let durable = self.history.acked;
        if drop {
            self.history.durable = self.history.durable.max(durable);
            store.spaces[space] = store.db.keyspace(SPACES[space])?;
        }
        Ok(durable)
    }

    /// A store of its own, which outlives what happens to this one.
    fn take_checkpoint(&mut self, store: &Store) -> Result<usize> {
        self.checkpoints += 1;
        let target = PathBuf::from(format!("/checkpoint-{}", self.checkpoints));
        store.db.checkpoint(&target)?;
        self.checkpoint = Some((target, self.history.now()));
        self.check_checkpoint()?;
        // The copy is durable; this store promised no more than before.
        Ok(0)
    }

    /// A checkpoint that returned is there, and whole.
    fn check_checkpoint(&self) -> Result<()> {
        let Some((target, contents)) = &self.checkpoint else { return Ok(()) };
        let storage = Arc::new(self.disk.clone());
        let db = Db::builder(target).storage(storage).settings(tiny()).read_only(true).open()?;
        let spaces = [db.keyspace(SPACES[0])?, db.keyspace(SPACES[1])?];
        assert!(Store { db, spaces }.contents()? == *contents, "a checkpoint differs");
        Ok(())
    }

    /// The power fails, or only the process dies.
    fn die(&mut self, by_power_cut: bool) {
        if by_power_cut {
            self.disk = self.disk.reboot(self.rng.next());
            self.least = self.history.durable;
        } else {
            self.disk = self.disk.kill();
            self.least = self.history.acked;
        }
        self.settled = by_power_cut;
        self.check_checkpoint().expect("a checkpoint outlives what happens to its store");
    }

    /// Lets the machine stop at some operation to come, or not at all.
    fn arm(&mut self) {
        let nth = 1 + match self.rng.below(4) {
            0 => self.rng.below(25),
            _ => self.rng.below(400),
        } as u64;
        match self.rng.below(10) {
            0 => {}
            1..4 => self.disk.inject(Fault::at_op(Op::Sync, 1 + nth / 10, Effect::Crash)),
            4 => self.disk.inject(Fault::at_op(Op::SyncDir, 1 + nth / 30, Effect::Crash)),
            5 => {
                let op = *self.rng.pick(&[Op::Create, Op::Rename, Op::Remove]);
                self.disk.inject(Fault::at_op(op, 1 + nth / 30, Effect::Crash));
            }
            _ => self.disk.inject(Fault::at(nth, Effect::Crash)),
        }
    }
}

/// Settings that change between lives.
fn settings(rng: &mut Rng) -> Settings {
    Settings {
        memtable_bytes: *rng.pick(&[4 << 10, 8 << 10, 1 << 20]),
        memtables_total_bytes: *rng.pick(&[16 << 10, 4 << 20]),
        log_bytes_max: *rng.pick(&[16 << 10, 1 << 20]),
        // Odd: with indexes, which come and go between lives.
        cache_bytes: *rng.pick(&[0, 1, 1 << 20, (1 << 20) + 1]),
        mmap_max_level: *rng.pick(&[None, Some(u32::MAX)]),
        // A crash is no damage, so this makes no difference.
        recovery: *rng.pick(&[RecoveryMode::Strict, RecoveryMode::PointInTime]),
        ..tiny()
    }
}

/// Several lives of one machine.
fn lives(seed: u64) {
    let mut machine = Machine::new(seed);
    for _ in 0..6 {
        machine.arm();
        let settings = settings(&mut machine.rng);
        if let Some(mut store) = machine.open(settings) {
            let steps = 10 + machine.rng.below(60);
            machine.work(&mut store, steps);
            if !machine.disk.is_off() && machine.rng.percent(40) && store.db.close().is_ok() {
                machine.history.durable = machine.history.acked;
            }
            let by_power_cut = machine.rng.percent(60);
            machine.die(by_power_cut);
            drop(store);
        } else {
            let by_power_cut = machine.rng.percent(60);
            machine.die_in_recovery(by_power_cut);
        }
    }
    machine.disk.clear_faults();
    let store = machine.open(tiny()).expect("no fault waits");
    store
        .write(&machine.writer.batch(&mut machine.rng), Durability::Sync)
        .expect("a recovered store takes writes");
}

impl Machine {
    /// Nothing was written in this life: the bound of the one before stands, but a power cut may
    /// still take what only a dead process vouched for.
    fn die_in_recovery(&mut self, by_power_cut: bool) {
        if by_power_cut {
            self.disk = self.disk.reboot(self.rng.next());
            self.least = self.least.min(self.history.durable);
            self.settled = true;
        } else {
            self.disk = self.disk.kill();
        }
    }
}

#[test]
fn every_death_leaves_a_prefix_of_history() {
    let seeds = env_u64("KIBAN_SEEDS", 300);
    for_each_seed("every_death_leaves_a_prefix_of_history", env_u64("KIBAN_SEED_FROM", 0), seeds, lives);
}

/// One workload, stopped at each of its syncs in turn; several power cuts from each.
#[test]
fn a_power_cut_at_every_sync_keeps_all_that_is_durable() {
    const STEPS: usize = 60;
    let run = |nth: Option<u64>| {
        let mut machine = Machine::new(7);
        if let Some(nth) = nth {
            machine.disk.inject(Fault::at_op(Op::Sync, nth, Effect::Crash));
        }
        let mut store = machine.open(tiny());
        if let Some(store) = &mut store {
            machine.work(store, STEPS);
        }
        (machine, store)
    };
    let (whole, store) = run(None);
    let syncs = whole.disk.operations_of(Op::Sync);
    drop(store);
    assert!(syncs > 20, "{syncs} syncs are no sweep");

    for_each_seed("a_power_cut_at_every_sync_keeps_all_that_is_durable", 1, syncs, |nth| {
        let (machine, store) = run(Some(nth));
        for cut in 0..6 {
            let mut after = Machine {
                rng: Rng::new(cut),
                disk: machine.disk.reboot(cut),
                history: machine.history.clone(),
                writer: machine.writer.clone(),
                least: machine.history.durable,
                settled: true,
                checkpoint: machine.checkpoint.clone(),
                checkpoints: machine.checkpoints,
            };
            after.open(tiny()).expect("no fault waits");
        }
        drop(store);
    });
}
