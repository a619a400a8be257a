//! Comparisons of engines whose cost is written down, by a clock that they move themselves: no
//! load of the machine can change an outcome.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;
use crate::ab::{AUTO_PAIRS_MIN, PAIRS_MAX};
use crate::answers::Answers;
use crate::engine::Floor;
use crate::keys::W1;
use crate::plan::Stage;
use crate::rng::SplitMix;

const SEED: u64 = 11;
const TRIAL_CALLS: usize = 400;
/// Lead-in, timed calls, and the calls for the throughput.
const CALLS_OF_A_TRIAL: usize = TRIAL_CALLS + TRIAL_CALLS + TRIAL_CALLS / 2;

/// Shows the time that engines have spent.
#[derive(Default)]
struct FakeClock {
    now_ns: AtomicU64,
}

impl Clock for FakeClock {
    fn start(&self) -> u64 {
        self.now_ns.load(Ordering::Relaxed)
    }

    fn stop(&self) -> u64 {
        self.now_ns.load(Ordering::Relaxed)
    }

    fn ticks_per_ns(&self) -> f64 {
        1.0
    }

    fn step_ticks(&self) -> u64 {
        1
    }
}

/// Gives the floor's answers at a cost of its own.
struct FakeEngine<'a> {
    name: &'static str,
    floor: Floor,
    clock: &'a FakeClock,
    cost_ns: u64,
    /// Noise of single calls, at most this.
    call_noise_ns: usize,
    /// Noise of whole trials, at most this: what a disturbed machine does.
    trial_noise_ns: usize,
    of_this_trial_ns: u64,
    calls: usize,
    draw: RefCell<SplitMix>,
    wrong_at: Option<usize>,
}

impl<'a> FakeEngine<'a> {
    fn new(name: &'static str, set: &W1, clock: &'a FakeClock, cost_ns: u64) -> Self {
        Self {
            name,
            floor: Floor::new(set),
            clock,
            cost_ns,
            call_noise_ns: 200,
            trial_noise_ns: 10,
            of_this_trial_ns: 0,
            calls: 0,
            draw: RefCell::new(SplitMix::part(SEED, name.len() as u64)),
            wrong_at: None,
        }
    }
}

impl Engine for FakeEngine<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn prepare(&mut self, plan: &Plan) {
        self.floor.prepare(plan);
    }

    fn call(&mut self, plan: &Plan, call: usize, answers: &mut Answers) -> Result<(), String> {
        if self.calls.is_multiple_of(CALLS_OF_A_TRIAL) {
            self.of_this_trial_ns = self.draw.borrow_mut().below(self.trial_noise_ns) as u64;
        }
        self.calls += 1;
        let noise = self.draw.borrow_mut().below(self.call_noise_ns) as u64 + self.of_this_trial_ns;
        self.clock
            .now_ns
            .store(self.clock.now_ns.load(Ordering::Relaxed) + self.cost_ns + noise, Ordering::Relaxed);
        let asked = if self.wrong_at == Some(call) { call - 1 } else { call };
        self.floor.call(plan, asked, answers)
    }
}

fn work<'a>(plan: &'a Plan, clock: &'a FakeClock) -> Work<'a, FakeClock> {
    Work { plan, trial_calls: TRIAL_CALLS, clock, threads: 1 }
}

/// Runs three engines; the first is the baseline at 1,000 ns.
fn run(trials: Trials, adjust: impl Fn(&mut [FakeEngine<'_>; 3])) -> Comparison<Trial> {
    let set = W1::new(500, SEED);
    let plan = Plan::new(&set, Stage::Point, 2 * TRIAL_CALLS, SEED);
    let clock = FakeClock::default();
    let mut engines = [
        FakeEngine::new("base", &set, &clock, 1_000),
        FakeEngine::new("equal", &set, &clock, 1_000),
        FakeEngine::new("slowed", &set, &clock, 1_250),
    ];
    adjust(&mut engines);
    let [base, equal, slowed] = &mut engines;
    let until = Instant::now() + Duration::from_secs(60);
    let effort = Effort { trials, until, seed: SEED, stop: None };
    let mut engines: [&mut dyn Engine; 3] = [base, equal, slowed];
    compare(&mut Readers::new(&mut engines, work(&plan, &clock)), vec![None; 3], effort)
}

#[test]
fn a_run_that_is_stopped_keeps_what_it_has_and_says_so() {
    let (set, clock, stop) = (W1::new(500, SEED), FakeClock::default(), AtomicBool::new(false));
    let plan = Plan::new(&set, Stage::Point, 2 * TRIAL_CALLS, SEED);
    /// Stops the run in its seventh trial.
    struct Stopping<'a, 'b>(Readers<'a, 'b, FakeClock>, &'a AtomicBool);
    impl Entrants for Stopping<'_, '_> {
        type Trial = Trial;
        fn names(&self) -> Vec<String> {
            self.0.names()
        }
        fn trial(&mut self, at: usize, no: usize) -> Result<Trial, Failure> {
            self.1.store(no == 6, Ordering::Relaxed);
            self.0.trial(at, no)
        }
    }
    let mut base = FakeEngine::new("base", &set, &clock, 1_000);
    let mut other = FakeEngine::new("other", &set, &clock, 1_000);
    let mut engines: [&mut dyn Engine; 2] = [&mut base, &mut other];
    let mut stopping = Stopping(Readers::new(&mut engines, work(&plan, &clock)), &stop);
    let until = Instant::now() + Duration::from_secs(60);
    let effort = Effort { trials: Trials::Pairs(9), until, seed: SEED, stop: Some(&stop) };
    let comparison = compare(&mut stopping, vec![None; 2], effort);
    assert!(comparison.is_interrupted());
    // Five trials make a pair; the second one has its floor pass.
    assert_eq!((comparison.trials(0).len(), comparison.trials(1).len()), (1, 1));
    assert!(comparison.finding(1).ratio_to.contains_key("base"));
}

#[test]
fn a_quarter_slower_has_a_verdict_and_equal_has_none() {
    let comparison = run(Trials::Pairs(5), |_| {});
    assert!(comparison.control_holds());
    assert_eq!(comparison.finding(0).verdict, Verdict::Same);
    assert_eq!(comparison.finding(1).verdict, Verdict::Same);
    let slowed = comparison.finding(2);
    assert_eq!(slowed.verdict, Verdict::Slower);
    let p50 = slowed.ratio_to["base"].p50.unwrap();
    assert!((1.20..1.26).contains(&p50.median), "{p50:?}");
    assert!(p50.min <= p50.median && p50.median <= p50.max);
    assert!(slowed.noise_floor.unwrap() < 0.05);
}

#[test]
fn a_quarter_faster_has_the_other_verdict() {
    let comparison = run(Trials::Pairs(5), |engines| engines[2].cost_ns = 750);
    assert_eq!(comparison.finding(2).verdict, Verdict::Faster);
}

#[test]
fn noise_of_the_machine_widens_the_floor_and_hides_the_verdict() {
    let comparison = run(Trials::Pairs(5), |engines| {
        engines.iter_mut().for_each(|engine| engine.trial_noise_ns = 1_500);
    });
    for at in 0..3 {
        let finding = comparison.finding(at);
        assert_eq!(finding.verdict, Verdict::None, "{}: {finding:?}", comparison.names[at]);
    }
    assert!(comparison.finding(2).noise_floor.unwrap() > 0.25);
}

#[test]
fn no_verdict_stands_where_a_differs_from_itself() {
    // The floor passes saw no noise at all, and the control pairs a quarter of difference.
    let mut comparison = run(Trials::Pairs(5), |_| {});
    comparison.control = comparison.trials[2].clone();
    assert!(!comparison.control_holds());
    assert_eq!(comparison.finding(2).verdict, Verdict::None);
}

#[test]
fn the_baseline_runs_twice_in_every_pass_and_the_others_once_in_half() {
    let comparison = run(Trials::Pairs(6), |_| {});
    assert_eq!((comparison.floor.len(), comparison.control.len()), (12, 6));
    assert!((0..3).all(|at| comparison.trials(at).len() == 6));
}

#[test]
fn auto_adds_pairs_until_five_percent_could_be_found() {
    let noisy = |engines: &mut [FakeEngine<'_>; 3]| {
        engines.iter_mut().for_each(|engine| engine.trial_noise_ns = 200);
    };
    let comparison = run(Trials::Auto, noisy);
    let pairs = comparison.trials(0).len();
    assert!(pairs > AUTO_PAIRS_MIN as usize && pairs < PAIRS_MAX as usize, "{pairs}");
    assert!(comparison.is_sure());
    assert_eq!(comparison.finding(2).verdict, Verdict::Slower);
}

#[test]
fn no_time_box_goes_below_five_pairs() {
    let set = W1::new(500, SEED);
    let plan = Plan::new(&set, Stage::Point, 20, SEED);
    let clock = FakeClock::default();
    let mut engine = FakeEngine::new("base", &set, &clock, 1_000);
    let effort = Effort { trials: Trials::Pairs(9), until: Instant::now(), seed: SEED, stop: None };
    let mut engines: [&mut dyn Engine; 1] = [&mut engine];
    let comparison = compare(&mut Readers::new(&mut engines, work(&plan, &clock)), vec![None], effort);
    assert_eq!(comparison.trials(0).len(), PAIRS_MIN as usize);
}

#[test]
fn a_wrong_answer_stops_its_engine_and_no_other() {
    // A call of the second half of its trial is made once only, under the clock.
    let call = TRIAL_CALLS - 1;
    let comparison = run(Trials::Pairs(5), |engines| engines[1].wrong_at = Some(call));
    assert_eq!(comparison.failure(1), Some(&Failure::Wrong { call }));
    assert!(comparison.trials(1).len() < 5);
    assert_eq!(comparison.failure(0), None);
    assert_eq!(comparison.finding(2).verdict, Verdict::Slower);
}
