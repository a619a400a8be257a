//! Stages of the write workload W6: each trial has a store of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::AbError;
use super::outcome::{Measured, StageOutcome};
use super::reads::remove;
use super::run::{Run, Setting};
use super::stage::Rules;
use crate::clock::BestClock;
use crate::compare::{Entrants, compare};
use crate::engine::{Family, Layout};
use crate::keys::KeySet;
use crate::machine::{Pin, Reading};
use crate::report::Cell;
use crate::trial::{Failure, Trial};
use crate::writes::{Site, WritePlan, WriteStage, run_write_trial};

/// Fewest timed operations of one trial, however short the time box.
const OPS_MIN: usize = 100;
/// Layout of a store that holds nothing before.
const EMPTY: &str = "empty";

impl Run<'_> {
    /// Loads one input, if a stage wants its records in the store, and measures the stages under
    /// each setting.
    pub(super) fn writes(
        &mut self,
        dir: &Path,
        (set, layout): (&dyn KeySet, Layout),
        stages: &[WriteStage],
    ) -> Result<(), AbError> {
        self.step(&format!("{}, {}: load {} records", set.shape(), layout.name(), set.len()));
        fs::create_dir_all(dir).map_err(|error| AbError::io(dir, error))?;
        let is_loaded = stages.iter().any(|stage| stage.is_prefilled());
        let built = if is_loaded { self.load(dir, set, layout)? } else { Some(Vec::new()) };
        let Some(built) = built else { return remove(dir) };
        for setting in self.settings(layout) {
            for stage in stages {
                if self.is_stopped() {
                    break;
                }
                self.step(&format!("{}, {}: {}", set.shape(), setting.read.name(), stage.name()));
                let began = Instant::now();
                let mut outcome = self.write_stage(dir, set, setting, *stage);
                for (cell, built) in outcome.cells.iter_mut().zip(&built).filter(|_| stage.is_prefilled()) {
                    cell.build_ns_per_key = Some(built.as_nanos() as f64 / cell.n as f64);
                }
                self.take(began, outcome);
            }
        }
        remove(dir)
    }

    fn write_stage(&self, dir: &Path, set: &dyn KeySet, setting: Setting, stage: WriteStage) -> StageOutcome {
        let mut known = Cell { stage: stage.name().to_owned(), ..self.known(set, setting) };
        if !stage.is_prefilled() {
            known.layout = EMPTY.to_owned();
        }
        let rules = self.rules();
        let mut writers = Writers {
            dir,
            site_dir: dir.join("trial"),
            families: &self.settled.families,
            setting,
            pin: self.pin(),
            clock: rules.clock,
            set,
            plan: WritePlan::new(set, stage, stage.ops(set.len()), rules.seed),
        };
        writers.run(&rules, &known)
    }
}

/// Stores of all families, one a trial.
struct Writers<'a> {
    /// Holds the loaded stores.
    dir: &'a Path,
    site_dir: PathBuf,
    families: &'a [Family],
    setting: Setting,
    pin: Option<&'a Pin>,
    clock: &'a BestClock,
    set: &'a dyn KeySet,
    plan: WritePlan,
}

impl Writers<'_> {
    /// Runs one trial of each that does not count, sizes the others by it, and runs them.
    fn run(&mut self, rules: &Rules<'_>, known: &Cell) -> StageOutcome {
        let (mut checked, mut failures, mut pair) = (Vec::new(), Vec::new(), Duration::ZERO);
        let effort = rules.effort();
        for at in 0..self.families.len() {
            let began = Instant::now();
            let result = self.write_trial(at);
            checked.push(result.as_ref().ok().map(|(_, checked)| *checked));
            failures.push(result.err());
            // The baseline runs four times in a pair.
            pair += began.elapsed() * if at == 0 { 4 } else { 1 };
        }
        let wanted = self.plan.timed().len();
        let ops = ops_in_time(wanted, pair * rules.trials.bounds().0, rules.time);
        if ops < wanted {
            self.plan = WritePlan::new(self.set, self.plan.stage, ops, rules.seed);
        }
        let before = Reading::now();
        let comparison = compare(self, failures, effort);
        let spent = Reading::now().since(&before);
        let measured =
            Measured { comparison, known, trials: rules.trials, checked, calls: (wanted, ops), spent };
        StageOutcome::new(measured, |_, failure| match failure {
            Failure::Error(error) => (false, error.clone()),
            Failure::Told(sentence) => (true, sentence.clone()),
            Failure::Wrong { call } => (true, format!("wrong answer to operation {call}")),
        })
    }

    fn write_trial(&self, at: usize) -> Result<(Trial, u64), Failure> {
        let family = &self.families[at];
        let filled = self.dir.join(family.dir_name());
        let site = Site {
            dir: &self.site_dir,
            filled: self.plan.stage.is_prefilled().then_some(&*filled),
            family,
            opening: self.setting.opening(self.plan.stage.durability()),
            pin: self.pin,
        };
        run_write_trial(site, &self.plan, self.set, self.clock)
    }
}

impl Entrants for Writers<'_> {
    type Trial = Trial;

    fn names(&self) -> Vec<String> {
        self.families.iter().map(|family| family.name().to_owned()).collect()
    }

    fn trial(&mut self, at: usize, _no: usize) -> Result<Trial, Failure> {
        self.write_trial(at).map(|(trial, _)| trial)
    }
}

/// Operations of a trial, if `wanted` of them in the fewest pairs take `needed`.
fn ops_in_time(wanted: usize, needed: Duration, time: Duration) -> usize {
    let share = (time.as_secs_f64() / needed.as_secs_f64()).min(1.0);
    ((wanted as f64 * share) as usize).max(OPS_MIN).min(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_as_many_as_fit_and_never_too_few() {
        let seconds = Duration::from_secs;
        assert_eq!(ops_in_time(10_000, seconds(2), seconds(10)), 10_000);
        assert_eq!(ops_in_time(10_000, seconds(20), seconds(10)), 5_000);
        assert_eq!(ops_in_time(10_000, seconds(9_000), seconds(1)), OPS_MIN);
        assert_eq!(ops_in_time(12, seconds(9_000), seconds(1)), 12);
    }
}
