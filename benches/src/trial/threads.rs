//! One trial by several threads at once, each with its own part of the calls.

use std::ops::Range;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use super::{Failure, Recorder, Trial, ask, lead_in, ops_again};
use crate::clock::Clock;
use crate::engine::{Engine, MakeReader};
use crate::machine::Reading;
use crate::plan::Plan;

/// What a trial of several threads does.
#[derive(Clone, Debug)]
pub(crate) struct Shared<'a, C> {
    pub(crate) plan: &'a Plan,
    /// The calls of all threads together.
    pub(crate) calls: Range<usize>,
    pub(crate) clock: &'a C,
    pub(crate) threads: usize,
    /// Calls before the timed ones and some after them without the clock, as in a trial of one thread.
    /// Cold calls have neither: the first would warm, and the last be warm.
    pub(crate) is_warm: bool,
}

/// What one thread did.
struct Part {
    trial: Trial,
    ops_per_s: Option<f64>,
}

impl<C: Clock + Sync> Shared<'_, C> {
    /// Runs the calls. The threads begin together; each has its own reader of the engine.
    pub(crate) fn run(&self, engine: &dyn Engine) -> Result<Trial, Failure> {
        let makers: Vec<MakeReader> = (0..self.threads)
            .map(|_| engine.for_thread())
            .collect::<Result<_, _>>()
            .map_err(Failure::Error)?;
        let (before, pages) = (Reading::now(), engine.pages());
        let gate = Barrier::new(self.threads);
        let began = Instant::now();
        let parts: Vec<Result<Part, Failure>> = thread::scope(|scope| {
            let gate = &gate;
            let begin = |(no, make)| scope.spawn(move || self.part(no, make, gate));
            let running: Vec<_> = makers.into_iter().enumerate().map(begin).collect();
            running.into_iter().map(|part| part.join().unwrap_or_else(|_| Err(panicked()))).collect()
        });
        let elapsed_s = began.elapsed().as_secs_f64();
        let parts: Vec<Part> = parts.into_iter().collect::<Result<_, _>>()?;
        let rates: Option<Vec<f64>> = parts.iter().map(|part| part.ops_per_s).collect();
        let trials = parts.into_iter().map(|part| part.trial);
        let Some(mut trial) = trials.reduce(Trial::join) else {
            return Err(Failure::Error("a trial of no thread".to_owned()));
        };
        trial.of_process(&Reading::now().since(&before), pages, engine.pages());
        trial.ops_per_s = match rates {
            Some(rates) => Some(rates.iter().sum()),
            None => (elapsed_s > 0.0).then(|| trial.ops as f64 / elapsed_s),
        };
        Ok(trial)
    }

    /// Thread `no`. Everyone comes to the gate, also who cannot go on: the others wait there.
    fn part(&self, no: usize, make: MakeReader, gate: &Barrier) -> Result<Part, Failure> {
        let calls = self.calls_of(no);
        let made = make().map_err(Failure::Error).and_then(|mut reader| {
            reader.prepare(self.plan);
            if self.is_warm {
                lead_in(&mut *reader, self.plan, &calls)?;
            }
            Ok(reader)
        });
        gate.wait();
        let asked = made.and_then(|mut reader| {
            let mut recorder = Recorder::begin(None);
            ask(&mut *reader, self.plan, calls.clone(), self.clock, &mut recorder)?;
            Ok((reader, recorder.end(None, self.clock, self.plan.stage.ops_per_call())))
        });
        gate.wait();
        let (mut reader, trial) = asked?;
        let ops_per_s = match self.is_warm {
            true => ops_again(&mut *reader, self.plan, &calls)?,
            false => None,
        };
        Ok(Part { trial, ops_per_s })
    }

    /// The calls of thread `no`: even shares.
    fn calls_of(&self, no: usize) -> Range<usize> {
        let at = |no: usize| self.calls.start + self.calls.len() * no / self.threads;
        at(no)..at(no + 1)
    }
}

fn panicked() -> Failure {
    Failure::Error("a reading thread ended in a panic".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::BestClock;
    use crate::engine::Floor;
    use crate::keys::W1;
    use crate::plan::Stage;

    #[test]
    fn threads_make_every_call_once() {
        let set = W1::new(1_000, 1);
        let plan = Plan::new(&set, Stage::Point, 500, 1);
        let clock = BestClock::new();
        for threads in [1, 3, 4] {
            let shared = Shared { plan: &plan, calls: 20..201, clock: &clock, threads, is_warm: true };
            let parts: Vec<usize> = (0..threads).flat_map(|no| shared.calls_of(no)).collect();
            assert_eq!(parts, (20..201).collect::<Vec<_>>());
            let trial = shared.run(&Floor::new(&set)).unwrap();
            assert_eq!(trial.ops, 181);
            assert!(trial.ops_per_s > Some(0.0) && trial.p50_ns() > 0.0);
        }
    }

    /// An engine whose second reader cannot be made.
    struct Broken;

    impl Engine for Broken {
        fn name(&self) -> &str {
            "broken"
        }

        fn call(&mut self, _: &Plan, _: usize, _: &mut crate::answers::Answers) -> Result<(), String> {
            Err("no call".to_owned())
        }

        fn for_thread(&self) -> Result<MakeReader, String> {
            Ok(Box::new(|| Err("no reader".to_owned())))
        }
    }

    #[test]
    fn a_thread_that_cannot_read_ends_the_trial_with_its_reason() {
        let set = W1::new(1_000, 1);
        let plan = Plan::new(&set, Stage::Point, 500, 1);
        let clock = BestClock::new();
        let shared = Shared { plan: &plan, calls: 0..100, clock: &clock, threads: 4, is_warm: false };
        assert_eq!(shared.run(&Broken).unwrap_err(), Failure::Error("no reader".to_owned()));
    }
}
