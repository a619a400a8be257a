//! Which option of each table is held in memory, so that reads cost least.
//!
//! [`plan`] is a pure function: the same facts and the same budget give the same decisions. It is
//! a multiple-choice knapsack. For each table one option is taken (its sorted index paged or
//! resident, each index mapped or resident); an option asks for bytes of the budget and has a
//! cost a read; the sum of `weight x cost` over all tables is made small.
//!
//! 1. **Rungs.** Of a table's options only those are kept that no other beats in bytes and in
//!    cost, in the order of their bytes. The lower convex hull of them bounds what can be had.
//! 2. **Climb.** Everybody begins on the lowest rung. The step with the greatest `gain / bytes` goes
//!    first. While there is room these are exactly the steps of the hulls; where one does not
//!    fit any more, its table stays a step lower, and smaller steps fill what is left.
//! 3. **Search.** A greedy climb is off by at most one step of one table, which is much where the tables
//!    are few. If the hulls say that more than a thousandth could be gained, the ten tables nearest
//!    to the edge of the budget are searched by branch and bound, within a fixed number of nodes.
//!
//! ```
//! use kiban_formats::FileNo;
//! use kiban_indexes::Residency;
//! use kiban_indexes::planner::{Budget, PlanOption, TableFacts, plan};
//!
//! let options = vec![
//!     PlanOption { format: None, residency: Residency::Mapped, bytes: 0, cost: 900.0 },
//!     PlanOption { format: Some("ph4".into()), residency: Residency::Mapped, bytes: 0, cost: 500.0 },
//!     PlanOption { format: Some("ph4".into()), residency: Residency::Resident, bytes: 4_600_000, cost: 300.0 },
//! ];
//! let table = TableFacts { table: FileNo(12), weight: 1.0, options };
//! let decisions = plan(&[table], Budget { bytes: 3_100_000 });
//! assert_eq!(decisions[0].option, Some(1));
//! assert_eq!(decisions[0].reason, "ph4 mapped: 4.6 MB asked, 3.1 MB left");
//! ```

mod climb;
mod ladder;
mod reason;
mod relaxed;
mod search;

#[cfg(test)]
mod tests;

use kiban_formats::FileNo;

use crate::contract::Residency;
use ladder::{Ladder, Standing};

/// What the planner may spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Bytes, of all tables together. Never passed.
    pub bytes: u64,
}

/// A way to find keys in a table.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanOption {
    /// The index's format; `None`: the table's own sorted index.
    pub format: Option<String>,
    /// Resident, or anything else: through a map, or through cached pages.
    pub residency: Residency,
    /// Bytes that it asks of the budget.
    pub bytes: u64,
    /// What a read costs with it, in any unit that is the same for all; at least 0 and finite, an
    /// option without such a cost is never taken.
    pub cost: f64,
}

/// A table as the planner sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFacts {
    /// The table, by the number of its file.
    pub table: FileNo,
    /// How much a read of it counts: its share of all reads, in any unit. The same for all
    /// tables: none is known to be read more. Below 0 or not finite counts as 0.
    pub weight: f64,
    /// Its options. One should ask for nothing: a table of which the smallest option does not fit
    /// has none.
    pub options: Vec<PlanOption>,
}

/// What is decided for a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Decision {
    /// The table.
    pub table: FileNo,
    /// The option, as an index of [`TableFacts::options`]; `None`: none fits.
    pub option: Option<usize>,
    /// Bytes of the budget that the table takes.
    pub bytes: u64,
    /// Why not a better one, in words and numbers.
    pub reason: String,
}

/// Decides for each table, in their order.
///
/// The bytes of all decisions are never above the budget, and no table could be better off with
/// what is left of it.
pub fn plan(tables: &[TableFacts], budget: Budget) -> Vec<Decision> {
    let ladders: Vec<_> = tables.iter().map(Ladder::new).collect();
    let mut standing = Standing::lowest(ladders.len(), budget.bytes);
    climb::climb(&ladders, &mut standing);
    if search::improve(&ladders, &mut standing) {
        climb::climb(&ladders, &mut standing);
    }
    let decide = |at: usize| {
        let (table, rung) = (&tables[at], standing.rungs[at]);
        let found = &ladders[at].rungs[rung];
        Decision {
            table: table.table,
            option: found.option,
            bytes: found.bytes,
            reason: reason::reason(table, &ladders[at], rung, standing.left),
        }
    };
    (0..tables.len()).map(decide).collect()
}
