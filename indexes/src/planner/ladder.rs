//! A table's options that make sense, in order: each asks for more and costs less.

use super::TableFacts;

/// Costs and weights are kept below this, so that no product or sum of them is infinite.
const NUMBER_MAX: f64 = 1e100;

/// An option, or nothing at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rung {
    /// The option's index in the table's facts; `None`: no option.
    pub(super) option: Option<usize>,
    /// Bytes of the budget.
    pub(super) bytes: u64,
    /// Cost times the table's weight.
    pub(super) cost: f64,
}

impl Rung {
    /// What a byte gains on the way from here up to `other`.
    pub(super) fn rate(&self, other: &Self) -> f64 {
        (self.cost - other.cost) / (other.bytes - self.bytes) as f64
    }
}

/// The options of a table that no other beats.
#[derive(Clone, Debug)]
pub(super) struct Ladder {
    /// Bytes rise from 0 and costs fall, both strictly. There is at least one.
    pub(super) rungs: Vec<Rung>,
    /// Those of the lower convex hull: what a byte gains falls from step to step.
    pub(super) hull: Vec<usize>,
}

impl Ladder {
    /// The ladder of a table's options.
    pub(super) fn new(table: &TableFacts) -> Self {
        let weight = if table.weight.is_finite() { table.weight.clamp(0.0, NUMBER_MAX) } else { 0.0 };
        let usable = table.options.iter().enumerate().filter(|(_, it)| it.cost.is_finite() && it.cost >= 0.0);
        let rung = |(at, option): (usize, &super::PlanOption)| Rung {
            option: Some(at),
            bytes: option.bytes,
            cost: option.cost.min(NUMBER_MAX) * weight,
        };
        let mut all: Vec<_> = usable.map(rung).collect();
        let costs = all.iter().map(|rung| rung.cost);
        // No option at all: reckoned at twice the dearest one.
        let none = Rung { option: None, bytes: 0, cost: 2.0 * costs.fold(0.0, f64::max) };
        all.sort_by(|a, b| a.bytes.cmp(&b.bytes).then(a.cost.total_cmp(&b.cost)));
        let mut rungs: Vec<Rung> = Vec::with_capacity(all.len());
        rungs.extend(all.first().is_none_or(|first| first.bytes > 0).then_some(none));
        for rung in all {
            if rungs.last().is_none_or(|last| rung.cost < last.cost) {
                rungs.push(rung);
            }
        }
        let hull = hull(&rungs);
        Self { rungs, hull }
    }

    /// The steps of the hull, each from one of its rungs to the next.
    pub(super) fn hull_steps(&self) -> impl Iterator<Item = (&Rung, &Rung)> {
        self.hull.windows(2).map(|step| (&self.rungs[step[0]], &self.rungs[step[1]]))
    }
}

/// The lower convex hull of rungs: those from which the rates fall.
fn hull(rungs: &[Rung]) -> Vec<usize> {
    let mut hull: Vec<usize> = Vec::with_capacity(rungs.len());
    for (at, rung) in rungs.iter().enumerate() {
        while let [.., before, last] = hull[..] {
            if rungs[before].rate(&rungs[last]) > rungs[last].rate(rung) {
                break;
            }
            hull.pop();
        }
        hull.push(at);
    }
    hull
}

/// Where each table stands, and what is left.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    /// A rung for each table.
    pub(super) rungs: Vec<usize>,
    /// Bytes of the budget that nobody takes.
    pub(super) left: u64,
}

impl Standing {
    /// Every table on its lowest rung, which asks for nothing.
    pub(super) fn lowest(tables: usize, budget_bytes: u64) -> Self {
        Self { rungs: vec![0; tables], left: budget_bytes }
    }

    /// The cost of all tables together.
    pub(super) fn cost(&self, ladders: &[Ladder]) -> f64 {
        ladders.iter().zip(&self.rungs).map(|(ladder, &rung)| ladder.rungs[rung].cost).sum()
    }
}
