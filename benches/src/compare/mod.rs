//! Engines side by side: interleaved trials, paired ratios, a noise floor from A/A pairs.
//!
//! The engines run in passes, forwards and backwards by turns, so that a drift of the machine
//! touches both sides of a pair alike. The baseline A runs twice in every pass:
//!
//! ```text
//! pass 0  A b A'            floor pass
//! pass 1  A B A' C          verdict pass
//! pass 2  b A' b A          floor pass
//! pass 3  C A' B A          verdict pass
//! ```
//!
//! No engine runs after itself: it would find its own data in the processor's caches, which nobody
//! else does. Where it would, another one runs in between (b), and its trial does not count.
//!
//! Half of the A/A pairs, those of floor passes, give the noise floor. The other half goes
//! through the verdict like any pair: if it finds a difference between A and A, no verdict of
//! the stage stands.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::ab::{PAIRS_MIN, Trials};
use crate::clock::Clock;
use crate::engine::Engine;
use crate::plan::Plan;
use crate::report::{RatioTo, Spread, TrialRow, Verdict};
use crate::stats::DETECTABLE_AIM;
use crate::trial::{Failure, Shared, Trial, run_trial};

/// What one trial measured.
pub(crate) trait Sample {
    /// The number that noise floors and verdicts are about.
    fn judged(&self) -> f64;

    /// Ratios of all its numbers; `spread` sums up those of one.
    fn ratios(spread: impl Fn(fn(&Self) -> f64) -> Option<Spread>) -> RatioTo;

    /// The trial as the report has it.
    fn row(&self) -> TrialRow;
}

/// How long to go on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort<'a> {
    pub(crate) trials: Trials,
    /// No pair is begun after this, once there are [`PAIRS_MIN`].
    pub(crate) until: Instant,
    pub(crate) seed: u64,
    /// No trial is begun after this is set.
    pub(crate) stop: Option<&'a AtomicBool>,
}

impl Effort<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// All trials of one stage.
#[derive(Debug)]
pub(crate) struct Comparison<T> {
    names: Vec<String>,
    /// The trials of floor passes: A, A', A', A and so on.
    floor: Vec<T>,
    /// The second baseline trial of each verdict pass.
    control: Vec<T>,
    /// By engine, the trials of verdict passes.
    trials: Vec<Vec<T>>,
    /// How an engine failed, if it did.
    failures: Vec<Option<Failure>>,
    trials_begun: usize,
    /// Whose trial was the last.
    last: Option<usize>,
    seed: u64,
    is_interrupted: bool,
}

/// What an engine's cell says.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) ratio_to: BTreeMap<String, RatioTo>,
    pub(crate) noise_floor: Option<f64>,
    pub(crate) min_detectable: Option<f64>,
    pub(crate) verdict: Verdict,
}

/// Who takes part, and what a trial of one of them is.
pub(crate) trait Entrants {
    /// What one trial measures.
    type Trial: Sample;

    /// Names in reports, the baseline first.
    fn names(&self) -> Vec<String>;

    /// Runs trial `no` of the stage, of the one at `at`.
    fn trial(&mut self, at: usize, no: usize) -> Result<Self::Trial, Failure>;

    /// Lets another one run, because the one at `at` runs twice in a row. Trials that make all they
    /// measure anew need none.
    fn come_between(&mut self, _at: usize, _no: usize) {}
}

/// Runs the stage. The first is the baseline. One that fails, or has failed
/// before, runs no more; the others go on.
pub(crate) fn compare<E: Entrants>(
    entrants: &mut E,
    failures: Vec<Option<Failure>>,
    effort: Effort<'_>,
) -> Comparison<E::Trial> {
    let mut comparison = Comparison::new(entrants.names(), failures, effort.seed);
    let (least, most) = effort.trials.bounds();
    for pair in 0..most {
        let over = Instant::now() >= effort.until;
        let enough = pair >= least && (effort.trials == Trials::Auto && comparison.is_sure());
        if enough || (over && pair >= PAIRS_MIN) || comparison.is_interrupted {
            break;
        }
        let baseline_twice = [Run::Floor, Run::Floor];
        let mut everyone = vec![Run::Baseline];
        everyone.extend((1..comparison.names.len()).map(Run::Other));
        everyone.insert(everyone.len().min(2), Run::Control);
        for mut runs in [baseline_twice.to_vec(), everyone] {
            if pair % 2 == 1 {
                runs.reverse();
            }
            comparison.pass(entrants, &runs, &effort);
        }
    }
    comparison
}

/// Engines that answer the calls of a plan.
pub(crate) struct Readers<'a, 'b, C> {
    engines: &'a mut [&'b mut dyn Engine],
    work: Work<'a, C>,
}

impl<'a, 'b, C: Clock> Readers<'a, 'b, C> {
    /// Prepares the engines for the plan.
    pub(crate) fn new(engines: &'a mut [&'b mut dyn Engine], work: Work<'a, C>) -> Self {
        engines.iter_mut().for_each(|engine| engine.prepare(work.plan));
        Self { engines, work }
    }
}

impl<C: Clock + Sync> Entrants for Readers<'_, '_, C> {
    type Trial = Trial;

    fn names(&self) -> Vec<String> {
        self.engines.iter().map(|engine| engine.name().to_owned()).collect()
    }

    fn trial(&mut self, at: usize, no: usize) -> Result<Trial, Failure> {
        let Work { plan, clock, trial_calls, threads } = &self.work;
        let (plan, clock, threads) = (*plan, *clock, *threads);
        let calls = plan.part(no, *trial_calls);
        match threads {
            1 => run_trial(self.engines[at], plan, calls, clock),
            threads => Shared { plan, calls, clock, threads, is_warm: true }.run(self.engines[at]),
        }
    }

    fn come_between(&mut self, at: usize, no: usize) {
        let other = (at + 1) % self.engines.len();
        if other != at {
            // If it fails, its own trial says so.
            let _ = self.trial(other, no);
        }
    }
}

/// What each trial does.
#[derive(Debug)]
pub(crate) struct Work<'a, C> {
    pub(crate) plan: &'a Plan,
    pub(crate) trial_calls: usize,
    pub(crate) clock: &'a C,
    /// That read at once.
    pub(crate) threads: usize,
}

/// One trial of a pass, by what it is for.
#[derive(Clone, Copy, Debug)]
enum Run {
    /// A or A' of a floor pass.
    Floor,
    /// A of a verdict pass.
    Baseline,
    /// A' of a verdict pass.
    Control,
    /// Another engine.
    Other(usize),
}

impl<T: Sample> Comparison<T> {
    fn new(names: Vec<String>, failures: Vec<Option<Failure>>, seed: u64) -> Self {
        Self {
            trials: names.iter().map(|_| Vec::new()).collect(),
            names,
            floor: Vec::new(),
            control: Vec::new(),
            failures,
            trials_begun: 0,
            last: None,
            seed,
            is_interrupted: false,
        }
    }

    fn pass(&mut self, entrants: &mut impl Entrants<Trial = T>, runs: &[Run], effort: &Effort<'_>) {
        for run in runs {
            if effort.is_stopped() {
                self.is_interrupted = true;
                return;
            }
            let at = match run {
                Run::Other(at) => *at,
                _ => 0,
            };
            if self.failures[at].is_some() {
                continue;
            }
            let no = self.trials_begun;
            self.trials_begun += 1;
            if self.last.replace(at) == Some(at) {
                entrants.come_between(at, no);
            }
            match (entrants.trial(at, no), run) {
                (Ok(trial), Run::Floor) => self.floor.push(trial),
                (Ok(trial), Run::Control) => self.control.push(trial),
                (Ok(trial), Run::Baseline | Run::Other(_)) => self.trials[at].push(trial),
                (Err(failure), _) => self.failures[at] = Some(failure),
            }
        }
    }

    /// Names in reports, the baseline first.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The trials of an engine, oldest first.
    pub(crate) fn trials(&self, at: usize) -> &[T] {
        &self.trials[at]
    }

    /// Whether it was stopped before its end.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.is_interrupted
    }

    /// How an engine failed, if it did.
    pub(crate) fn failure(&self, at: usize) -> Option<&Failure> {
        self.failures[at].as_ref()
    }

    /// Whether every engine's cell could have found a difference of 5 %.
    fn is_sure(&self) -> bool {
        let noise_floor = self.noise_floor();
        let sure = |at| {
            let least = self.spread(at, 0, T::judged).zip(noise_floor);
            least.is_some_and(|(ratio, noise)| ratio.min_detectable(noise) <= DETECTABLE_AIM)
        };
        (0..self.names.len()).all(sure)
    }

    /// The noise floor, as a ratio - 1.
    fn noise_floor(&self) -> Option<f64> {
        let pairs = self.floor.chunks_exact(2).enumerate();
        let ratio = |(no, pair): (usize, &[T])| {
            let (a, other_a) = if no % 2 == 0 { (&pair[0], &pair[1]) } else { (&pair[1], &pair[0]) };
            other_a.judged() / a.judged()
        };
        let ratios: Vec<f64> = pairs.map(ratio).collect();
        Some(Spread::of(&ratios, self.seed)?.reach())
    }

    /// Ratios of the trials of an engine to those of another; of the baseline to itself: A/A.
    fn spread(&self, ours: usize, theirs: usize, measure: fn(&T) -> f64) -> Option<Spread> {
        let ours = if ours == 0 && theirs == 0 { &self.control } else { &self.trials[ours] };
        let pairs = ours.iter().zip(&self.trials[theirs]);
        let ratios: Vec<f64> = pairs.map(|(ours, theirs)| measure(ours) / measure(theirs)).collect();
        Spread::of(&ratios, self.seed)
    }

    fn ratio(&self, ours: usize, theirs: usize) -> RatioTo {
        T::ratios(|measure| self.spread(ours, theirs, measure))
    }

    /// Whether the held-out A/A pairs show no difference that would pass for one.
    pub(crate) fn control_holds(&self) -> bool {
        let control = self.spread(0, 0, T::judged).zip(self.noise_floor());
        let verdict = control.map(|(control, noise)| control.verdict(noise));
        !matches!(verdict, Some(Verdict::Faster | Verdict::Slower))
    }

    /// What the cell of an engine says.
    pub(crate) fn finding(&self, at: usize) -> Finding {
        let others = (0..self.names.len()).filter(|other| *other != at || at == 0);
        let ratio_to = others.map(|other| (self.names[other].clone(), self.ratio(at, other))).collect();
        let noise_floor = self.noise_floor();
        let judged = self.spread(at, 0, T::judged).zip(noise_floor);
        let verdict = match judged {
            Some((ratio, noise)) if self.control_holds() => ratio.verdict(noise),
            _ => Verdict::None,
        };
        let min_detectable = judged.map(|(ratio, noise)| ratio.min_detectable(noise));
        Finding { ratio_to, noise_floor, min_detectable, verdict }
    }
}

#[cfg(test)]
mod tests;
