//! Every cell as a row: what the plots are made from.

use super::table::{Item, Rows, Tone, table};
use crate::report::number::{self, ABSENT, digits, grouped, known, time};
use crate::report::setting::{Setting, grouped_by};
use crate::report::{Cell, Report, Status, Verdict};

/// The cells in their order.
pub(super) fn section(report: &Report) -> String {
    if report.cells.is_empty() {
        return "<p>The report has no cells.</p>\n".to_owned();
    }
    let first = report.cells[0].accessor.as_str();
    let columns = [
        ("Accessor", false),
        ("Stage", false),
        ("Verdict", false),
        ("p50", true),
        ("p99", true),
        ("p99.9", true),
        ("Mean", true),
        ("Calls a second", true),
        ("Ratio to first", true),
        ("Noise floor", true),
        ("Data pages", true),
        ("Index pages", true),
        ("Trials", true),
        ("Checked", true),
    ];
    let group = |(setting, cells): (Setting<'_>, Vec<&Cell>)| Rows {
        heading: (setting.name(), String::new()),
        rows: cells.into_iter().map(|cell| row(report, cell, first)).collect(),
    };
    let cells = report.cells.iter().filter(|cell| !cell.is_upkeep());
    let groups: Vec<Rows> = grouped_by(cells, Setting::of).into_iter().map(group).collect();
    if groups.is_empty() {
        return String::new();
    }
    table("All cells; times are medians over the trials, pages are of an operation", &columns, &groups)
}

fn row(report: &Report, cell: &Cell, first: &str) -> Vec<Item> {
    let spent = |ns: Option<f64>| Item::Number(known(ns, time));
    let number = |number: Option<f64>| Item::Number(known(number, digits));
    let count = |count: Option<u64>| Item::Number(count.map_or(ABSENT.to_owned(), grouped));
    let ratio = report.usable_ratio(cell, first).and_then(|ratio| ratio.p50);
    let ratio = ratio.map_or(ABSENT.to_owned(), |ratio| {
        format!(
            "{} [{}-{}]",
            number::ratio(ratio.median),
            number::ratio(ratio.low),
            number::ratio(ratio.high)
        )
    });
    let noise = cell.noise_floor.map_or(ABSENT.to_owned(), |noise| format!("{:.1} %", noise * 100.0));
    let (tone, verdict) = verdict(cell);
    vec![
        Item::Text(cell.accessor.clone()),
        Item::Text(cell.stage.clone()),
        Item::Tag(tone, verdict),
        spent(cell.usable(|trial| trial.p50_ns)),
        spent(cell.usable(|trial| trial.p99_ns)),
        spent(cell.usable(|trial| trial.p999_ns)),
        spent(cell.usable(|trial| trial.mean_ns)),
        count(cell.usable(|trial| trial.ops_per_s).map(|ops| ops as u64)),
        Item::Number(ratio),
        Item::Number(noise),
        number(cell.usable(|trial| trial.data_pages_per_op)),
        number(cell.usable(|trial| trial.index_pages_per_op)),
        Item::Number(cell.trials.len().to_string()),
        count(cell.checked),
    ]
}

/// The verdict as a tag.
pub(super) fn verdict(cell: &Cell) -> (Tone, String) {
    let (tone, word) = match cell.verdict {
        Verdict::Faster => (Tone::Good, "faster"),
        Verdict::Slower => (Tone::Bad, "slower"),
        Verdict::Same => (Tone::Plain, "same"),
        Verdict::None => (Tone::Plain, "none"),
    };
    match cell.status {
        Status::Ok => (tone, word.to_owned()),
        Status::Partial => (Tone::Warn, format!("{word}, PARTIAL")),
        Status::Failed => (Tone::Bad, "FAILED".to_owned()),
    }
}
