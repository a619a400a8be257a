//! Stages of cold reads: each trial opens a store whose pages were dropped.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kiban::Durability;

use super::AbError;
use super::outcome::{Measured, StageOutcome};
use super::reads::note_sizes;
use super::run::{Run, Setting};
use super::settle::Advice;
use super::stage::{Rules, describe, describe_unasked};
use crate::clock::BestClock;
use crate::cold::{ColdSite, ColdStage, ColdTrial};
use crate::compare::{Entrants, compare};
use crate::engine::{ColdFloor, Family, Opening, Sizes, Warmth};
use crate::keys::KeySet;
use crate::machine::Reading;
use crate::plan::Plan;
use crate::report::Cell;
use crate::trial::{Failure, Trial};

/// Hits of a trial.
const HITS: usize = 10_000;
/// Fewest hits of a trial, however short the time box.
const HITS_MIN: usize = 200;
/// Directory of the floor's file.
const FLOOR_DIR: &str = "floor";

/// Stores that are read cold.
pub(super) struct ColdStores<'a> {
    /// Holds the loaded stores.
    dir: &'a Path,
    set: &'a dyn KeySet,
    floor: ColdFloor,
    floor_dir: PathBuf,
}

impl<'a> ColdStores<'a> {
    /// Writes the file of the floor; the stores are there.
    pub(super) fn new(dir: &'a Path, set: &'a dyn KeySet) -> Result<Self, AbError> {
        let floor_dir = dir.join(FLOOR_DIR);
        let floor = ColdFloor::new(&floor_dir, set).map_err(|error| AbError::io(&floor_dir, error))?;
        Ok(Self { dir, set, floor, floor_dir })
    }
}

impl Run<'_> {
    /// Measures a cold stage under a setting and with an advice. `built`: how long loading took, by family.
    pub(super) fn cold(
        &mut self,
        stores: &ColdStores<'_>,
        (setting, advice): (Setting, Advice),
        stage: ColdStage,
        built: &[Duration],
    ) {
        let place = format!("{}, {}, {}", stores.set.shape(), setting.layout.name(), setting.read.name());
        self.step(&format!("{place}: {}", stage.name()));
        let began = Instant::now();
        let known = Cell {
            stage: stage.name().to_owned(),
            advice: Some(advice.name().to_owned()),
            ..self.known(stores.set, setting)
        };
        let mut outcome = self.cold_stage(stores, (setting, advice), stage, &known);
        for (cell, built) in outcome.cells.iter_mut().zip(built) {
            cell.build_ns_per_key = Some(built.as_nanos() as f64 / cell.n as f64);
        }
        self.take(began, outcome);
    }

    fn cold_stage(
        &self,
        stores: &ColdStores<'_>,
        (setting, advice): (Setting, Advice),
        stage: ColdStage,
        known: &Cell,
    ) -> StageOutcome {
        let rules = self.rules();
        let plan = Plan::different_hits(stores.set, HITS, rules.seed);
        let warmth = Warmth::Cold { read_ahead: advice == Advice::Default };
        let families: Vec<(&Family, PathBuf)> =
            self.settled.families.iter().map(|family| (family, stores.dir.join(family.dir_name()))).collect();
        let sites = families.iter().map(|(family, dir)| ColdSite::Store(family, dir));
        let mut readers = ColdReaders {
            sites: sites.chain([ColdSite::Floor(&stores.floor, &stores.floor_dir)]).collect(),
            trial: ColdTrial {
                stage,
                opening: Opening { warmth, ..setting.opening(Durability::Buffered) },
                pin: self.pin(),
                plan: &plan,
                clock: rules.clock,
                threads: setting.threads as usize,
            },
            hits: plan.len(),
        };
        readers.run(stores.set, &rules, known)
    }
}

/// Everyone who reads cold, one open at a time.
struct ColdReaders<'a> {
    sites: Vec<ColdSite<'a>>,
    trial: ColdTrial<'a, BestClock>,
    /// Of a trial.
    hits: usize,
}

impl ColdReaders<'_> {
    /// Checks everyone's answers, sizes the trials, and runs them.
    fn run(&mut self, set: &dyn KeySet, rules: &Rules<'_>, known: &Cell) -> StageOutcome {
        let effort = rules.effort();
        let checks: Vec<Result<(u64, Option<Sizes>), Failure>> =
            self.sites.iter().map(|site| self.trial.check(site, set, describe)).collect();
        let checked = checks.iter().map(|check| check.as_ref().ok().map(|(checked, _)| *checked)).collect();
        let mut failures: Vec<Option<Failure>> =
            checks.iter().map(|check| check.as_ref().err().cloned()).collect();
        let wanted = self.hits;
        self.hits = self.hits_in_time(rules, &mut failures);
        let before = Reading::now();
        let calls = (wanted, self.hits);
        let comparison = compare(self, failures, effort);
        let spent = Reading::now().since(&before);
        let measured = Measured { comparison, known, trials: rules.trials, checked, calls, spent };
        let plan = self.trial.plan;
        let mut outcome = StageOutcome::new(measured, |_, failure| describe_unasked(plan, set, failure));
        for (cell, check) in outcome.cells.iter_mut().zip(&checks) {
            if let Ok((_, Some(sizes))) = check {
                note_sizes(cell, *sizes);
            }
        }
        outcome
    }

    /// Hits of a trial that let the fewest pairs fit into the time, by a short trial of each: dropping and
    /// opening take their time whatever the hits.
    fn hits_in_time(&self, rules: &Rules<'_>, failures: &mut [Option<Failure>]) -> usize {
        let (mut fixed_s, mut hit_s) = (0.0, 0.0);
        for (at, site) in self.sites.iter().enumerate() {
            if failures[at].is_some() {
                continue;
            }
            let few = HITS_MIN.min(self.hits);
            let began = Instant::now();
            match self.trial.run(site, 0..few) {
                Ok(trial) => {
                    // The baseline runs four times in a pair.
                    let runs = if at == 0 { 4.0 } else { 1.0 };
                    let one_s = trial.mean_ns() * 1e-9 / self.trial.threads as f64;
                    hit_s += one_s * runs;
                    fixed_s += (began.elapsed().as_secs_f64() - one_s * few as f64).max(0.0) * runs;
                }
                Err(failure) => failures[at] = Some(failure),
            }
        }
        let (pairs, _) = rules.trials.bounds();
        let left_s = rules.time.as_secs_f64() / f64::from(pairs) - fixed_s;
        ((left_s.max(0.0) / hit_s) as usize).max(HITS_MIN).min(self.hits)
    }
}

impl Entrants for ColdReaders<'_> {
    type Trial = Trial;

    fn names(&self) -> Vec<String> {
        self.sites.iter().map(|site| site.name().to_owned()).collect()
    }

    fn trial(&mut self, at: usize, no: usize) -> Result<Trial, Failure> {
        self.trial.run(&self.sites[at], self.trial.plan.part(no, self.hits))
    }
}
