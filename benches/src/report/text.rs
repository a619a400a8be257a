//! The table for people, and the same table in Markdown.

use super::{Cell, Report, Spread, Status, Verdict};

const COLUMNS: [&str; 13] = [
    "input",
    "n",
    "read",
    "cache",
    "stage",
    "accessor",
    "p50 ns",
    "p99 ns",
    "p99.9 ns",
    "Mops/s",
    "p50 ratio to first",
    "p50 ratio to floor",
    "verdict",
];
/// Columns from here to the ratios hold numbers.
const FIRST_NUMBER: usize = 6;
const ABSENT: &str = "-";

impl Report {
    /// The table for a terminal, with what must be known beside it.
    pub fn table(&self) -> String {
        let rows = self.rows();
        let width = |column: usize| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .fold(COLUMNS[column].chars().count(), usize::max)
        };
        let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
        let line = |row: &[String]| {
            let cell = |(column, text): (usize, &String)| match column {
                1 | FIRST_NUMBER..12 => format!("{text:>width$}", width = widths[column]),
                _ => format!("{text:<width$}", width = widths[column]),
            };
            let line: Vec<String> = row.iter().enumerate().map(cell).collect();
            format!("{}\n", line.join("  ").trim_end())
        };
        let mut text = line(&COLUMNS.map(str::to_owned));
        rows.iter().for_each(|row| text.push_str(&line(row)));
        text.push('\n');
        self.notes().iter().for_each(|note| text.push_str(&format!("{note}\n")));
        text
    }

    /// The same as Markdown.
    pub fn markdown(&self) -> String {
        let line = |row: &[String]| format!("| {} |\n", row.join(" | ").replace('\n', " "));
        let mut text = String::from("# kiban ab\n\n");
        text.push_str(&line(&COLUMNS.map(str::to_owned)));
        text.push_str(&line(&COLUMNS.map(|_| "---".to_owned())));
        self.rows().iter().for_each(|row| text.push_str(&line(row)));
        text.push('\n');
        self.notes().iter().for_each(|note| text.push_str(&format!("- {note}\n")));
        text
    }

    fn rows(&self) -> Vec<[String; COLUMNS.len()]> {
        self.cells.iter().map(|cell| self.row(cell)).collect()
    }

    fn row(&self, cell: &Cell) -> [String; COLUMNS.len()] {
        let number = |number: Option<f64>| number.map_or(ABSENT.to_owned(), |number| format!("{number:.0}"));
        let first = self.cells.first().map_or("", |cell| cell.accessor.as_str());
        [
            cell.shape.clone(),
            cell.n.to_string(),
            cell.read.clone().unwrap_or(ABSENT.to_owned()),
            cell.cache_mib.map_or(ABSENT.to_owned(), |mib| format!("{mib} MiB")),
            cell.stage.clone(),
            cell.accessor.clone(),
            number(cell.median_of(|trial| trial.p50_ns)),
            number(cell.median_of(|trial| trial.p99_ns)),
            number(cell.median_of(|trial| trial.p999_ns)),
            cell.median_of(|trial| trial.ops_per_s)
                .map_or(ABSENT.to_owned(), |ops| format!("{:.2}", ops / 1e6)),
            ratio(cell, first),
            ratio(cell, "floor"),
            outcome(cell),
        ]
    }

    /// Sentences below the table.
    fn notes(&self) -> Vec<String> {
        let p = &self.provenance;
        let or_unknown = |text: &Option<String>| text.clone().unwrap_or("unknown".to_owned());
        let mut notes = vec![
            "Ratios are ours / theirs: median of paired trials with their least and greatest. The first \
             accessor's ratio to itself is from A/A pairs. Verdicts are on p50, against the first accessor; \
             none is given inside the noise floor (+-)."
                .to_owned(),
            "Times of multiget are per key. floor: read, check and copy the record, its address known; \
             of a miss: hash the key and compare one fingerprint."
                .to_owned(),
            format!(
                "Clock: {}, steps of {:.1} ns, adds {:.1} ns to each timed call (not taken off).",
                p.clock.name, p.clock.step_ns, p.clock.cost_ns
            ),
            format!(
                "CPU {}, {} cores; kernel {}; file system {}; allocator {}; seed {}; commit {}{}.",
                or_unknown(&p.cpu),
                p.cores.map_or("unknown".to_owned(), |cores| cores.to_string()),
                or_unknown(&p.kernel),
                or_unknown(&p.file_system),
                p.allocator,
                p.seed,
                or_unknown(&p.commit),
                if p.dirty == Some(true) { " with changes" } else { "" },
            ),
        ];
        let checked: Vec<u64> = self.cells.iter().filter_map(|cell| cell.checked).collect();
        notes.push(format!("Answers checked in full: {}.", checked.iter().sum::<u64>()));
        notes.extend(self.cells.iter().filter_map(trouble));
        notes.extend(p.warnings.iter().map(|warning| format!("warning: {warning}")));
        notes
    }
}

fn ratio(cell: &Cell, to: &str) -> String {
    let Some(p50) = cell.ratio_to.get(to).and_then(|ratio| ratio.p50) else { return ABSENT.to_owned() };
    let Spread { median, min, max, .. } = p50;
    format!("{median:.3} [{min:.3}-{max:.3}]")
}

fn outcome(cell: &Cell) -> String {
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

fn trouble(cell: &Cell) -> Option<String> {
    let error = cell.error.as_ref()?;
    Some(format!("{} {} {}: {error}", cell.shape, cell.stage, cell.accessor))
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
        assert_eq!(rows[0][..9], ["w1", "1000", "mmap", "64", "MiB", "point", "sorted", "200", "400"]);
        assert_eq!(
            rows[0][9..],
            ["600", "2.00", "2.000", "[1.500-2.500]", "2.000", "[1.500-2.500]", "slower", "(+-1.5", "%)"]
        );
        assert_eq!(rows[1].last(), Some(&"FAILED"));
        for told in [
            "adds 12.5 ns",
            "commit abc with changes",
            "checked in full: 140",
            "w1 point floor: nothing",
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
        assert_eq!(row[7..13], ["-"; 6]);
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
}
