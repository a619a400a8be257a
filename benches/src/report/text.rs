//! The table for people, and the same table in Markdown.

use super::number::ABSENT;
use super::{Cell, Report, Spread, Status, Verdict, markup};
use crate::engine::FLOOR;

/// Columns before the numbers.
pub(super) const PLACE: [&str; FIRST_NUMBER] = ["input", "n", "layout", "read", "cache", "stage", "accessor"];
/// Columns before the ratios.
const FACTS: [&str; 4] = ["p50 ns", "p99 ns", "p99.9 ns", "Mops/s"];
/// Columns from here on hold numbers, but for the last; so does the one of the records.
const FIRST_NUMBER: usize = 7;
const RECORDS: usize = 1;

/// A table: its columns, and a row for each cell.
#[derive(Debug)]
pub(super) struct Grid {
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Report {
    /// The tables for a terminal, with what must be known beside them.
    pub fn table(&self) -> String {
        let mut text: String = self.grids().iter().map(|grid| grid.text() + "\n").collect();
        self.notes().iter().for_each(|note| text.push_str(&format!("{}\n", markup::line(note))));
        text
    }

    /// The same as Markdown.
    pub fn markdown(&self) -> String {
        let grids: String = self.grids().iter().map(|grid| grid.markdown() + "\n").collect();
        let mut text = format!("# kiban ab\n\n{grids}");
        self.notes().iter().for_each(|note| text.push_str(&format!("- {}\n", markup::markdown(note))));
        text
    }

    /// A table of the cells with single calls, and one of those with upkeep.
    fn grids(&self) -> Vec<Grid> {
        let calls: Vec<&Cell> = self.cells.iter().filter(|cell| !cell.is_upkeep()).collect();
        let theirs = self.theirs();
        let calls = Grid {
            columns: self.columns(),
            rows: calls.into_iter().map(|cell| row(self, cell, &theirs)).collect(),
        };
        let upkeep = self.upkeep_grid();
        [calls, upkeep].into_iter().filter(|grid| !grid.rows.is_empty()).collect()
    }

    /// Names that ratios are shown to: the first accessor, the other stores, the floor.
    fn theirs(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.cells.first().map(|cell| cell.accessor.as_str()).into_iter().collect();
        let others = self.cells.iter().map(|cell| cell.accessor.as_str());
        for name in others.filter(|name| name.starts_with("control:") || *name == FLOOR) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn columns(&self) -> Vec<String> {
        let name = |(at, name): (usize, &&str)| match at {
            0 => "p50 ratio to first".to_owned(),
            _ => format!("p50 ratio to {name}"),
        };
        let ratios: Vec<String> = self.theirs().iter().enumerate().map(name).collect();
        let facts = PLACE.into_iter().chain(FACTS).map(str::to_owned);
        facts.chain(ratios).chain(["verdict".to_owned()]).collect()
    }
}

impl Grid {
    fn text(&self) -> String {
        let shown = |row: &Vec<String>| row.iter().map(|text| markup::line(text)).collect::<Vec<String>>();
        let lines: Vec<Vec<String>> = std::iter::once(&self.columns).chain(&self.rows).map(shown).collect();
        let width = |column: usize| lines.iter().map(|row| row[column].chars().count()).fold(0, usize::max);
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cell = |(column, text): (usize, &String)| match column {
                RECORDS | FIRST_NUMBER.. if column + 1 < row.len() => {
                    format!("{text:>width$}", width = widths[column])
                }
                _ => format!("{text:<width$}", width = widths[column]),
            };
            let line: Vec<String> = row.iter().enumerate().map(cell).collect();
            format!("{}\n", line.join("  ").trim_end())
        };
        lines.iter().map(line).collect()
    }

    fn markdown(&self) -> String {
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().map(|text| markup::markdown(text)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = line(&self.columns) + &line(&vec!["---".to_owned(); self.columns.len()]);
        self.rows.iter().for_each(|row| text.push_str(&line(row)));
        text
    }
}

fn row(report: &Report, cell: &Cell, theirs: &[&str]) -> Vec<String> {
    let number = |number: Option<f64>| number.map_or(ABSENT.to_owned(), |number| format!("{number:.0}"));
    let mops = cell.usable(|trial| trial.ops_per_s);
    let facts = [
        number(cell.usable(|trial| trial.p50_ns)),
        number(cell.usable(|trial| trial.p99_ns)),
        number(cell.usable(|trial| trial.p999_ns)),
        mops.map_or(ABSENT.to_owned(), millions),
    ];
    let ratios = theirs.iter().map(|to| ratio(report.usable_ratio(cell, to).and_then(|ratio| ratio.p50)));
    place(cell).into_iter().chain(facts).chain(ratios).chain([outcome(cell)]).collect()
}

/// The columns before the numbers.
pub(super) fn place(cell: &Cell) -> [String; FIRST_NUMBER] {
    [
        cell.shape.clone(),
        cell.n.to_string(),
        cell.layout.clone(),
        cell.read.clone().unwrap_or(ABSENT.to_owned()),
        cell.cache_mib.map_or(ABSENT.to_owned(), |mib| format!("{mib} MiB")),
        cell.stage.clone(),
        cell.accessor.clone(),
    ]
}

/// Few operations a second keep two digits.
fn millions(ops: f64) -> String {
    let decimals = if ops < 1e5 { 4 } else { 2 };
    format!("{:.decimals$}", ops / 1e6)
}

pub(super) fn ratio(spread: Option<Spread>) -> String {
    spread.map_or(ABSENT.to_owned(), |Spread { median, min, max, .. }| {
        format!("{median:.3} [{min:.3}-{max:.3}]")
    })
}

pub(super) fn outcome(cell: &Cell) -> String {
    let noise = cell.noise_floor.map_or(String::new(), |noise| format!(" (+-{:.1} %)", noise * 100.0));
    match cell.status {
        Status::Failed => "FAILED".to_owned(),
        Status::Partial => format!("{}{noise}, partial", word(cell.verdict)),
        Status::Ok => format!("{}{noise}", word(cell.verdict)),
    }
}

/// The verdict as the JSON spells it.
pub(super) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Same => "same",
        Verdict::None => "none",
    }
}

#[cfg(test)]
mod tests {
    use crate::report::{Status, sample};

    #[test]
    fn the_table_shows_medians_ratios_noise_and_trouble() {
        let mut report = sample::report();
        report.cells[1].status = Status::Failed;
        let table = report.table();
        let rows: Vec<Vec<&str>> =
            table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            rows[0][..10],
            ["w1", "1000", "bulk", "mmap", "64", "MiB", "point", "sorted", "200", "400"]
        );
        assert_eq!(
            rows[0][10..],
            ["600", "2.00", "2.000", "[1.500-2.500]", "-", "slower", "(+-1.5", "%)"],
            "no ratio to one that failed"
        );
        assert_eq!(rows[1].last(), Some(&"FAILED"));
        for told in [
            "adds 12.5 ns",
            "commit abc with changes",
            "checked in full: 140",
            "FAILED: w1, 1,000 records, bulk, mmap, cache 64 MiB, point: floor: nothing",
            "warning: w1",
        ] {
            assert!(table.contains(told), "{told}\n{table}");
        }
    }

    #[test]
    fn unknown_numbers_are_a_dash() {
        let mut report = sample::report();
        report.cells.truncate(1);
        report.cells[0].trials.clear();
        report.cells[0].ratio_to.clear();
        let table = report.table();
        let row: Vec<&str> = table.lines().nth(1).unwrap_or_default().split_whitespace().collect();
        assert_eq!(row[8..13], ["-"; 5]);
    }

    #[test]
    fn markdown_has_one_row_a_cell_with_all_columns() {
        let report = sample::report();
        let markdown = report.markdown();
        let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(rows.len(), 2 + report.cells.len());
        let columns = rows[0].matches('|').count();
        assert!(rows.iter().all(|row| row.matches('|').count() == columns));
    }

    #[test]
    fn other_stores_have_a_column_each_and_are_explained() {
        let mut report = sample::report();
        assert!(!report.table().contains("control:"));
        let mut control = report.cells[0].clone();
        control.accessor = "control:fjall".to_owned();
        control.stage = "write_sync".to_owned();
        let ratio = report.cells[0].ratio_to["floor"].clone();
        report.cells[0].ratio_to.insert("control:fjall".to_owned(), ratio);
        report.cells.insert(1, control);
        let table = report.table();
        let head = table.lines().next().unwrap_or_default();
        let columns: Vec<&str> =
            head.split("  ").map(str::trim).filter(|name| name.starts_with("p50 r")).collect();
        assert_eq!(columns, ["p50 ratio to first", "p50 ratio to control:fjall", "p50 ratio to floor"]);
        for told in ["control:fjall: cache as given", "write_sync: puts that reach the device"] {
            assert!(table.contains(told), "{told}");
        }
    }

    #[test]
    fn few_operations_a_second_keep_their_digits() {
        assert_eq!([super::millions(14_230.0), super::millions(2_000_000.0)], ["0.0142", "2.00"]);
    }
}
