//! Cells of `flush` and `compact`: their table.

use super::number::{ABSENT, bytes, digits, known, ratio as three_digits};
use super::text::{Grid, PLACE, outcome, place, ratio};
use super::{Cell, RatioTo, Report, Spread, UpkeepRow};

/// Columns before the ratios.
const FACTS: [&str; 7] =
    ["threads", "publish s", "idle s", "CPU s", "written", "heap at publish", "heap at rest"];

/// A ratio by its name.
type Named = (&'static str, fn(&RatioTo) -> Option<Spread>);

/// Ratios of upkeep.
pub(super) const RATIOS: [Named; 4] = [
    ("publish", |ratio| ratio.publish),
    ("idle", |ratio| ratio.idle),
    ("CPU", |ratio| ratio.cpu),
    ("written", |ratio| ratio.written),
];

impl Report {
    /// The table of these cells; without rows if there is none.
    pub(super) fn upkeep_grid(&self) -> Grid {
        let places = PLACE.map(str::to_owned).into_iter();
        let cells = self.cells.iter().filter(|cell| cell.is_upkeep());
        let row =
            |cell| place(cell).into_iter().chain(self.upkeep_numbers(cell)).chain([outcome(cell)]).collect();
        Grid {
            columns: places.chain(upkeep_columns()).chain(["verdict".to_owned()]).collect(),
            rows: cells.map(row).collect(),
        }
    }

    /// What stands in the columns of [`upkeep_columns`].
    pub(super) fn upkeep_numbers(&self, cell: &Cell) -> Vec<String> {
        let seconds =
            |of: fn(&UpkeepRow) -> f64| known(cell.usable_upkeep(|row| Some(of(row))), three_digits);
        let size = |of: fn(&UpkeepRow) -> Option<u64>| {
            known(cell.usable_upkeep(|row| of(row).map(|bytes| bytes as f64)), bytes)
        };
        let facts = [
            digits(f64::from(cell.threads)),
            seconds(|row| row.publish_s),
            seconds(|row| row.idle_s),
            seconds(|row| row.cpu_s),
            size(|row| row.bytes_written),
            size(|row| Some(row.publish_heap_bytes)),
            size(|row| Some(row.idle_heap_bytes)),
        ];
        let first = self.cells.first().map_or("", |cell| &cell.accessor);
        let to_first = self.usable_ratio(cell, first);
        let ratios = RATIOS.map(|(_, of)| to_first.map_or(ABSENT.to_owned(), |to| ratio(of(to))));
        facts.into_iter().chain(ratios).collect()
    }
}

/// The columns with numbers.
pub(super) fn upkeep_columns() -> impl Iterator<Item = String> {
    FACTS.map(str::to_owned).into_iter().chain(RATIOS.map(|(name, _)| format!("{name} ratio to first")))
}

impl Cell {
    /// Whether it is of a flush or a compaction, where no call is timed by itself.
    pub(super) fn is_upkeep(&self) -> bool {
        matches!(self.stage.as_str(), "flush" | "compact")
    }

    /// The median of a number of its upkeep that a reader may use.
    pub(super) fn usable_upkeep(&self, number: impl Fn(&UpkeepRow) -> Option<f64>) -> Option<f64> {
        self.usable(|trial| number(trial.upkeep.as_ref()?))
    }
}

#[cfg(test)]
mod tests {
    use crate::report::{Status, sample};

    #[test]
    fn upkeep_has_a_table_of_its_own_with_ratios_to_the_first() {
        let report = sample::upkeep();
        let table = report.table();
        let rows: Vec<&str> = table.lines().collect();
        assert!(rows[0].contains("publish s") && !table.contains("p50 ns"), "{table}");
        let words: Vec<&str> = rows[2].split_whitespace().collect();
        assert_eq!(words[..7], ["w1", "1000", "level0", "mmap", "64", "MiB", "compact"]);
        assert_eq!(words[7..12], ["ph4", "2", "1.50", "2.50", "3.50"]);
        for told in ["4\u{a0}MiB", "publish ratio to first", "1.020 [1.000-1.050]", "1.200 [1.000-1.400]"] {
            assert!(table.contains(told), "{told}\n{table}");
        }
        assert!(table.contains("flush: all records"), "the notes say what was done");
        assert!(!table.contains("multiget"), "no note about what is not there");
    }

    #[test]
    fn a_failed_upkeep_shows_no_number() {
        let mut report = sample::upkeep();
        report.cells[1].status = Status::Failed;
        let table = report.table();
        let row = table.lines().nth(2).unwrap_or_default();
        assert!(row.ends_with("FAILED") && !row.contains("1.50") && !row.contains("1.020"), "{row}");
    }

    #[test]
    fn single_calls_and_upkeep_stand_in_two_tables() {
        let mut report = sample::upkeep();
        report.cells.extend(sample::report().cells);
        for text in [report.table(), report.markdown()] {
            assert!(text.contains("p50 ns") && text.contains("publish s"), "{text}");
        }
        let csv = report.csv();
        assert_eq!(csv.lines().count(), 1 + 2 * 2 + 2);
    }
}
