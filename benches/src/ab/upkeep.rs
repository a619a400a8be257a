//! Stages of the maintenance workload W3: each trial has a store of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use kiban::Durability;

use super::AbError;
use super::outcome::{Measured, StageOutcome};
use super::reads::note_sizes;
use super::run::{Run, Setting};
use super::stage::describe;
use crate::compare::{Entrants, compare};
use crate::engine::{Accessor, Family, Layout, Load, Sizes, Store, UpkeepOpening, UpkeepStore};
use crate::keys::KeySet;
use crate::machine::{Pin, Reading};
use crate::plan::{Plan, Stage};
use crate::read_back::read_back;
use crate::trial::{Failure, check_used};
use crate::upkeep::{UpkeepStage, UpkeepTrial};

/// Questions to the store of each trial.
const QUESTIONS: [Stage; 2] = [Stage::Point, Stage::Miss];
/// Layout of a store whose records are all in the memtable.
const MEMTABLE: &str = "memtable";
/// Layout of a store whose records are in overlapping tables of level 0.
const LEVEL0: &str = "level0";

impl Run<'_> {
    /// Loads one input into tables of level 0, if they are to be compacted, and measures the stages
    /// under each setting.
    pub(super) fn upkeep(
        &mut self,
        dir: &Path,
        set: &dyn KeySet,
        stages: &[UpkeepStage],
    ) -> Result<(), AbError> {
        self.step(&format!("{}: load {} records", set.shape(), set.len()));
        fs::create_dir_all(dir).map_err(|error| AbError::io(dir, error))?;
        let settings = self.settings(Layout::Normal);
        if stages.contains(&UpkeepStage::Compact)
            && let Some(setting) = settings.first()
        {
            self.build_level0(dir, set, *setting)?;
        }
        let plan = |stage: Stage| Plan::new(set, stage, stage.calls(set.len()), self.settled.seed);
        let plans = QUESTIONS.map(plan);
        for setting in settings {
            for stage in stages {
                if self.is_stopped() {
                    break;
                }
                self.step(&format!("{}, {} threads: {}", set.shape(), setting.threads, stage.name()));
                let began = Instant::now();
                let outcome = self.upkeep_stage(Work { dir, set, plans: &plans, setting, stage: *stage });
                self.take(began, outcome);
            }
        }
        fs::remove_dir_all(dir).map_err(|error| AbError::io(dir, error))
    }

    /// A store for each accessor, with tables of level 0 and accessors beside them.
    fn build_level0(&self, dir: &Path, set: &dyn KeySet, setting: Setting) -> Result<(), AbError> {
        let (data, opening) = (dir.join("data"), upkeep_opening(setting));
        let load = Load { set, layout: Layout::Normal, seed: self.settled.seed };
        UpkeepStore::build_level0(&data, &load, opening)?;
        for accessor in self.accessors() {
            let own = dir.join(accessor.label());
            UpkeepStore::link(&data, &own)?;
            UpkeepStore::open(&own, accessor, opening)?.close()?;
        }
        Ok(())
    }

    fn accessors(&self) -> Vec<&Accessor> {
        self.settled.families.iter().filter_map(Family::accessor).collect()
    }

    /// Runs one trial of each that does not count and is read back in full, then the others.
    fn upkeep_stage(&self, work: Work<'_>) -> StageOutcome {
        let (rules, load_seed) = (self.rules(), self.settled.seed);
        let mut keepers = Keepers {
            site: work.dir.join("trial"),
            accessors: self.accessors(),
            pin: self.pin(),
            load_seed,
            work,
        };
        let (mut checked, mut failures, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        let effort = rules.effort();
        for at in 0..keepers.accessors.len() {
            let done = keepers.upkeep_trial(at, true);
            sizes.push(done.as_ref().map_or(Sizes::default(), |done| done.sizes));
            checked.push(done.as_ref().ok().map(|done| done.checked));
            failures.push(done.err());
        }
        let before = Reading::now();
        let comparison = compare(&mut keepers, failures, effort);
        let spent = Reading::now().since(&before);
        let set = keepers.work.set;
        let mut known = self.known(set, keepers.work.setting);
        known.stage = keepers.work.stage.name().to_owned();
        known.layout = keepers.work.layout().to_owned();
        let calls = (set.len(), set.len());
        let measured = Measured { comparison, known: &known, trials: rules.trials, checked, calls, spent };
        let mut outcome = StageOutcome::new(measured, |_, failure| match failure {
            Failure::Error(error) => (false, error.clone()),
            Failure::Told(sentence) => (true, sentence.clone()),
            Failure::Wrong { call } => (true, format!("wrong answer to call {call}")),
        });
        outcome.cells.iter_mut().zip(sizes).for_each(|(cell, sizes)| note_sizes(cell, sizes));
        outcome
    }
}

/// What a stage does, and where.
#[derive(Clone, Copy)]
struct Work<'a> {
    /// Holds the loaded stores.
    dir: &'a Path,
    set: &'a dyn KeySet,
    plans: &'a [Plan],
    setting: Setting,
    stage: UpkeepStage,
}

impl Work<'_> {
    fn layout(&self) -> &'static str {
        match self.stage {
            UpkeepStage::Flush => MEMTABLE,
            UpkeepStage::Compact => LEVEL0,
        }
    }
}

/// Stores of all accessors, one a trial.
struct Keepers<'a> {
    /// The directory of the store while a trial runs.
    site: PathBuf,
    accessors: Vec<&'a Accessor>,
    pin: Option<&'a Pin>,
    load_seed: u64,
    work: Work<'a>,
}

/// A trial, and the store after it.
struct Done {
    trial: UpkeepTrial,
    checked: u64,
    sizes: Sizes,
}

impl Keepers<'_> {
    /// Runs one trial. Every one asks questions of the store that came of it, a `whole` one also
    /// compares all its records.
    fn upkeep_trial(&self, at: usize, whole: bool) -> Result<Done, Failure> {
        let Work { set, stage, plans, .. } = self.work;
        let mut store = self.set_up(at)?;
        let trial = UpkeepTrial::run(&store, stage).map_err(failed)?;
        self.check_places(&store, true)?;
        let reader = store.store();
        let mut checked = 0;
        for plan in plans {
            checked += self.ask(reader, plan)?;
        }
        if whole {
            let record = |rank: usize, key: &mut Vec<u8>, value: &mut Vec<u8>| {
                set.key(rank, key);
                set.value(rank, value);
            };
            checked += read_back(reader, &mut (0..set.len()), &record)?;
        }
        let sizes = reader.sizes();
        store.close().map_err(failed)?;
        drop(store);
        fs::remove_dir_all(&self.site).map_err(|error| self.io(&error))?;
        Ok(Done { trial, checked, sizes })
    }

    /// A store with its records where the stage finds them, all of them synced: what is left to write
    /// would be written together with the new tables.
    fn set_up(&self, at: usize) -> Result<UpkeepStore, Failure> {
        let Work { dir, set, setting, stage, .. } = self.work;
        if self.site.exists() {
            fs::remove_dir_all(&self.site).map_err(|error| self.io(&error))?;
        }
        if stage == UpkeepStage::Compact {
            let loaded = dir.join(self.accessors[at].label());
            UpkeepStore::link(&loaded, &self.site).map_err(failed)?;
        }
        self.pin.map_or(Ok(()), Pin::leave_core).map_err(|error| self.io(&error))?;
        let store =
            UpkeepStore::open(&self.site, self.accessors[at], upkeep_opening(setting)).map_err(failed)?;
        self.pin.map_or(Ok(()), Pin::take_core).map_err(|error| self.io(&error))?;
        if stage == UpkeepStage::Flush {
            let load = Load { set, layout: Layout::Normal, seed: self.load_seed };
            store.fill(&load).map_err(failed)?;
        }
        self.check_places(&store, false)?;
        Ok(store)
    }

    /// Refuses a store that has its records elsewhere than the stage says, before the work and after
    /// it, or tables that are read by another index.
    fn check_places(&self, store: &UpkeepStore, is_done: bool) -> Result<(), Failure> {
        let (entries, level0, below) = store.places();
        let is_right = match (self.work.stage, is_done) {
            (UpkeepStage::Flush, false) => entries == self.work.set.len() as u64 && level0 + below == 0,
            (UpkeepStage::Flush, true) | (UpkeepStage::Compact, false) => {
                entries == 0 && level0 > 0 && below == 0
            }
            (UpkeepStage::Compact, true) => entries == 0 && level0 == 0 && below > 0,
        };
        if !is_right {
            return Err(Failure::Error(format!(
                "{} entries in memtables, {level0} tables in level 0 and {below} below it, {} {}",
                entries,
                if is_done { "after" } else { "before" },
                self.work.stage.name()
            )));
        }
        store.unready().map_or(Ok(()), |problem| Err(Failure::Error(problem)))
    }

    fn ask(&self, reader: &mut dyn Store, plan: &Plan) -> Result<u64, Failure> {
        let set = self.work.set;
        check_used(reader, plan, set).map_err(|failure| match describe(reader, plan, set, &failure) {
            (true, sentence) => Failure::Told(sentence),
            (false, sentence) => Failure::Error(sentence),
        })
    }

    fn io(&self, error: &io::Error) -> Failure {
        Failure::Error(format!("{}: {error}", self.site.display()))
    }
}

impl Entrants for Keepers<'_> {
    type Trial = UpkeepTrial;

    fn names(&self) -> Vec<String> {
        self.accessors.iter().map(|accessor| accessor.label().to_owned()).collect()
    }

    fn trial(&mut self, at: usize, _no: usize) -> Result<UpkeepTrial, Failure> {
        self.upkeep_trial(at, false).map(|done| done.trial)
    }
}

fn upkeep_opening(setting: Setting) -> UpkeepOpening {
    UpkeepOpening { opening: setting.opening(Durability::Buffered), background_threads: setting.threads }
}

fn failed(error: kiban::Error) -> Failure {
    Failure::Error(error.to_string())
}
