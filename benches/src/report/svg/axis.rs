//! From values to places, and the ticks between.

/// Most ticks of an axis.
const TICKS_MAX: usize = 7;
/// Least distance of ticks beside each other, and of ticks above each other.
const GAP_BESIDE: f64 = 46.0;
const GAP_ABOVE: f64 = 18.0;
/// Fewest ticks of a logarithmic axis at powers of ten, or two and five times them.
const TICKS_MIN: usize = 3;
/// From this many of them on, powers of ten alone are enough.
const FINE_MAX: usize = 10;

/// How values are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum Scale {
    /// Equal steps are equally long.
    Linear,
    /// Equal ratios are equally long; values above 0 only.
    Log,
}

/// One direction of a plot.
#[derive(Clone, Debug)]
pub(in crate::report) struct Axis {
    scale: Scale,
    /// Least and greatest value.
    from: f64,
    to: f64,
    /// Their places.
    ends: (f64, f64),
    label: fn(f64) -> String,
    gap: f64,
}

impl Axis {
    /// Covers the values that can be shown and some room around them, from one place to the other.
    pub(in crate::report) fn new(
        scale: Scale,
        values: impl IntoIterator<Item = f64>,
        ends: (f64, f64),
        label: fn(f64) -> String,
    ) -> Self {
        let can_show = |value: &f64| match scale {
            Scale::Linear => value.abs() <= 1e15,
            Scale::Log => (1e-15..=1e15).contains(value),
        };
        let values: Vec<f64> = values.into_iter().filter(can_show).collect();
        let least = values.iter().copied().reduce(f64::min).unwrap_or(1.0);
        let most = values.iter().copied().reduce(f64::max).unwrap_or(1.0);
        let (from, to) = match scale {
            Scale::Log => {
                let room = (most / least).powf(0.06).max(1.05);
                (least / room, most * room)
            }
            Scale::Linear => {
                let room = if most > least { (most - least) * 0.06 } else { most.abs().max(1.0) * 0.1 };
                (if least >= 0.0 { (least - room).max(0.0) } else { least - room }, most + room)
            }
        };
        Self { scale, from, to, ends, label, gap: GAP_BESIDE }
    }

    /// The same axis over exactly these values.
    pub(in crate::report) fn exactly(self, from: f64, to: f64) -> Self {
        Self { from, to, ..self }
    }

    /// The same axis for labels that stand above each other.
    pub(in crate::report) fn upright(self) -> Self {
        Self { gap: GAP_ABOVE, ..self }
    }

    /// The place of a value; of one outside, the nearer end.
    pub(in crate::report) fn at(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log => (value / self.from).ln() / (self.to / self.from).ln(),
        };
        let part = if part.is_nan() { 0.0 } else { part.clamp(0.0, 1.0) };
        self.ends.0 + part * (self.ends.1 - self.ends.0)
    }

    /// The places of the least and the greatest value.
    pub(in crate::report) fn ends(&self) -> (f64, f64) {
        self.ends
    }

    /// Some round values on the axis, with their labels.
    pub(in crate::report) fn ticks(&self) -> Vec<(f64, String)> {
        let values = match self.scale {
            Scale::Linear => self.even_ticks(),
            Scale::Log => self.log_ticks(),
        };
        let mut ticks: Vec<(f64, String)> = Vec::new();
        for value in values {
            let is_clear = |last: &(f64, String)| (self.at(value) - self.at(last.0)).abs() >= self.gap;
            if ticks.last().is_none_or(is_clear) {
                ticks.push((value, (self.label)(value)));
            }
        }
        ticks
    }

    /// Multiples of 1, 2 or 5 times a power of ten.
    fn even_ticks(&self) -> Vec<f64> {
        let rough = (self.to - self.from) / TICKS_MAX as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|part| part * power).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.from / step).ceil();
        let values = (0..=TICKS_MAX).map(|no| (first + no as f64) * step);
        values.filter(|value| *value <= self.to).collect()
    }

    /// Powers of ten, with two and five times them if there is room; of a short axis, even steps.
    fn log_ticks(&self) -> Vec<f64> {
        let (first, last) = (self.from.log10().floor() as i32, self.to.log10().ceil() as i32);
        let among = |parts: &[f64], every: usize| -> Vec<f64> {
            let powers = (first..=last).step_by(every);
            let all = powers.flat_map(|power| parts.iter().map(move |part| part * 10f64.powi(power)));
            all.filter(|value| (self.from..=self.to).contains(value)).collect()
        };
        let fine = among(&[1.0, 2.0, 5.0], 1);
        match fine.len() {
            0..TICKS_MIN => self.even_ticks(),
            TICKS_MIN..FINE_MAX => fine,
            _ => match among(&[1.0], 1) {
                powers if powers.len() <= TICKS_MAX => powers,
                powers => among(&[1.0], powers.len().div_ceil(TICKS_MAX)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::number::digits;

    fn labels(scale: Scale, values: &[f64]) -> Vec<String> {
        let axis = Axis::new(scale, values.iter().copied(), (0.0, 400.0), digits);
        axis.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn values_stand_in_order_between_the_ends() {
        for scale in [Scale::Linear, Scale::Log] {
            let axis = Axis::new(scale, [1.0, 10.0], (100.0, 0.0), digits);
            let places = [1.0, 2.0, 10.0].map(|value| axis.at(value));
            assert!(places.is_sorted_by(|a, b| a > b), "{places:?}");
            assert_eq!([axis.at(-1e300), axis.at(1e300)], [100.0, 0.0]);
        }
        let log = Axis::new(Scale::Log, [1.0, 100.0], (0.0, 100.0), digits);
        assert!((log.at(10.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(labels(Scale::Log, &[0.1, 10.0]), ["0.1", "0.2", "0.5", "1", "2", "5", "10"]);
        assert_eq!(labels(Scale::Log, &[1.0, 1e6]), ["1", "10", "100", "1000", "10000", "100000", "1000000"]);
        assert_eq!(labels(Scale::Log, &[0.96, 1.05]), ["0.95", "1", "1.05", "1.1"]);
        assert_eq!(labels(Scale::Linear, &[0.0, 1.0]), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
    }

    #[test]
    fn labels_of_ticks_do_not_touch() {
        for decades in 1..40 {
            for scale in [Scale::Linear, Scale::Log] {
                let axis = Axis::new(scale, [7.0, 7.0 * 1.5f64.powi(decades)], (0.0, 310.0), digits);
                let places: Vec<f64> = axis.ticks().iter().map(|(value, _)| axis.at(*value)).collect();
                assert!(
                    places.windows(2).all(|pair| pair[1] - pair[0] >= GAP_BESIDE),
                    "{decades} {places:?}"
                );
                assert!(places.len() >= 2, "{decades} {places:?}");
            }
        }
    }

    #[test]
    fn numbers_that_no_plot_can_show_do_no_harm() {
        for values in
            [&[][..], &[0.0], &[f64::NAN, f64::INFINITY], &[-5.0, 1e308], &[1e-300, 1e300], &[3.0, 3.0]]
        {
            for scale in [Scale::Linear, Scale::Log] {
                let axis = Axis::new(scale, values.iter().copied(), (0.0, 100.0), digits);
                assert!((1..=2 * TICKS_MAX).contains(&axis.ticks().len()), "{scale:?} {values:?} {axis:?}");
                assert!(values.iter().all(|value| (0.0..=100.0).contains(&axis.at(*value))));
            }
        }
    }
}
