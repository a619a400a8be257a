//! Figures to beat: what other stores have published, the bar for ours, and what a report says.
//!
//! The figures are data, in [`published`]: which cells a bar is for, what is measured, and the
//! bound. A figure is answered once for each setting of a report that it covers, by the accessor
//! it is about.

mod measure;
mod published;

use super::number::grouped;
use super::setting::{Setting, grouped_by};
use super::{Cell, Report, Status};
pub(super) use measure::{Measure, Number};
pub(super) use published::FIGURES;

/// The accessor that answers a figure that is about none by name; where a setting lacks it, the
/// first one there does.
const CHOSEN: &str = "ph4";

/// A row of the table of figures.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) what: &'static str,
    /// What others have published.
    pub(super) published: &'static str,
    /// Empty if the program cannot measure it yet.
    pub(super) bars: &'static [Bar],
}

/// A bound on a number of some cells.
#[derive(Debug)]
pub(super) struct Bar {
    pub(super) cells: Cells,
    pub(super) measure: Measure,
    pub(super) bound: Bound,
    pub(super) aim: Option<f64>,
}

/// The greatest or the least number that meets a bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// Which cells a bar is for; `None` and empty: any.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells {
    pub(super) accessor: Option<&'static str>,
    pub(super) shape: Option<&'static str>,
    pub(super) n: Size,
    pub(super) layout: Option<&'static str>,
    pub(super) cache: Cache,
    pub(super) read: Option<&'static str>,
    pub(super) stage: &'static str,
    pub(super) threads: Threads,
}

/// Numbers of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Any,
    /// This many; a report with another number of them is answered, and says so.
    About(u64),
    AtLeast(u64),
}

/// Cache sizes in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cache {
    Any,
    Only(u64),
    AtLeast(u64),
}

/// Numbers of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Threads {
    Any,
    Only(u32),
}

impl Threads {
    fn fit(self, threads: u32) -> bool {
        match self {
            Self::Any => true,
            Self::Only(only) => threads == only,
        }
    }
}

/// What a report says of a bar in one setting.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    pub(super) figure: &'static Figure,
    pub(super) bar: &'static Bar,
    /// The cell that answers.
    pub(super) cell: &'a Cell,
    pub(super) outcome: Outcome,
}

/// Whether a bar is met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outcome {
    Met(Number),
    Missed(Number),
    /// The cell failed, or lacks the number.
    Unknown,
}

impl Report {
    /// The answers to all figures that the report covers, in the table's order.
    pub(super) fn answers(&self) -> Vec<Answer<'_>> {
        let bars = FIGURES.iter().flat_map(|figure| figure.bars.iter().map(move |bar| (figure, bar)));
        bars.flat_map(|(figure, bar)| self.answers_to(figure, bar)).collect()
    }

    /// The figures that it does not cover.
    pub(super) fn uncovered(&self) -> Vec<&'static Figure> {
        let answers = self.answers();
        let is_covered = |figure: &&Figure| answers.iter().any(|answer| std::ptr::eq(answer.figure, *figure));
        FIGURES.iter().filter(|figure| !is_covered(figure)).collect()
    }

    fn answers_to<'a>(&'a self, figure: &'static Figure, bar: &'static Bar) -> Vec<Answer<'a>> {
        let fit = self.cells.iter().filter(|cell| bar.cells.fit(cell) && bar.measure.is_of(self, cell));
        let setting = |cell| match (bar.measure.is_of_files(), Setting::of(cell)) {
            // Files are the same however they are read.
            (true, setting) => Setting { cache_mib: None, read: None, ..setting },
            (false, setting) => setting,
        };
        let answer = |(_, cells): (_, Vec<&'a Cell>)| {
            let chosen = cells.iter().find(|cell| cell.accessor == CHOSEN);
            let cell = *chosen.or(cells.first())?;
            let outcome = match bar.measure.number(self, cell) {
                Some(number) if cell.status != Status::Failed => bar.bound.judge(number),
                _ => Outcome::Unknown,
            };
            Some(Answer { figure, bar, cell, outcome })
        };
        grouped_by(fit, setting).into_iter().filter_map(answer).collect()
    }
}

impl Cells {
    fn fit(&self, cell: &Cell) -> bool {
        let is_asked = |asked: Option<&str>, is: Option<&str>| asked.is_none() || asked == is;
        let has_cache = match self.cache {
            Cache::Any => true,
            Cache::Only(mib) => cell.cache_mib == Some(mib),
            Cache::AtLeast(mib) => cell.cache_mib.is_none_or(|own| own >= mib),
        };
        let has_size = !matches!(self.n, Size::AtLeast(n) if cell.n < n);
        cell.is_ours()
            && has_size
            && is_asked(self.accessor, Some(&cell.accessor))
            && is_asked(self.shape, Some(&cell.shape))
            && is_asked(self.layout, Some(&cell.layout))
            && is_asked(self.read, cell.read.as_deref())
            && has_cache
            && cell.stage == self.stage
            // Bars are about reads of which the system was told that they are at random.
            && cell.advice.as_deref() != Some("default")
            && self.threads.fit(cell.threads)
    }
}

impl Bound {
    fn judge(self, number: Number) -> Outcome {
        if self.holds(number.value) { Outcome::Met(number) } else { Outcome::Missed(number) }
    }

    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
        }
    }
}

impl Answer<'_> {
    /// What is measured, in words.
    pub(super) fn measure(&self) -> String {
        self.bar.measure.name()
    }

    /// The bar in words.
    pub(super) fn bar(&self) -> String {
        let show = |value| self.bar.measure.show_bound(value);
        let bound = match self.bar.bound {
            Bound::AtMost(most) => format!("\u{2264} {}", show(most)),
            Bound::AtLeast(least) => format!("\u{2265} {}", show(least)),
        };
        self.bar.aim.map_or(bound.clone(), |aim| format!("{bound}, aim {}", show(aim)))
    }

    /// Our number and its interval in words.
    pub(super) fn ours(&self) -> Option<(String, Option<String>)> {
        let (Outcome::Met(number) | Outcome::Missed(number)) = self.outcome else { return None };
        let show = |value| self.bar.measure.show(value);
        let interval = number.interval.map(|(low, high)| format!("{} to {}", show(low), show(high)));
        Some((show(number.value), interval))
    }

    /// Whether the bar is met, in words, and how sure that is.
    pub(super) fn verdict(&self) -> String {
        let (Outcome::Met(number) | Outcome::Missed(number)) = self.outcome else {
            return match self.cell.status {
                Status::Failed => "no answer: FAILED".to_owned(),
                _ => "no answer: a number is missing, or the other one FAILED".to_owned(),
            };
        };
        let is_met = matches!(self.outcome, Outcome::Met(_));
        let hint = if self.other_size().is_some() { "hint: " } else { "" };
        let mut verdict = format!("{hint}{}", if is_met { "met" } else { "not met" });
        let holds = |value| self.bar.bound.holds(value) == is_met;
        if number.interval.is_some_and(|(low, high)| !holds(low) || !holds(high)) {
            verdict.push_str(", but the interval holds the bar");
        }
        if self.cell.status == Status::Partial {
            verdict.push_str(", from a partial cell");
        }
        verdict
    }

    /// The figure's records, if the cell has another number of them.
    pub(super) fn other_size(&self) -> Option<u64> {
        match self.bar.cells.n {
            Size::About(n) if n != self.cell.n => Some(n),
            _ => None,
        }
    }

    /// What the cell was measured on.
    pub(super) fn setting(&self) -> String {
        let setting = Setting::of(self.cell).name();
        self.other_size()
            .map_or(setting.clone(), |n| format!("{setting} (the figure is of {} records)", grouped(n)))
    }

    /// All of it in a sentence.
    pub(super) fn sentence(&self) -> String {
        let ours = match self.ours() {
            Some((ours, Some(interval))) => format!("{ours} [{interval}]"),
            Some((ours, None)) => ours,
            None => "unknown".to_owned(),
        };
        format!(
            "figure: {}: {}: {} of {}: {ours}, bar {}: {} (published: {})",
            self.figure.what,
            self.setting(),
            self.measure(),
            self.cell.accessor,
            self.bar(),
            self.verdict(),
            self.figure.published,
        )
    }
}

#[cfg(test)]
mod tests;
