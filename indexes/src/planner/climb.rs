//! Step by step upwards, the step that gains most a byte first, while anything fits.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::ladder::{Ladder, Standing};

/// A step of a table. The greatest is the one to take first.
#[derive(Clone, Copy, Debug)]
struct Step {
    rate: f64,
    table: usize,
    to: usize,
    bytes: u64,
}

impl Ord for Step {
    fn cmp(&self, other: &Self) -> Ordering {
        // Of equal rates the first table's, so that a plan depends on nothing else.
        self.rate.total_cmp(&other.rate).then(other.table.cmp(&self.table)).then(self.to.cmp(&other.to))
    }
}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Step {}

/// Climbs until no table's next better option fits.
pub(super) fn climb(ladders: &[Ladder], standing: &mut Standing) {
    let first = |table| best_step(ladders, standing, table);
    let mut steps: BinaryHeap<_> = (0..ladders.len()).filter_map(first).collect();
    while let Some(step) = steps.pop() {
        // Room only shrinks: a step that fitted when it was found may not fit now, and then its
        // table's best is another.
        if step.bytes <= standing.left {
            standing.left -= step.bytes;
            standing.rungs[step.table] = step.to;
        }
        steps.extend(best_step(ladders, standing, step.table));
    }
}

/// The step of a table that fits and gains most a byte. With room for all it is the hull's next.
fn best_step(ladders: &[Ladder], standing: &Standing, table: usize) -> Option<Step> {
    let (rungs, at) = (&ladders[table].rungs, standing.rungs[table]);
    let steps = (at + 1..rungs.len()).map(|to| Step {
        rate: rungs[at].rate(&rungs[to]),
        table,
        to,
        bytes: rungs[to].bytes - rungs[at].bytes,
    });
    steps.take_while(|step| step.bytes <= standing.left).max()
}
