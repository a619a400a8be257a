//! A fault at the n-th operation, for all n of a short workload: errors are errors, running
//! stores answer right or not at all, acknowledged writes are there when the store is opened
//! again, and after a failed log write or sync nothing more is written.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod history;
    pub(crate) mod rng;
    pub(crate) mod seeds;
    pub(crate) mod store;
}

use std::collections::BTreeSet;
use std::sync::Arc;

use common::history::{Batch, Change, Contents, SPACES, Writer, apply};
use common::rng::Rng;
use common::seeds::for_each_seed;
use common::store::{Store, dir, tiny};
use kiban::storage::{Effect, Fault, Op, SimStorage, Storage};
use kiban::{Durability, Error, ErrorKind, Settings};

/// A step of history. Of a write whose logging failed nobody knows whether it happened.
#[derive(Clone, Debug)]
struct Step {
    batch: Batch,
    acked: bool,
}

/// What was written to a disk with a fault.
#[derive(Clone, Debug, Default)]
struct Ledger {
    steps: Vec<Step>,
    /// So many steps must survive a power cut.
    durable: usize,
    halted: bool,
}

impl Ledger {
    /// All contents that `count` steps may have led to.
    fn possible(&self, count: usize) -> BTreeSet<Contents> {
        let mut possible = BTreeSet::from([Contents::default()]);
        for step in &self.steps[..count] {
            let applied = possible.iter().cloned().map(|mut contents| {
                apply(&mut contents, &step.batch);
                contents
            });
            let applied: BTreeSet<Contents> = applied.collect();
            if step.acked {
                possible = applied;
            } else {
                possible.extend(applied);
            }
        }
        possible
    }

    fn check_running(&self, found: &Contents, when: &str) {
        assert!(self.possible(self.steps.len()).contains(found), "{when}: an acknowledged write is wrong");
    }

    fn check_after_power_cut(&self, found: &Contents) {
        let prefix = |from| (from..=self.steps.len()).find(|count| self.possible(*count).contains(found));
        assert!(
            prefix(self.durable).is_some(),
            "after a power cut: {:?} of {} steps, {} were durable; acknowledged: {:?}",
            prefix(0),
            self.steps.len(),
            self.durable,
            self.steps.iter().map(|step| step.acked).collect::<Vec<_>>()
        );
    }

    fn all_durable(&mut self) {
        self.durable = self.steps.len();
    }

    /// Notes how a write went.
    fn note(&mut self, batch: Batch, durability: Durability, result: Result<(), Error>) {
        match result {
            Ok(()) => {
                assert!(!self.halted, "a halted store took a write");
                self.steps.push(Step { batch, acked: true });
                if durability == Durability::Sync {
                    self.all_durable();
                }
            }
            Err(error) => {
                if self.halted {
                    assert_eq!(error.kind(), ErrorKind::WritesHalted, "{error}");
                    return;
                }
                // Any other error was found before the log was touched: nothing happened.
                if error.kind() == ErrorKind::WritesHalted {
                    self.halted = true;
                    self.steps.push(Step { batch, acked: false });
                }
            }
        }
    }
}

/// Contents and every other road to them, or the first error.
fn read_all(store: &Store) -> Result<Contents, Error> {
    let contents = store.contents()?;
    store.check_reads(&contents)?;
    Ok(contents)
}

/// Writes of both durabilities, flushes, syncs, a close and a second life.
fn workload(disk: &SimStorage, settings: &Settings, ledger: &mut Ledger) {
    let mut rng = Rng::new(11);
    let mut writer = Writer::default();
    for life in 0..2 {
        let Ok(store) = Store::open(Arc::new(disk.clone()), settings.clone()) else {
            continue;
        };
        ledger.halted = false;
        for step in 0..14 {
            let batch = writer.batch(&mut rng);
            let durability = *rng.pick(&[Durability::Buffered, Durability::Buffered, Durability::Sync]);
            let result = store.write(&batch, durability);
            ledger.note(batch, durability, result);
            if let Ok(found) = store.contents() {
                ledger.check_running(&found, "running");
            }
            let durable = match step {
                6 => store.db.flush(),
                9 => store.db.sync(),
                11 => {
                    // May fail; takes nothing away and makes nothing durable that counts here.
                    store.spaces[0].compact().ok();
                    continue;
                }
                _ => continue,
            };
            if durable.is_ok() {
                ledger.all_durable();
            }
        }
        if life == 0 && store.db.close().is_ok() {
            ledger.all_durable();
        }
    }
}

/// What the disk holds must be right after the process dies, and after the power fails; and the
/// store must work again.
fn check_recovery(disk: &SimStorage, ledger: &Ledger, seed: u64) {
    let after_cut = disk.reboot(seed);
    let after_death = disk.kill();
    for (disk, power_cut) in [(after_death, false), (after_cut, true)] {
        let store = Store::open(Arc::new(disk.clone()), tiny()).expect("the fault is gone");
        let found = read_all(&store).expect("the fault is gone");
        if power_cut {
            ledger.check_after_power_cut(&found);
        } else {
            ledger.check_running(&found, "reopened");
        }
        let change = Change { space: 0, key: b"after".to_vec(), value: Some(b"all".to_vec()) };
        store.write(&vec![change], Durability::Sync).expect("a reopened store takes writes");
        store.db.flush().expect("a reopened store flushes");
        drop(store);
        let store = Store::open(Arc::new(disk.kill()), tiny()).unwrap();
        assert_eq!(store.spaces[0].get("after").unwrap().as_deref(), Some(&b"all"[..]));
    }
}

/// Strikes `fault` at each operation in turn that a clean run does.
fn sweep(test: &str, op: Option<Op>, settings: &Settings, fault: impl Fn(u64) -> Fault + Sync) {
    let clean = SimStorage::new(3);
    workload(&clean, settings, &mut Ledger::default());
    let operations = op.map_or(clean.operations(), |op| clean.operations_of(op));
    assert!(operations > 10, "{operations} operations are no sweep");
    for_each_seed(test, 1, operations, |nth| {
        let disk = SimStorage::new(3);
        disk.inject(fault(nth));
        let mut ledger = Ledger::default();
        workload(&disk, settings, &mut ledger);
        disk.clear_faults();
        check_recovery(&disk, &ledger, nth);
    });
}

/// Flushes only when the workload says so: the n-th operation is the same in each run.
fn calm() -> Settings {
    let (memtable_bytes, memtables_total_bytes, log_bytes_max) = (1 << 20, 4 << 20, 4 << 20);
    Settings { cache_bytes: 1 << 20, memtable_bytes, memtables_total_bytes, log_bytes_max, ..tiny() }
}

#[test]
fn eio_at_any_operation_loses_nothing_acknowledged() {
    sweep("eio_at_any_operation_loses_nothing_acknowledged", None, &calm(), |nth| {
        Fault::at(nth, Effect::Eio)
    });
}

#[test]
fn eio_at_any_operation_under_background_flushes_loses_nothing_acknowledged() {
    let test = "eio_at_any_operation_under_background_flushes_loses_nothing_acknowledged";
    sweep(test, None, &tiny(), |nth| Fault::at(nth, Effect::Eio));
}

#[test]
fn eio_from_any_operation_on_loses_nothing_acknowledged() {
    let test = "eio_from_any_operation_on_loses_nothing_acknowledged";
    sweep(test, None, &calm(), |nth| Fault::at(nth, Effect::Eio).for_good());
}

#[test]
fn a_full_disk_at_any_operation_loses_nothing_acknowledged() {
    let test = "a_full_disk_at_any_operation_loses_nothing_acknowledged";
    sweep(test, None, &calm(), |nth| Fault::at(nth, Effect::NoSpace));
}

#[test]
fn a_short_append_anywhere_loses_nothing_acknowledged() {
    for settings in [calm(), tiny()] {
        let test = "a_short_append_anywhere_loses_nothing_acknowledged";
        sweep(test, Some(Op::Append), &settings, |nth| Fault::at_op(Op::Append, nth, Effect::ShortAppend));
    }
}

#[test]
fn a_failed_sync_that_drops_its_data_loses_nothing_acknowledged() {
    for settings in [calm(), tiny()] {
        let test = "a_failed_sync_that_drops_its_data_loses_nothing_acknowledged";
        sweep(test, Some(Op::Sync), &settings, |nth| Fault::at_op(Op::Sync, nth, Effect::SyncDrops));
    }
}

#[test]
fn a_failed_directory_sync_loses_nothing_acknowledged() {
    let test = "a_failed_directory_sync_loses_nothing_acknowledged";
    sweep(test, Some(Op::SyncDir), &calm(), |nth| Fault::at_op(Op::SyncDir, nth, Effect::Eio));
}

/// A store with one acknowledged write, and its disk.
fn open_with_one_write() -> (SimStorage, Store) {
    let disk = SimStorage::new(1);
    let store = Store::open(Arc::new(disk.clone()), calm()).unwrap();
    store.spaces[0].put_with("first", "1", Durability::Sync).unwrap();
    (disk, store)
}

/// No write is taken, each read is answered, and the next life has what was acknowledged.
fn check_halted(disk: &SimStorage, store: &Store, cause: &Error) {
    assert_eq!(cause.kind(), ErrorKind::WritesHalted, "{cause}");
    let space = &store.spaces[0];
    let refused = [
        space.put("third", "3"),
        space.put_with("third", "3", Durability::Sync),
        space.delete("first"),
        store.write(&vec![Change { space: 1, key: vec![], value: None }; 2], Durability::Buffered),
    ];
    for result in refused {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WritesHalted, "{error}");
        assert!(error.to_string().contains("reopen"), "{error}");
        assert!(std::error::Error::source(&error).is_some(), "the first cause is not there");
    }
    assert_eq!(space.get("first").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(space.get("third").unwrap(), None);
    assert!(space.iter().all(|pair| pair.is_ok()));
    disk.clear_faults();
    assert_eq!(space.put("third", "3").unwrap_err().kind(), ErrorKind::WritesHalted, "only reopening helps");

    let store = Store::open(Arc::new(disk.kill()), calm()).unwrap();
    assert_eq!(store.spaces[0].get("first").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(store.spaces[0].get("third").unwrap(), None);
    store.spaces[0].put_with("third", "3", Durability::Sync).unwrap();
}

/// The record of the drop may be in the manifest that failed: nothing may be logged for a keyspace
/// that the next life would not know.
#[test]
fn writes_after_a_failed_drop_are_there_in_the_next_life() {
    for (op, on, effect) in [
        (Op::Sync, "MANIFEST", Effect::Eio),
        (Op::Append, "MANIFEST", Effect::ShortAppend),
        (Op::SyncDir, "store", Effect::Eio),
    ] {
        for nth in 1..3 {
            let (disk, store) = open_with_one_write();
            store.db.flush().unwrap();
            disk.inject(Fault::at_op(op, nth, effect).on(on));
            let dropped = store.db.drop_keyspace(SPACES[1]);
            disk.clear_faults();
            if dropped.is_ok() {
                continue;
            }
            store.spaces[1].put_with("after", "1", Durability::Sync).unwrap();
            let store = Store::open(Arc::new(disk.kill()), calm()).unwrap();
            let found = store.spaces[1].get("after").unwrap();
            assert_eq!(found.as_deref(), Some(&b"1"[..]), "{op:?} {nth}: an acknowledged write is gone");
        }
    }
}

#[test]
fn a_failed_log_append_halts_writes_and_leaves_reads() {
    for effect in [Effect::Eio, Effect::NoSpace, Effect::ShortAppend] {
        let (disk, store) = open_with_one_write();
        disk.inject(Fault::at_op(Op::Append, 1, effect).on(".log"));
        let cause = store.spaces[0].put("second", "2").unwrap_err();
        assert_eq!(cause.is_disk_full(), effect != Effect::Eio, "{cause}");
        assert_eq!(store.spaces[0].get("second").unwrap(), None, "a refused write is seen");
        check_halted(&disk, &store, &cause);
    }
}

#[test]
fn a_failed_log_sync_halts_writes_and_leaves_reads() {
    for effect in [Effect::Eio, Effect::SyncDrops] {
        let (disk, store) = open_with_one_write();
        disk.inject(Fault::at_op(Op::Sync, 1, effect).on(".log"));
        let cause = store.spaces[0].put_with("second", "2", Durability::Sync).unwrap_err();
        assert_eq!(store.db.sync().unwrap_err().kind(), ErrorKind::WritesHalted);
        check_halted(&disk, &store, &cause);
    }
    let (disk, store) = open_with_one_write();
    store.spaces[0].put("second", "2").unwrap();
    disk.inject(Fault::at_op(Op::Sync, 1, Effect::SyncDrops).on(".log"));
    let cause = store.db.sync().unwrap_err();
    check_halted(&disk, &store, &cause);
}

/// Log before table: a table must not vouch for operations whose log was lost.
#[test]
fn no_table_is_published_after_its_log_failed_to_sync() {
    let (disk, store) = open_with_one_write();
    store.spaces[1].put("other", "2").unwrap();
    store.spaces[0].put("second", "2").unwrap();
    disk.inject(Fault::at_op(Op::Sync, 1, Effect::SyncDrops).on(".log"));
    assert!(store.spaces[0].flush().is_err());
    store.spaces[0].flush().ok();
    drop(store);
    for seed in 0..50 {
        let store = Store::open(Arc::new(disk.reboot(seed)), calm()).unwrap();
        let (other, second) = (store.spaces[1].get("other").unwrap(), store.spaces[0].get("second").unwrap());
        assert!(second.is_none() || other.is_some(), "seed {seed}: a hole in history");
    }
}

/// A disk that is full while tables are written: writes go on until memtables are full, then
/// say so, and go on by themselves when there is space again.
#[test]
fn a_full_disk_under_a_flush_stalls_writes_and_lets_them_go_on_later() {
    let disk = SimStorage::new(1);
    let store = Store::open(Arc::new(disk.clone()), tiny()).unwrap();
    disk.inject(Fault::at_op(Op::Append, 1, Effect::NoSpace).on(".sst").for_good());
    let mut acked = 0_u32;
    let full = loop {
        match store.spaces[0].put(acked.to_be_bytes(), [7; 400]) {
            Ok(()) => acked += 1,
            Err(error) => break error,
        }
        assert!(acked < 10_000, "memtables are without bound");
    };
    assert_eq!(full.kind(), ErrorKind::Io, "{full}");
    assert!(full.is_disk_full(), "{full}");
    assert!(acked > 10, "writes stopped before memtables were full");
    assert_eq!(store.spaces[0].iter().filter(|pair| pair.is_ok()).count(), acked as usize);
    assert!(store.db.flush().unwrap_err().is_disk_full());

    disk.clear_faults();
    store.db.flush().unwrap();
    for _ in 0..100 {
        store.spaces[0].put(acked.to_be_bytes(), [7; 400]).unwrap();
        acked += 1;
    }
    let left = Store::open(Arc::new(disk.kill()), tiny()).unwrap();
    assert_eq!(left.contents().unwrap()[0].len(), acked as usize);
}

/// A flush is tried again and again, and each time writes a table before the manifest fails.
#[test]
fn tables_do_not_pile_up_while_the_manifest_fails() {
    let disk = SimStorage::new(1);
    let store = Store::open(Arc::new(disk.clone()), tiny()).unwrap();
    disk.inject(Fault::at_op(Op::Append, 1, Effect::NoSpace).on("MANIFEST").for_good());
    store.spaces[0].put("k", "v").unwrap();
    let tables = || disk.list(dir()).unwrap().iter().filter(|entry| entry.name.contains(".sst")).count();
    for _ in 0..3 {
        assert!(store.db.flush().unwrap_err().is_disk_full());
        assert!(tables() <= 1, "{} tables", tables());
    }
    disk.clear_faults();
    store.db.flush().unwrap();
    assert_eq!(tables(), 1);
    assert_eq!(store.spaces[0].get("k").unwrap().unwrap(), b"v");
}

/// The whole disk fills up, log and all, at many sizes.
#[test]
fn a_disk_of_any_size_fills_up_without_losing_what_was_acknowledged() {
    let test = "a_disk_of_any_size_fills_up_without_losing_what_was_acknowledged";
    for_each_seed(test, 1, 60, |size| {
        let disk = SimStorage::new(size);
        disk.set_capacity(Some(size * 997));
        let mut ledger = Ledger::default();
        workload(&disk, &tiny(), &mut ledger);
        disk.set_capacity(None);
        check_recovery(&disk, &ledger, size);
    });
}

#[test]
fn a_failed_read_is_an_error_and_the_next_one_is_right() {
    let disk = SimStorage::new(1);
    let uncached = Settings { cache_bytes: 0, ..calm() };
    let store = Store::open(Arc::new(disk.clone()), uncached).unwrap();
    store.spaces[0].put("first", "1").unwrap();
    store.db.flush().unwrap();
    assert!(store.spaces[0].get("first").unwrap().is_some());
    disk.inject(Fault::at_op(Op::Read, 1, Effect::Eio).on(".sst"));
    assert_eq!(store.spaces[0].get("first").unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(store.spaces[0].get("first").unwrap().as_deref(), Some(&b"1"[..]));

    disk.inject(Fault::at_op(Op::Read, 1, Effect::Eio).on(".sst"));
    let mut scan = store.spaces[0].iter();
    assert_eq!(scan.next().unwrap().unwrap_err().kind(), ErrorKind::Io);
    assert!(scan.next().unwrap().is_err(), "an error repeats");
    assert_eq!(store.spaces[0].iter().map(Result::unwrap).count(), 1);
    assert!(disk.list(dir()).is_ok());
}
