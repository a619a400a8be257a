//! One stage on one input: warm, check every answer, size the trials, compare, make the cells.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::options::Trials;
use super::outcome::{Measured, StageOutcome};
use crate::answers::{Answer, Answers};
use crate::clock::BestClock;
use crate::compare::{Effort, Readers, Work, compare};
use crate::engine::Engine;
use crate::keys::KeySet;
use crate::machine::Reading;
use crate::plan::{Plan, Stage};
use crate::report::Cell;
use crate::trial::{Failure, LEAD_IN_PART, THROUGHPUT_PART, check_used};

/// Bytes of a key or value that a message shows.
const SHOWN_BYTES: usize = 48;
/// One in this many calls is timed to size the trials.
const SIZING_PART: usize = 50;
/// A trial makes one in this many calls of the plan: many short trials follow the machine's
/// changes more closely than few long ones.
const TRIALS_IN_PLAN: usize = 4;

/// What every stage is run with.
#[derive(Debug)]
pub(super) struct Rules<'a> {
    pub(super) trials: Trials,
    pub(super) seed: u64,
    pub(super) clock: &'a BestClock,
    /// This stage's share of the time box.
    pub(super) time: Duration,
    pub(super) stop: Option<&'a AtomicBool>,
}

impl Rules<'_> {
    /// How long to go on from now.
    pub(super) fn effort(&self) -> Effort<'_> {
        Effort { trials: self.trials, until: Instant::now() + self.time, seed: self.seed, stop: self.stop }
    }
}

/// A stage of reads.
#[derive(Debug)]
pub(super) struct StageRun<'a> {
    pub(super) stage: Stage,
    pub(super) rules: Rules<'a>,
}

impl StageRun<'_> {
    /// Runs the stage; the first engine is the baseline. `known` is what is known before.
    pub(super) fn run(
        &self,
        engines: &mut [&mut dyn Engine],
        set: &dyn KeySet,
        known: &Cell,
    ) -> StageOutcome {
        let plan = Plan::new(set, self.stage, self.stage.calls(set.len()), self.rules.seed);
        let (mut checked, mut failures) = (Vec::new(), Vec::new());
        for engine in engines.iter_mut() {
            let result = match engine.unready() {
                Some(problem) => Err(Failure::Error(problem)),
                None => check_used(*engine, &plan, set),
            };
            checked.push(result.as_ref().ok().copied());
            failures.push(result.err());
        }
        let (wanted, trial_calls) = self.trial_calls(engines, &failures, &plan);
        let effort = self.rules.effort();
        let before = Reading::now();
        let threads = known.threads as usize;
        let work = Work { plan: &plan, trial_calls, clock: self.rules.clock, threads };
        let comparison = compare(&mut Readers::new(engines, work), failures, effort);
        let spent = Reading::now().since(&before);
        let known = Cell { stage: self.stage.name().to_owned(), ..known.clone() };
        let measured = Measured {
            comparison,
            known: &known,
            trials: self.rules.trials,
            checked,
            calls: (wanted, trial_calls),
            spent,
        };
        StageOutcome::new(measured, |at, failure| describe(engines[at], &plan, set, failure))
    }

    /// Calls of one trial: a part of the plan, and as many of them as let the fewest pairs fit
    /// into the time.
    fn trial_calls(
        &self,
        engines: &mut [&mut dyn Engine],
        failures: &[Option<Failure>],
        plan: &Plan,
    ) -> (usize, usize) {
        let sizing_calls = plan.len().div_ceil(SIZING_PART);
        let mut pair = Duration::ZERO;
        for (at, engine) in engines.iter_mut().enumerate().filter(|(at, _)| failures[*at].is_none()) {
            // The baseline runs four times, and twice the next one comes in between.
            let runs_in_pair = [4, 3].get(at).copied().unwrap_or(1);
            pair += sizing_time(*engine, plan, sizing_calls) * runs_in_pair;
        }
        let timed_part = 1.0 + 1.0 / THROUGHPUT_PART as f64 + 1.0 / LEAD_IN_PART as f64;
        let (pairs, _) = self.rules.trials.bounds();
        let call_s = pair.as_secs_f64() * timed_part * f64::from(pairs) / sizing_calls as f64;
        let wanted = plan.len().div_ceil(TRIALS_IN_PLAN);
        let in_time = (self.rules.time.as_secs_f64() / call_s) as usize;
        (wanted, in_time.max(self.stage.trial_calls_min()).min(wanted))
    }
}

/// How long the first calls of a plan take. A failure shows in the trials.
fn sizing_time(engine: &mut dyn Engine, plan: &Plan, calls: usize) -> Duration {
    engine.prepare(plan);
    let mut answers = Answers::default();
    let began = Instant::now();
    for call in 0..calls {
        answers.clear();
        if engine.call(plan, call, &mut answers).is_err() {
            break;
        }
    }
    began.elapsed()
}

/// Whether a failure is a wrong answer, and a sentence about it.
pub(super) fn describe(
    engine: &mut dyn Engine,
    plan: &Plan,
    set: &dyn KeySet,
    failure: &Failure,
) -> (bool, String) {
    let call = match failure {
        Failure::Error(error) => return (false, error.clone()),
        Failure::Told(sentence) => return (true, sentence.clone()),
        Failure::Wrong { call } => *call,
    };
    let (mut found, mut right) = (Answers::default(), Answers::default());
    plan.right_answers(set, call, &mut right);
    engine.prepare(plan);
    if let Err(error) = engine.call(plan, call, &mut found) {
        return (true, format!("wrong answer to call {call}, then: {error}"));
    }
    let differs = |at: &usize| right.iter().nth(*at) != found.iter().nth(*at);
    let Some(at) = (0..right.len().max(found.len())).find(differs) else {
        return (true, format!("wrong answer to call {call}, which was right when asked again"));
    };
    let keys = plan.keys(call);
    let key = shown(&keys[at.min(keys.len() - 1).min(plan.stage.ops_per_call() - 1)]);
    let (right, found) = (shown_answer(right.iter().nth(at)), shown_answer(found.iter().nth(at)));
    (true, format!("wrong answer: key {key}, answer {at}: expected {right}, got {found}"))
}

/// The same where the engine cannot be asked again.
pub(super) fn describe_unasked(plan: &Plan, set: &dyn KeySet, failure: &Failure) -> (bool, String) {
    match failure {
        Failure::Error(error) => (false, error.clone()),
        Failure::Told(sentence) => (true, sentence.clone()),
        Failure::Wrong { call } => {
            let mut right = Answers::default();
            plan.right_answers(set, *call, &mut right);
            let (key, right) = (shown(&plan.keys(*call)[0]), shown_answer(right.iter().next()));
            (true, format!("wrong answer: key {key}: expected {right}, got another answer"))
        }
    }
}

fn shown_answer(answer: Option<Answer<'_>>) -> String {
    match answer {
        None => "no more".to_owned(),
        Some(Answer::Absent) => "absent".to_owned(),
        Some(Answer::Value(value)) => shown(value),
        Some(Answer::Pair(key, value)) => format!("{} = {}", shown(key), shown(value)),
    }
}

/// Bytes as escaped text, cut.
pub(super) fn shown(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(SHOWN_BYTES)];
    let mut text = format!("\"{}\"", cut.escape_ascii());
    if cut.len() < bytes.len() {
        // Writing to a String cannot fail.
        let _ = write!(text, ".. ({} bytes)", bytes.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Floor;
    use crate::keys::W1;
    use crate::report::{Status, Verdict};

    /// The floor's answers, but for one call.
    struct Liar {
        truth: Floor,
        lies_at: usize,
        says: fn(&mut Answers),
    }

    impl Engine for Liar {
        fn name(&self) -> &str {
            "liar"
        }

        fn prepare(&mut self, plan: &Plan) {
            self.truth.prepare(plan);
        }

        fn call(&mut self, plan: &Plan, call: usize, answers: &mut Answers) -> Result<(), String> {
            if call == self.lies_at {
                (self.says)(answers);
                return Ok(());
            }
            self.truth.call(plan, call, answers)
        }
    }

    fn outcome(stage: Stage, lies_at: usize, says: fn(&mut Answers)) -> StageOutcome {
        let set = W1::new(1_000, 1);
        let (mut floor, mut liar) = (Floor::new(&set), Liar { truth: Floor::new(&set), lies_at, says });
        let time = Duration::from_secs(1);
        let rules = Rules { trials: Trials::Pairs(5), seed: 1, clock: &BestClock::new(), time, stop: None };
        StageRun { stage, rules }.run(&mut [&mut floor, &mut liar], &set, &Cell::of_shape("w1", 1_000))
    }

    #[test]
    fn a_wrong_answer_is_told_with_its_key_and_fails_its_cell_alone() {
        let outcome = outcome(Stage::Miss, 17, |answers| answers.push_value(b"ghost"));
        let [sentence] = &outcome.wrong[..] else { panic!("{:?}", outcome.wrong) };
        assert!(sentence.starts_with("w1 miss liar: wrong answer: key \""), "{sentence}");
        assert!(sentence.ends_with("answer 0: expected absent, got \"ghost\""), "{sentence}");
        assert_eq!((outcome.cells[0].status, outcome.cells[1].status), (Status::Ok, Status::Failed));
        assert_eq!((outcome.cells[1].checked, outcome.cells[1].verdict), (None, Verdict::None));
        assert!(outcome.cells[1].trials.is_empty());
    }

    #[test]
    fn a_short_answer_is_wrong() {
        let outcome = outcome(Stage::Latest, 3, |_| {});
        assert!(outcome.wrong[0].ends_with("got no more"), "{:?}", outcome.wrong);
    }

    #[test]
    fn right_answers_leave_nothing_to_tell() {
        let outcome = outcome(Stage::Multiget, usize::MAX, |_| {});
        assert_eq!(outcome.wrong, Vec::<String>::new());
        assert_eq!(outcome.cells[1].checked, Some(2_000));
        assert!(outcome.cells.iter().all(|cell| cell.trials.len() == 5));
    }
}
