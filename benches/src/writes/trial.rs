//! One trial of the write workload on a store of its own.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use kiban::Durability;

use super::WritePlan;
use crate::answers::Answers;
use crate::clock::Clock;
use crate::engine::{Family, Opening, Store};
use crate::keys::KeySet;
use crate::machine::Pin;
use crate::trial::{Failure, Recorder, Trial};

/// Where trials take place, and with what.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    /// The directory of the store while a trial runs; it does not exist before and after.
    pub(crate) dir: &'a Path,
    /// A loaded store of the same family to begin with, else an empty one.
    pub(crate) filled: Option<&'a Path>,
    pub(crate) family: &'a Family,
    pub(crate) opening: Opening,
    pub(crate) pin: Option<&'a Pin>,
}

/// Makes the operations of a plan on a new store, reads the store back in full, and removes it.
/// Also gives the number of records read back.
pub(crate) fn run_write_trial<C: Clock>(
    site: Site<'_>,
    plan: &WritePlan,
    set: &dyn KeySet,
    clock: &C,
) -> Result<(Trial, u64), Failure> {
    let mut store = site.set_up(plan)?;
    operations(&mut *store, plan, plan.lead_in())?;
    let mut recorder = Recorder::begin(store.pages());
    let mut answers = Answers::default();
    for op in plan.timed() {
        answers.clear();
        let start = clock.start();
        let done = operation(&mut *store, plan, op, &mut answers);
        recorder.record(clock.stop().saturating_sub(start));
        done.map_err(Failure::Error)?;
        check(plan, op, &answers)?;
    }
    let mut trial = recorder.end(store.pages(), clock, 1);
    let began = Instant::now();
    operations(&mut *store, plan, plan.untimed())?;
    let seconds = began.elapsed().as_secs_f64();
    trial.ops_per_s =
        (!plan.untimed().is_empty() && seconds > 0.0).then(|| plan.untimed().len() as f64 / seconds);
    store.close().map_err(Failure::Error)?;
    let checked = plan.read_back(&mut *site.open()?, set)?;
    fs::remove_dir_all(site.dir).map_err(|error| site.io(&error))?;
    Ok((trial, checked))
}

impl Site<'_> {
    /// The store as a trial finds it: with its records read once, on a device that is at rest.
    fn set_up(&self, plan: &WritePlan) -> Result<Box<dyn Store>, Failure> {
        if self.dir.exists() {
            fs::remove_dir_all(self.dir).map_err(|error| self.io(&error))?;
        }
        fs::create_dir_all(self.dir).map_err(|error| self.io(&error))?;
        if let Some(filled) = self.filled {
            copy_files(filled, self.dir).map_err(|error| self.io(&error))?;
        }
        let mut store = self.open()?;
        if self.filled.is_some() {
            let mut answers = Answers::default();
            for key in plan.keys() {
                answers.clear();
                store.get(key, &mut answers).map_err(Failure::Error)?;
            }
        }
        if self.opening.durability == Durability::Sync {
            // What earlier trials left to write would be written together with the first puts.
            rustix::fs::sync();
        }
        Ok(store)
    }

    /// Its threads stay off the measured core.
    fn open(&self) -> Result<Box<dyn Store>, Failure> {
        let failed = |error: &dyn std::fmt::Display| Failure::Error(error.to_string());
        self.pin.map_or(Ok(()), Pin::leave_core).map_err(|error| failed(&error))?;
        let store = self.family.open(self.dir, self.opening).map_err(|error| failed(&error))?;
        self.pin.map_or(Ok(()), Pin::take_core).map_err(|error| failed(&error))?;
        Ok(store)
    }

    fn io(&self, error: &io::Error) -> Failure {
        Failure::Error(format!("{}: {error}", self.dir.display()))
    }
}

#[inline]
fn operation(
    store: &mut dyn Store,
    plan: &WritePlan,
    op: usize,
    answers: &mut Answers,
) -> Result<(), String> {
    match plan.put(op) {
        Some(value) => store.put(plan.key(op), value),
        None => store.get(plan.key(op), answers),
    }
}

fn operations(store: &mut dyn Store, plan: &WritePlan, ops: Range<usize>) -> Result<(), Failure> {
    let mut answers = Answers::default();
    for op in ops {
        answers.clear();
        operation(store, plan, op, &mut answers).map_err(Failure::Error)?;
        check(plan, op, &answers)?;
    }
    Ok(())
}

#[inline]
fn check(plan: &WritePlan, op: usize, answers: &Answers) -> Result<(), Failure> {
    if plan.put(op).is_some() || answers.word() == plan.word(op) {
        return Ok(());
    }
    let key = plan.key(op).escape_ascii();
    Err(Failure::Told(format!("wrong answer: key \"{key}\", operation {op}: not the value put last")))
}

fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_files(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::engine::{Engine, Sizes};
    use crate::keys::W1;
    use crate::plan::Plan;
    use crate::writes::WriteStage;

    /// A map that may forget, invent or keep what it should not.
    #[derive(Default)]
    struct Map(BTreeMap<Vec<u8>, Vec<u8>>);

    impl Engine for Map {
        fn name(&self) -> &str {
            "map"
        }

        fn call(&mut self, _plan: &Plan, _call: usize, _answers: &mut Answers) -> Result<(), String> {
            Err("only written to".to_owned())
        }
    }

    impl Store for Map {
        fn get(&mut self, key: &[u8], answers: &mut Answers) -> Result<(), String> {
            match self.0.get(key) {
                Some(value) => answers.push_value(value),
                None => answers.push_absent(),
            }
            Ok(())
        }

        fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), String> {
            self.0.insert(key.to_vec(), value.to_vec());
            Ok(())
        }

        fn scan(&mut self, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), String> {
            self.0.iter().for_each(|(key, value)| each(key, value));
            Ok(())
        }

        fn sizes(&self) -> Sizes {
            Sizes::default()
        }

        fn close(self: Box<Self>) -> Result<(), String> {
            Ok(())
        }
    }

    fn written(stage: WriteStage) -> (W1, WritePlan, Map) {
        let set = W1::new(200, 1);
        let plan = WritePlan::new(&set, stage, 60, 1);
        let mut map = Map::default();
        for rank in 0..set.len() {
            let (mut key, mut value) = (Vec::new(), Vec::new());
            set.key(rank, &mut key);
            set.value(rank, &mut value);
            if stage.is_prefilled() {
                map.0.insert(key, value);
            }
        }
        operations(&mut map, &plan, 0..plan.keys().len()).unwrap();
        (set, plan, map)
    }

    fn damaged(stage: WriteStage, damage: fn(&mut BTreeMap<Vec<u8>, Vec<u8>>)) -> String {
        let (set, plan, mut map) = written(stage);
        damage(&mut map.0);
        match plan.read_back(&mut map, &set) {
            Err(Failure::Told(sentence)) => sentence,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_written_is_read_back() {
        for (stage, records) in [(WriteStage::Buffered, 98), (WriteStage::Sync, 98), (WriteStage::Mixed, 200)]
        {
            let (set, plan, mut map) = written(stage);
            assert_eq!(plan.read_back(&mut map, &set), Ok(records), "{stage:?}");
        }
    }

    #[test]
    fn a_lost_an_invented_and_a_stale_record_are_told() {
        for stage in [WriteStage::Buffered, WriteStage::Mixed] {
            assert!(damaged(stage, |map| _ = map.pop_first()).contains("expected key"));
            assert!(damaged(stage, |map| _ = map.pop_last()).ends_with("is missing"));
            let invented = damaged(stage, |map| _ = map.insert(vec![0xff; 40], Vec::new()));
            assert!(invented.ends_with("was never put"), "{invented}");
            let stale = damaged(stage, |map| map.values_mut().for_each(|value| value[100] ^= 1));
            assert!(stale.ends_with("has not the value put last"), "{stale}");
        }
    }

    #[test]
    fn a_get_that_misses_the_put_before_it_is_wrong() {
        let (_, plan, mut map) = written(WriteStage::Mixed);
        // At the end the map holds second values, where the first gets must find first ones.
        map.0.values_mut().for_each(|value| value.fill(0));
        let wrong = operations(&mut map, &plan, plan.lead_in()).unwrap_err();
        assert!(matches!(&wrong, Failure::Told(sentence) if sentence.contains("not the value put last")));
    }
}
