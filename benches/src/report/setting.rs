//! Cells in groups: those of one setting, and those of one stage of it.

use super::number::grouped;
use super::{Cell, RatioTo, Report, Status, TrialRow};
use crate::engine::FLOOR;

/// What cells share that were measured on the same records in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting<'a> {
    pub(super) shape: &'a str,
    pub(super) n: u64,
    pub(super) layout: &'a str,
    pub(super) cache_mib: Option<u64>,
    pub(super) read: Option<&'a str>,
    pub(super) advice: Option<&'a str>,
    pub(super) threads: u32,
}

impl<'a> Setting<'a> {
    pub(super) fn of(cell: &'a Cell) -> Self {
        Self {
            shape: &cell.shape,
            n: cell.n,
            layout: &cell.layout,
            cache_mib: cell.cache_mib,
            read: cell.read.as_deref(),
            advice: cell.advice.as_deref(),
            threads: cell.threads,
        }
    }

    /// It in words.
    pub(super) fn name(&self) -> String {
        let mut parts =
            vec![self.shape.to_owned(), format!("{} records", grouped(self.n)), self.layout.to_owned()];
        parts.extend(self.read.map(str::to_owned));
        parts.extend(self.cache_mib.map(|mib| format!("cache {mib} MiB")));
        parts.extend(self.advice.map(|advice| format!("{advice} advice")));
        if self.threads != 1 {
            parts.push(format!("{} threads", self.threads));
        }
        parts.join(", ")
    }
}

/// Cells with what they share.
pub(super) type Group<'a, K> = (K, Vec<&'a Cell>);

/// Cells in groups of the same key, in the order in which the keys come first.
pub(super) fn grouped_by<'a, K: PartialEq>(
    cells: impl IntoIterator<Item = &'a Cell>,
    key: impl Fn(&'a Cell) -> K,
) -> Vec<Group<'a, K>> {
    let mut groups: Vec<Group<'a, K>> = Vec::new();
    for cell in cells {
        let key = key(cell);
        match groups.iter_mut().find(|group| group.0 == key) {
            Some((_, cells)) => cells.push(cell),
            None => groups.push((key, vec![cell])),
        }
    }
    groups
}

/// The cells of one stage of each setting.
pub(super) fn stages<'a>(cells: &[&'a Cell]) -> Vec<Group<'a, &'a str>> {
    grouped_by(cells.iter().copied(), |cell| cell.stage.as_str())
}

impl Report {
    /// The cells by setting.
    pub(super) fn settings(&self) -> Vec<Group<'_, Setting<'_>>> {
        grouped_by(&self.cells, Setting::of)
    }

    /// The cell of another accessor on the same records in the same way.
    pub(super) fn beside(&self, cell: &Cell, accessor: &str) -> Option<&Cell> {
        let setting = Setting::of(cell);
        let is_it = |other: &&Cell| {
            other.accessor == accessor && other.stage == cell.stage && Setting::of(other) == setting
        };
        self.cells.iter().find(is_it)
    }

    /// The ratio to another accessor that a reader may use: of two cells of which neither failed.
    pub(super) fn usable_ratio<'a>(&self, cell: &'a Cell, to: &str) -> Option<&'a RatioTo> {
        let has_failed = |cell: &Cell| cell.status == Status::Failed;
        let ratio = cell.ratio_to.get(to)?;
        (!has_failed(cell) && !self.beside(cell, to).is_some_and(has_failed)).then_some(ratio)
    }
}

impl Cell {
    /// Whether it is of another store.
    pub(super) fn is_control(&self) -> bool {
        self.accessor.starts_with("control:")
    }

    /// Whether it is of an accessor: no other store, not the floor.
    pub(super) fn is_ours(&self) -> bool {
        !self.is_control() && self.accessor != FLOOR
    }

    /// Where it stands in the report, in words.
    pub(super) fn place(&self) -> String {
        format!("{}, {}: {}", Setting::of(self).name(), self.stage, self.accessor)
    }

    /// The median of a number that a reader may use: a cell that failed has none.
    pub(super) fn usable(&self, number: impl Fn(&TrialRow) -> Option<f64>) -> Option<f64> {
        if self.status == Status::Failed { None } else { self.median_of(number) }
    }

    /// What is wrong with it, if it is not whole.
    pub(super) fn trouble(&self) -> Option<String> {
        let (word, reason) = match (self.status, self.error.as_deref()) {
            (Status::Ok, None) => return None,
            (Status::Ok, Some(note)) => ("note", note),
            (Status::Partial, reason) => ("PARTIAL", reason.unwrap_or("no reason is given")),
            (Status::Failed, reason) => ("FAILED", reason.unwrap_or("no reason is given")),
        };
        Some(format!("{word}: {}: {reason}", self.place()))
    }
}

#[cfg(test)]
mod tests {
    use crate::report::sample;

    #[test]
    fn cells_are_grouped_by_setting_and_stage_in_their_order() {
        let mut report = sample::report();
        let mut other = report.cells[0].clone();
        other.stage = "miss".to_owned();
        report.cells.push(other.clone());
        other.cache_mib = None;
        report.cells.push(other);
        let settings = report.settings();
        let names: Vec<String> = settings.iter().map(|(setting, _)| setting.name()).collect();
        assert_eq!(names, ["w1, 1,000 records, bulk, mmap, cache 64 MiB", "w1, 1,000 records, bulk, mmap"]);
        let stages = super::stages(&settings[0].1);
        let sizes: Vec<(&str, usize)> = stages.iter().map(|(stage, cells)| (*stage, cells.len())).collect();
        assert_eq!(sizes, [("point", 2), ("miss", 1)]);
    }
}
