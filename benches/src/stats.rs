//! What paired trials tell: the median of their ratios, how sure it is, and the verdict.
//!
//! Ratios are compared as logarithms, so that twice as fast and twice as slow are the same
//! distance from equal. The interval is a percentile bootstrap of the median (Efron, Tibshirani,
//! "An Introduction to the Bootstrap", 1993, chapter 13), seeded.

use crate::report::{Spread, Verdict};
use crate::rng::SplitMix;

const RESAMPLES: usize = 2_000;
/// Share of resampled medians that an interval leaves out at each end.
const TAIL: f64 = 0.025;
/// A cell that could have found a difference this small, and found none, says `same`.
pub(crate) const DETECTABLE_AIM: f64 = 0.05;

impl Spread {
    /// Of these ratios; `None` if there is none or one is not a positive number.
    pub(crate) fn of(ratios: &[f64], seed: u64) -> Option<Self> {
        if ratios.is_empty() || !ratios.iter().all(|ratio| ratio.is_finite() && *ratio > 0.0) {
            return None;
        }
        let mut logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        logs.sort_unstable_by(f64::total_cmp);
        let (low, high) = bootstrap(&logs, seed);
        Some(Self {
            median: median(&logs).exp(),
            min: logs[0].exp(),
            max: logs[logs.len() - 1].exp(),
            low: low.exp(),
            high: high.exp(),
        })
    }

    /// How far from equal the interval reaches, as a ratio - 1. Of A/A pairs: the noise floor.
    pub(crate) fn reach(&self) -> f64 {
        self.low.ln().abs().max(self.high.ln().abs()).exp_m1()
    }

    /// Half of the interval's width, as a ratio - 1.
    fn half_width(&self) -> f64 {
        ((self.high.ln() - self.low.ln()) / 2.0).exp_m1()
    }

    /// The smallest difference that could have been found: one whose whole interval stands
    /// outside the noise.
    pub(crate) fn min_detectable(&self, noise_floor: f64) -> f64 {
        (self.half_width().ln_1p() + noise_floor.ln_1p()).exp_m1()
    }

    /// The verdict beside this noise floor: a difference if the whole interval stands outside.
    pub(crate) fn verdict(&self, noise_floor: f64) -> Verdict {
        let noise = noise_floor.ln_1p();
        let is_inside = self.median.ln().abs() <= noise;
        if self.high.ln() < -noise {
            Verdict::Faster
        } else if self.low.ln() > noise {
            Verdict::Slower
        } else if is_inside && self.min_detectable(noise_floor) <= DETECTABLE_AIM {
            Verdict::Same
        } else {
            Verdict::None
        }
    }
}

/// The interval of the median of sorted `logs`.
fn bootstrap(logs: &[f64], seed: u64) -> (f64, f64) {
    let mut draw = SplitMix::part(seed, logs.len() as u64);
    let mut sample = vec![0.0; logs.len()];
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            sample.fill_with(|| logs[draw.below(logs.len())]);
            sample.sort_unstable_by(f64::total_cmp);
            median(&sample)
        })
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    let tail = (RESAMPLES as f64 * TAIL) as usize;
    (medians[tail], medians[RESAMPLES - 1 - tail])
}

/// The median of sorted numbers, at least one.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratios(ratios: &[f64]) -> Spread {
        Spread::of(ratios, 1).unwrap()
    }

    #[test]
    fn the_median_stands_between_min_and_max_inside_its_interval() {
        let found = ratios(&[1.3, 1.1, 1.2, 1.25, 1.15]);
        assert!((found.median - 1.2).abs() < 1e-9);
        assert!((found.min - 1.1).abs() < 1e-9 && (found.max - 1.3).abs() < 1e-9);
        assert!(found.min <= found.low && found.low <= found.median);
        assert!(found.median <= found.high && found.high <= found.max);
    }

    #[test]
    fn more_pairs_make_the_interval_narrower() {
        let noisy = |pairs: usize| {
            let mut draw = SplitMix::new(9);
            let all: Vec<f64> = (0..pairs).map(|_| 0.9 + draw.below(200) as f64 / 1_000.0).collect();
            ratios(&all).reach()
        };
        assert!(noisy(200) < noisy(5) / 2.0, "{} {}", noisy(200), noisy(5));
    }

    #[test]
    fn twice_as_fast_and_twice_as_slow_reach_equally_far() {
        let (fast, slow) = (ratios(&[0.5; 5]).reach(), ratios(&[2.0; 5]).reach());
        assert!((fast - 1.0).abs() < 1e-9 && (slow - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_difference_above_the_floor_has_a_verdict() {
        assert_eq!(ratios(&[1.24, 1.25, 1.26, 1.25, 1.27]).verdict(0.02), Verdict::Slower);
        assert_eq!(ratios(&[0.80, 0.81, 0.79, 0.80, 0.80]).verdict(0.02), Verdict::Faster);
    }

    #[test]
    fn no_verdict_inside_the_floor() {
        let above_by_ten = ratios(&[1.10, 1.11, 1.09, 1.10, 1.10]);
        assert_eq!(above_by_ten.verdict(0.12), Verdict::None);
        assert_eq!(above_by_ten.verdict(0.02), Verdict::Slower);
        assert_eq!(ratios(&[1.01, 1.0, 0.99, 1.0, 1.01]).verdict(0.02), Verdict::Same);
        assert_eq!(ratios(&[1.01, 1.0, 0.99, 1.0, 1.01]).verdict(0.2), Verdict::None);
    }

    #[test]
    fn an_interval_around_equal_has_no_verdict() {
        assert_eq!(ratios(&[0.8, 1.3, 1.3, 1.3, 0.7]).verdict(0.02), Verdict::None);
        // The median stands outside the noise, an end of its interval does not.
        assert_eq!(ratios(&[1.01, 1.05, 1.05, 1.05, 1.05]).verdict(0.02), Verdict::None);
    }

    #[test]
    fn what_is_no_ratio_has_no_summary() {
        assert_eq!(Spread::of(&[], 1), None);
        assert_eq!(Spread::of(&[1.0, f64::NAN], 1), None);
        assert_eq!(Spread::of(&[1.0, 0.0], 1), None);
    }
}
