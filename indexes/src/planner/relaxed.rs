//! What could be had at best if options could be taken in part: a bound for every plan.

use super::ladder::Ladder;

/// A step of a hull.
#[derive(Clone, Copy, Debug)]
struct HullStep {
    rate: f64,
    bytes: u64,
    gain: f64,
}

/// The steps of some tables' hulls, in the order in which they are taken.
#[derive(Clone, Debug)]
pub(super) struct Relaxed {
    lowest_cost: f64,
    steps: Vec<HullStep>,
}

/// The cheapest fractional plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    /// No plan costs less.
    pub(super) cost: f64,
    /// The rate of the step that did not fit whole; `None`: everything fitted.
    pub(super) edge: Option<f64>,
}

impl Relaxed {
    /// Of these tables.
    pub(super) fn new<'l>(ladders: impl Iterator<Item = &'l Ladder>) -> Self {
        let (mut lowest_cost, mut steps) = (0.0, Vec::new());
        for ladder in ladders {
            lowest_cost += ladder.rungs[0].cost;
            steps.extend(ladder.hull_steps().map(|(from, to)| HullStep {
                rate: from.rate(to),
                bytes: to.bytes - from.bytes,
                gain: from.cost - to.cost,
            }));
        }
        // A table's rates fall, so its steps stay in order.
        steps.sort_by(|a, b| b.rate.total_cmp(&a.rate));
        Self { lowest_cost, steps }
    }

    /// The bound when so many bytes may be taken.
    pub(super) fn bound(&self, mut left: u64) -> Bound {
        let mut cost = self.lowest_cost;
        for step in &self.steps {
            if step.bytes > left {
                return Bound { cost: cost - step.rate * left as f64, edge: Some(step.rate) };
            }
            left -= step.bytes;
            cost -= step.gain;
        }
        Bound { cost, edge: None }
    }
}
