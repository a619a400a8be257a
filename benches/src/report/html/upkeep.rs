//! Flushes and compactions as a table: what indexes add to them.

use super::cells::verdict;
use super::table::{Item, Rows, table};
use crate::report::setting::{Setting, grouped_by};
use crate::report::upkeep::upkeep_columns;
use crate::report::{Cell, Report};

/// One row a cell; nothing if there is none.
pub(super) fn section(report: &Report) -> String {
    let cells = report.cells.iter().filter(|cell| cell.is_upkeep());
    let group = |((setting, stage), cells): ((Setting<'_>, &str), Vec<&Cell>)| Rows {
        heading: (format!("{}, {stage}", setting.name()), String::new()),
        rows: cells.into_iter().map(|cell| row(report, cell)).collect(),
    };
    let groups: Vec<Rows> =
        grouped_by(cells, |cell| (Setting::of(cell), cell.stage.as_str())).into_iter().map(group).collect();
    if groups.is_empty() {
        return String::new();
    }
    let names: Vec<String> = upkeep_columns().collect();
    let mut columns = vec![("Accessor", false), ("Verdict", false)];
    columns.extend(names.iter().map(|name| (name.as_str(), true)));
    table("Flush and compaction; numbers are medians over the trials", &columns, &groups)
}

fn row(report: &Report, cell: &Cell) -> Vec<Item> {
    let (tone, verdict) = verdict(cell);
    let mut row = vec![Item::Text(cell.accessor.clone()), Item::Tag(tone, verdict)];
    row.extend(report.upkeep_numbers(cell).into_iter().map(Item::Number));
    row
}
