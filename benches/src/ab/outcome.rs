//! What came of a stage: a cell for each engine, and what was wrong.

use super::options::{PAIRS_MIN, Trials};
use crate::compare::{Comparison, Sample};
use crate::machine::{self, Spent};
use crate::report::{Cell, Status, Verdict};
use crate::trial::Failure;

/// What came of a stage.
#[derive(Debug)]
pub(super) struct StageOutcome {
    /// One an engine, in their order.
    pub(super) cells: Vec<Cell>,
    /// Sentences about wrong answers.
    pub(super) wrong: Vec<String>,
    /// Calls of a trial as wanted and as they were, if the time box shortened it.
    pub(super) shortened: Option<(usize, usize)>,
    /// Whether A/A pairs are alike.
    pub(super) control_holds: bool,
    /// What the machine did meanwhile.
    pub(super) spent: Spent,
}

/// A stage that has run.
#[derive(Debug)]
pub(super) struct Measured<'a, T> {
    pub(super) comparison: Comparison<T>,
    /// What every cell is known to be: input, setting, stage.
    pub(super) known: &'a Cell,
    /// Pairs of trials as asked for.
    pub(super) trials: Trials,
    /// By engine, how many answers were compared in full.
    pub(super) checked: Vec<Option<u64>>,
    /// Calls of a trial, as wanted and as they were.
    pub(super) calls: (usize, usize),
    pub(super) spent: Spent,
}

impl StageOutcome {
    /// Makes the cells. `tell` says of an engine's failure whether it is a wrong answer, and
    /// gives a sentence about it.
    pub(super) fn new<T: Sample>(
        measured: Measured<'_, T>,
        mut tell: impl FnMut(usize, &Failure) -> (bool, String),
    ) -> Self {
        let (wanted, calls) = measured.calls;
        let mut outcome = Self {
            cells: Vec::new(),
            wrong: Vec::new(),
            shortened: (calls < wanted).then_some((wanted, calls)),
            control_holds: measured.comparison.control_holds(),
            spent: measured.spent,
        };
        for at in 0..measured.comparison.names().len() {
            let mut cell = measured.cell(at);
            if let Some(failure) = measured.comparison.failure(at) {
                let (is_wrong, sentence) = tell(at, failure);
                cell.status = Status::Failed;
                cell.error = Some(sentence.clone());
                cell.verdict = Verdict::None;
                if is_wrong {
                    outcome
                        .wrong
                        .push(format!("{} {} {}: {sentence}", cell.shape, cell.stage, cell.accessor));
                }
            }
            outcome.cells.push(cell);
        }
        outcome
    }
}

impl<T: Sample> Measured<'_, T> {
    fn cell(&self, at: usize) -> Cell {
        let (finding, trials) = (self.comparison.finding(at), self.comparison.trials(at));
        let mut cell = Cell {
            accessor: self.comparison.names()[at].clone(),
            trials: trials.iter().map(T::row).collect(),
            ratio_to: finding.ratio_to,
            noise_floor: finding.noise_floor,
            min_detectable: finding.min_detectable,
            verdict: finding.verdict,
            peak_rss_bytes: machine::peak_rss_bytes(),
            checked: self.checked[at],
            ..self.known.clone()
        };
        if self.comparison.is_interrupted() {
            if trials.len() < PAIRS_MIN as usize {
                cell.verdict = Verdict::None;
            }
            cell.status = Status::Partial;
            cell.error = Some(format!("the run was interrupted after {} pairs", trials.len()));
        } else if let Trials::Pairs(asked) = self.trials
            && trials.len() < asked as usize
        {
            cell.status = Status::Partial;
            cell.error = Some(format!("the time box ended after {} of {asked} pairs", trials.len()));
        }
        cell
    }
}
