//! The clock of the timed loop: it waits for the work before it to end and lets none of the work
//! after it begin, or short calls would be timed at a part of their cost.

#[cfg(target_arch = "x86_64")]
mod tsc;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Reads of an empty interval that [`Grain::of`] looks at.
const COST_READS: usize = 10_001;

/// A clock that counts ticks.
pub(crate) trait Clock {
    /// Ticks before the work.
    fn start(&self) -> u64;

    /// Ticks after the work.
    fn stop(&self) -> u64;

    /// Ticks in a nanosecond.
    fn ticks_per_ns(&self) -> f64;

    /// Ticks between two readings that can be told apart.
    fn step_ticks(&self) -> u64;
}

/// The system's monotonic clock; its ticks are nanoseconds.
#[derive(Clone, Copy, Debug)]
struct SystemClock(Instant);

impl SystemClock {
    fn now(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The best clock of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BestClock {
    source: Source,
    grain: Grain,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    /// The processor's time stamp counter between fences.
    #[cfg(target_arch = "x86_64")]
    Tsc(tsc::TscClock),
    /// Where there is no such counter, or it does not run evenly.
    System(SystemClock),
}

impl BestClock {
    /// Calibrates the counter against the system's clock for some milliseconds.
    pub(crate) fn new() -> Self {
        let mut clock = Self { source: Source::best(), grain: Grain { cost_ns: 0.0, step_ticks: 1 } };
        clock.grain = Grain::of(&clock);
        clock
    }

    pub(crate) fn name(&self) -> &'static str {
        match self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Tsc(_) => "tsc between fences",
            Source::System(_) => "system monotonic clock",
        }
    }

    /// What it adds to each call it times.
    pub(crate) fn cost_ns(&self) -> f64 {
        self.grain.cost_ns
    }
}

impl Source {
    fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(clock) = tsc::TscClock::calibrate(Duration::from_millis(20)) {
            return Self::Tsc(clock);
        }
        Self::System(SystemClock(Instant::now()))
    }
}

impl Clock for BestClock {
    #[inline(always)]
    fn start(&self) -> u64 {
        match &self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Tsc(clock) => clock.start(),
            Source::System(clock) => clock.now(),
        }
    }

    #[inline(always)]
    fn stop(&self) -> u64 {
        match &self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Tsc(clock) => clock.stop(),
            Source::System(clock) => clock.now(),
        }
    }

    fn ticks_per_ns(&self) -> f64 {
        match &self.source {
            #[cfg(target_arch = "x86_64")]
            Source::Tsc(clock) => clock.ticks_per_ns(),
            Source::System(_) => 1.0,
        }
    }

    fn step_ticks(&self) -> u64 {
        self.grain.step_ticks
    }
}

/// What a clock adds to each call it times, and how finely it tells calls apart.
#[derive(Clone, Copy, Debug)]
struct Grain {
    /// Median length of an empty interval.
    cost_ns: f64,
    /// Ticks between two readings that can be told apart; some processors count in steps of 10 ns.
    step_ticks: u64,
}

impl Grain {
    /// Measures a clock.
    fn of(clock: &impl Clock) -> Self {
        let read = |no| {
            // Waits of many lengths, or readings in step with the clock would miss its least one.
            (0..no % 64).for_each(|turn| _ = black_box(turn));
            (black_box(clock.start()), black_box(clock.stop()))
        };
        let reads: Vec<(u64, u64)> = (0..COST_READS).map(read).collect();
        let mut costs: Vec<u64> = reads.iter().map(|(start, stop)| stop.saturating_sub(*start)).collect();
        costs.sort_unstable();
        let all: Vec<u64> = reads.into_iter().flat_map(|(start, stop)| [start, stop]).collect();
        Self { cost_ns: costs[COST_READS / 2] as f64 / clock.ticks_per_ns(), step_ticks: step_of(&all) }
    }
}

/// The greatest number that all usual differences of neighbouring readings are multiples of. A
/// difference that is seldom may come from a move to another core.
fn step_of(readings: &[u64]) -> u64 {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    for pair in readings.windows(2) {
        *counts.entry(pair[1].saturating_sub(pair[0])).or_default() += 1;
    }
    let usual = counts.into_iter().filter(|(_, count)| *count >= readings.len().div_ceil(1_000));
    usual.map(|(difference, _)| difference).fold(0, greatest_common_divisor).max(1)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_clock_agrees_with_the_system_clock() {
        let clock = BestClock::new();
        let (began, start) = (Instant::now(), clock.start());
        std::thread::sleep(Duration::from_millis(50));
        let (ticks, elapsed) = (clock.stop() - start, began.elapsed());
        let ratio = ticks as f64 / clock.ticks_per_ns() / elapsed.as_nanos() as f64;
        assert!((0.9..1.1).contains(&ratio), "{} runs at {ratio} of the system clock", clock.name());
    }

    #[test]
    fn the_step_is_found_where_reading_takes_longer_than_a_step() {
        let readings = |steps: &[u64]| -> Vec<u64> {
            let steps = steps.iter().cycle().take(3_000);
            steps.scan(7, |now, step| Some(std::mem::replace(now, *now + step))).collect()
        };
        assert_eq!(step_of(&readings(&[52, 78, 52])), 26);
        assert_eq!(step_of(&readings(&[40, 41])), 1);
        let mut moved = readings(&[52, 78]);
        moved.iter_mut().skip(1_500).for_each(|reading| *reading += 5);
        assert_eq!(step_of(&moved), 26);
        assert_eq!(step_of(&[]), 1);
    }

    #[test]
    fn its_cost_and_its_step_are_measured() {
        let clock = BestClock::new();
        assert!(clock.cost_ns().is_finite() && clock.cost_ns() >= 0.0, "{clock:?}");
        assert!(clock.step_ticks() > 0);
    }
}
