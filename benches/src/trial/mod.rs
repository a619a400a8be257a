//! One trial of one engine: calls timed one by one into a histogram, each answer checked by a
//! cheap word; then some of the calls again without the clock, for the throughput.

mod threads;

use std::ops::Range;
use std::time::Instant;

use hdrhistogram::Histogram;

use crate::answers::Answers;
use crate::clock::Clock;
use crate::compare::Sample;
use crate::engine::{Engine, Pages};
use crate::keys::KeySet;
use crate::machine::{Reading, Spent};
use crate::plan::{Plan, Stage};
use crate::report::{RatioTo, Spread, TrialRow};

pub(crate) use threads::Shared;

/// Percentiles are kept to one part in a thousand.
const DIGITS: u8 = 3;
/// Buckets in the report are kept to one part in a hundred.
const REPORT_DIGITS: u8 = 2;
/// Longest call that is told apart, in ticks: minutes. Longer ones count as this.
const TICKS_MAX: u64 = 1 << 40;
/// One in this many calls is made again for the throughput.
pub(crate) const THROUGHPUT_PART: usize = 2;
/// As many calls are made untimed before the others, divided by this: the engine that ran before has left
/// its data in the processor's caches, and a store that is read has its own there.
pub(crate) const LEAD_IN_PART: usize = 1;

/// What one trial measured. A unit of work, an operation, is one key or one group.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    ticks: Histogram<u64>,
    ticks_sum: u64,
    /// Ticks of one nanosecond and one operation.
    ticks_per_op_ns: f64,
    /// Ticks that the clock cannot tell apart.
    step_ticks: u64,
    pub(crate) ops_per_s: Option<f64>,
    ops: u64,
    spent: Spent,
    pages: Option<Pages>,
}

/// A wrong answer, or none at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The call's answer was wrong.
    Wrong {
        /// Which one.
        call: usize,
    },
    /// A wrong answer or content; the sentence says which.
    Told(String),
    /// The engine said that it could not.
    Error(String),
}

/// Makes these calls of a plan that the engine is prepared for.
pub(crate) fn run_trial<C: Clock>(
    engine: &mut dyn Engine,
    plan: &Plan,
    calls: Range<usize>,
    clock: &C,
) -> Result<Trial, Failure> {
    lead_in(engine, plan, &calls)?;
    let mut recorder = Recorder::begin(engine.pages());
    ask(engine, plan, calls.clone(), clock, &mut recorder)?;
    let mut trial = recorder.end(engine.pages(), clock, plan.stage.ops_per_call());
    trial.ops_per_s = ops_again(engine, plan, &calls)?;
    Ok(trial)
}

/// Makes calls, each timed and checked.
fn ask<C: Clock>(
    engine: &mut dyn Engine,
    plan: &Plan,
    calls: Range<usize>,
    clock: &C,
    recorder: &mut Recorder,
) -> Result<(), Failure> {
    let mut answers = Answers::default();
    for call in calls {
        answers.clear();
        let start = clock.start();
        let answered = engine.call(plan, call, &mut answers);
        recorder.record(clock.stop().saturating_sub(start));
        answered.map_err(Failure::Error)?;
        if answers.word() != plan.word(call) {
            return Err(Failure::Wrong { call });
        }
    }
    Ok(())
}

/// Makes some calls again without the clock of single ones: operations a second.
fn ops_again(engine: &mut dyn Engine, plan: &Plan, calls: &Range<usize>) -> Result<Option<f64>, Failure> {
    let again = calls.start..calls.start + calls.len().div_ceil(THROUGHPUT_PART);
    let ops_per_call = plan.stage.ops_per_call() as f64;
    Ok(calls_per_s(engine, plan, again)?.map(|calls| calls * ops_per_call))
}

/// Collects the timed calls of one trial.
#[derive(Debug)]
pub(crate) struct Recorder {
    ticks: Histogram<u64>,
    ticks_sum: u64,
    before: Reading,
    pages_before: Option<Pages>,
}

impl Recorder {
    /// `pages` are those that the engine touched so far.
    pub(crate) fn begin(pages: Option<Pages>) -> Self {
        let ticks = new_histogram(DIGITS);
        Self { ticks, ticks_sum: 0, before: Reading::now(), pages_before: pages }
    }

    /// Takes the ticks of one call.
    #[inline]
    pub(crate) fn record(&mut self, ticks: u64) {
        self.ticks.saturating_record(ticks);
        self.ticks_sum += ticks;
    }

    /// The trial, without its throughput.
    pub(crate) fn end(self, pages: Option<Pages>, clock: &impl Clock, ops_per_call: usize) -> Trial {
        let spent = Reading::now().since(&self.before);
        let pages = pages.zip(self.pages_before).map(|(now, before)| now.since(before));
        Trial {
            ops: self.ticks.len() * ops_per_call as u64,
            ticks: self.ticks,
            ticks_sum: self.ticks_sum,
            ticks_per_op_ns: clock.ticks_per_ns() * ops_per_call as f64,
            step_ticks: clock.step_ticks(),
            ops_per_s: None,
            spent,
            pages,
        }
    }
}

/// Makes the calls that stand before `calls` in the plan, not those that will be timed.
fn lead_in(engine: &mut dyn Engine, plan: &Plan, calls: &Range<usize>) -> Result<(), Failure> {
    let mut answers = Answers::default();
    let first = calls.start + plan.len() - calls.len().div_ceil(LEAD_IN_PART);
    for call in first..calls.start + plan.len() {
        answers.clear();
        engine.call(plan, call % plan.len(), &mut answers).map_err(Failure::Error)?;
    }
    Ok(())
}

/// Calls a second, without the clock of single calls; `None` if they took no time.
fn calls_per_s(engine: &mut dyn Engine, plan: &Plan, calls: Range<usize>) -> Result<Option<f64>, Failure> {
    let mut answers = Answers::default();
    let began = Instant::now();
    for call in calls.clone() {
        answers.clear();
        engine.call(plan, call, &mut answers).map_err(Failure::Error)?;
        if answers.word() != plan.word(call) {
            return Err(Failure::Wrong { call });
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    Ok((seconds > 0.0).then(|| calls.len() as f64 / seconds))
}

/// Asks every call of the plan once and compares each answer in full. Untimed; it also warms.
/// Returns how many answers were compared.
pub(crate) fn check(engine: &mut dyn Engine, plan: &Plan, set: &dyn KeySet) -> Result<u64, Failure> {
    engine.prepare(plan);
    let (mut answers, mut right) = (Answers::default(), Answers::default());
    let mut checked = 0;
    for call in 0..plan.len() {
        answers.clear();
        engine.call(plan, call, &mut answers).map_err(Failure::Error)?;
        plan.right_answers(set, call, &mut right);
        if answers != right {
            return Err(Failure::Wrong { call });
        }
        checked += right.len() as u64;
    }
    Ok(checked)
}

/// Checks every answer, and that lookups were made through the accessor.
pub(crate) fn check_used(engine: &mut dyn Engine, plan: &Plan, set: &dyn KeySet) -> Result<u64, Failure> {
    let before = engine.lookups();
    let checked = check(engine, plan, set)?;
    // A miss may end at a filter, and `latest` is a scan.
    let must_ask = matches!(plan.stage, Stage::Point | Stage::Multiget);
    match before {
        Some(_) if must_ask && engine.lookups() == before => {
            Err(Failure::Error(format!("`{}` was asked nothing", engine.name())))
        }
        _ => Ok(checked),
    }
}

fn new_histogram(digits: u8) -> Histogram<u64> {
    match Histogram::new_with_bounds(1, TICKS_MAX, digits) {
        Ok(histogram) => histogram,
        Err(error) => unreachable!("the bounds are constants: {error}"),
    }
}

impl Trial {
    /// This and what another thread did in the same trial.
    fn join(mut self, other: Self) -> Self {
        // Both have the bounds of `new_histogram`.
        let _ = self.ticks.add(&other.ticks);
        self.ticks_sum += other.ticks_sum;
        self.ops += other.ops;
        let sum = |ours: Option<u64>, theirs: Option<u64>| Some(ours? + theirs?);
        self.spent.minor_faults = sum(self.spent.minor_faults, other.spent.minor_faults);
        self.spent.major_faults = sum(self.spent.major_faults, other.spent.major_faults);
        self
    }

    /// Takes what is counted of the whole process, and the pages of the engine before and after.
    fn of_process(&mut self, spent: &Spent, before: Option<Pages>, after: Option<Pages>) {
        let Spent { minor_faults, major_faults, .. } = self.spent;
        self.spent = Spent { minor_faults, major_faults, ..*spent };
        self.pages = after.zip(before).map(|(now, before)| now.since(before));
    }

    /// The time in nanoseconds that this share of the operations stayed within.
    ///
    /// A clock that counts in steps puts many calls on one reading. They are spread evenly over
    /// the step, as for any median of grouped data, or two trials could only differ by a whole
    /// step: 10 ns of a call of 150.
    pub(crate) fn quantile_ns(&self, share: f64) -> f64 {
        let rank = share * self.ticks.len() as f64;
        let (mut before, mut last_reading) = (0, 0);
        for bucket in self.ticks.iter_recorded() {
            let (reading, count) = (bucket.value_iterated_to(), bucket.count_at_value());
            if (before + count) as f64 >= rank {
                let width = self.step_ticks.min(reading - last_reading) as f64;
                let part = (rank - before as f64) / count as f64;
                // A reading stands for the times half a step to both sides of it.
                let ticks = reading as f64 - width * (1.0 - part) + self.step_ticks as f64 / 2.0;
                return ticks / self.ticks_per_op_ns;
            }
            (before, last_reading) = (before + count, reading);
        }
        last_reading as f64 / self.ticks_per_op_ns
    }

    pub(crate) fn p50_ns(&self) -> f64 {
        self.quantile_ns(0.5)
    }

    pub(crate) fn p99_ns(&self) -> f64 {
        self.quantile_ns(0.99)
    }

    pub(crate) fn mean_ns(&self) -> f64 {
        self.ticks_sum as f64 / self.ticks.len() as f64 / self.ticks_per_op_ns
    }

    fn buckets(&self) -> Vec<(f64, u64)> {
        let mut coarse = new_histogram(REPORT_DIGITS);
        for bucket in self.ticks.iter_recorded() {
            coarse.saturating_record_n(bucket.value_iterated_to(), bucket.count_at_value());
        }
        let upper_ns = |ticks: u64| rounded(ticks as f64 / self.ticks_per_op_ns);
        let buckets = coarse.iter_recorded();
        buckets.map(|bucket| (upper_ns(bucket.value_iterated_to()), bucket.count_at_value())).collect()
    }
}

impl Sample for Trial {
    fn judged(&self) -> f64 {
        self.p50_ns()
    }

    fn ratios(spread: impl Fn(fn(&Self) -> f64) -> Option<Spread>) -> RatioTo {
        let (p50, p99, mean) = (spread(Self::p50_ns), spread(Self::p99_ns), spread(Self::mean_ns));
        RatioTo { p50, p99, mean, ..RatioTo::default() }
    }

    fn row(&self) -> TrialRow {
        let per_op = |count: Option<u64>| count.map(|count| count as f64 / self.ops as f64);
        TrialRow {
            p50_ns: Some(rounded(self.p50_ns())),
            p99_ns: Some(rounded(self.p99_ns())),
            p999_ns: Some(rounded(self.quantile_ns(0.999))),
            mean_ns: Some(rounded(self.mean_ns())),
            ops_per_s: self.ops_per_s.map(f64::round),
            major_faults_per_op: per_op(self.spent.major_faults),
            minor_faults_per_op: per_op(self.spent.minor_faults),
            data_pages_per_op: per_op(self.pages.map(|pages| pages.data)),
            index_pages_per_op: per_op(self.pages.map(|pages| pages.index)),
            device_bytes_per_op: per_op(self.spent.device_bytes),
            steal: self.spent.steal,
            other_cpu: self.spent.other_cpu,
            histogram: self.buckets(),
            upkeep: None,
        }
    }
}

/// To hundredths: more would be noise that a reader has to look at.
fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(step_ticks: u64, readings: &[(u64, u64)]) -> Trial {
        let mut ticks = new_histogram(DIGITS);
        readings.iter().for_each(|(reading, count)| ticks.record_n(*reading, *count).unwrap());
        Trial {
            ticks_sum: readings.iter().map(|(reading, count)| reading * count).sum(),
            ops: ticks.len(),
            ticks,
            ticks_per_op_ns: 1.0,
            step_ticks,
            ops_per_s: None,
            spent: Spent::default(),
            pages: None,
        }
    }

    #[test]
    fn a_coarse_clock_does_not_make_the_median_coarse() {
        // True times are even over 130 to 150 in one trial and over 132 to 152 in the other.
        let (one, two) =
            (trial(10, &[(130, 25), (140, 50), (150, 25)]), trial(10, &[(130, 15), (140, 50), (150, 35)]));
        assert_eq!((one.p50_ns(), two.p50_ns()), (140.0, 142.0));
    }

    #[test]
    fn quantiles_rise_and_do_not_reach_into_gaps() {
        let trial = trial(10, &[(100, 900), (110, 95), (5_000, 5)]);
        let quantiles: Vec<f64> =
            (0..=1_000).map(|part| trial.quantile_ns(f64::from(part) / 1_000.0)).collect();
        assert!(quantiles.is_sorted(), "{quantiles:?}");
        assert!(trial.p99_ns() <= 115.0 && trial.quantile_ns(0.999) > 4_980.0);
    }

    #[test]
    fn the_reports_histogram_keeps_every_call() {
        let trial = trial(1, &[(100, 3), (5_001, 4), (5_002, 5), (1 << 30, 1)]);
        let buckets = trial.row().histogram;
        assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 13);
        assert!(buckets.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(buckets.len(), 3, "5,001 and 5,002 are one bucket");
    }
}
