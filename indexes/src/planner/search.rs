//! Branch and bound among the few tables that stand nearest to the edge of the budget.

use super::ladder::{Ladder, Rung, Standing};
use super::relaxed::Relaxed;

/// Tables searched together. The edge of a greedy climb runs through few of them.
const TABLES_MAX: usize = 10;

/// Partial plans looked at: some milliseconds at most, however the options lie.
const NODES_MAX: u32 = 20_000;

/// What could be gained at best must be more than this part of the cost, or it is not looked for.
const GAIN_MIN: f64 = 1e-3;

/// Looks for a better plan; whether there is one.
pub(super) fn improve(ladders: &[Ladder], standing: &mut Standing) -> bool {
    let spent = |table: usize| ladders[table].rungs[standing.rungs[table]].bytes;
    let bytes: u64 = standing.left + (0..ladders.len()).map(spent).sum::<u64>();
    let bound = Relaxed::new(ladders.iter()).bound(bytes);
    let Some(edge) = bound.edge else { return false };
    let cost = standing.cost(ladders);
    if bound.cost >= cost * (1.0 - GAIN_MIN) {
        return false;
    }
    let tables = nearest(ladders, edge);
    let left = standing.left + tables.iter().map(|&table| spent(table)).sum::<u64>();
    let mut search = Search::new(tables.iter().map(|&table| &ladders[table]).collect());
    search.best_cost = tables.iter().map(|&table| ladders[table].rungs[standing.rungs[table]].cost).sum();
    search.visit(left, 0.0);
    let Some((rungs, left)) = search.best else { return false };
    for (&table, rung) in tables.iter().zip(rungs) {
        standing.rungs[table] = rung;
    }
    standing.left = left;
    true
}

/// The tables of which a step's rate is nearest to the rate at the edge, by its ratio.
fn nearest(ladders: &[Ladder], edge: f64) -> Vec<usize> {
    let distance = |rate: f64| (rate / edge).ln().abs();
    let of_table = |ladder: &Ladder| {
        ladder.hull_steps().map(|(from, to)| distance(from.rate(to))).min_by(f64::total_cmp)
    };
    let with_steps = ladders.iter().enumerate().filter_map(|(at, ladder)| Some((of_table(ladder)?, at)));
    let mut tables: Vec<_> = with_steps.collect();
    tables.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    tables.into_iter().take(TABLES_MAX).map(|(_, at)| at).collect()
}

struct Search<'l> {
    ladders: Vec<&'l Ladder>,
    /// The bound of the tables from each one on.
    rest: Vec<Relaxed>,
    /// Rungs of the tables decided so far.
    rungs: Vec<usize>,
    best_cost: f64,
    /// Rungs and bytes left of the best plan found.
    best: Option<(Vec<usize>, u64)>,
    nodes: u32,
}

impl<'l> Search<'l> {
    fn new(ladders: Vec<&'l Ladder>) -> Self {
        let rest = (0..=ladders.len()).map(|from| Relaxed::new(ladders[from..].iter().copied())).collect();
        Self { ladders, rest, rungs: Vec::new(), best_cost: f64::INFINITY, best: None, nodes: 0 }
    }

    /// Decides the next table, the most promising rung first.
    fn visit(&mut self, left: u64, cost: f64) {
        let at = self.rungs.len();
        if at == self.ladders.len() {
            if cost < self.best_cost {
                self.best_cost = cost;
                self.best = Some((self.rungs.clone(), left));
            }
            return;
        }
        let fitting = self.ladders[at].rungs.iter().enumerate().filter(|(_, rung)| rung.bytes <= left);
        let with_bound = |(to, rung): (usize, &Rung)| {
            let bound = cost + rung.cost + self.rest[at + 1].bound(left - rung.bytes).cost;
            (bound, to, *rung)
        };
        let mut choices: Vec<_> = fitting.map(with_bound).collect();
        choices.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (bound, to, rung) in choices {
            self.nodes += 1;
            if bound >= self.best_cost * (1.0 - GAIN_MIN) || self.nodes > NODES_MAX {
                return;
            }
            self.rungs.push(to);
            self.visit(left - rung.bytes, cost + rung.cost);
            self.rungs.pop();
        }
    }
}
