//! What it costs to build: time a key as bars, and sizes as a table.

use super::table::{Item, Rows, table};
use super::{figure, html, short};
use crate::report::number::{ABSENT, bytes, digits, grouped, known, time};
use crate::report::setting::grouped_by;
use crate::report::svg::{Anchor, Axis, Drawing, Scale, Series};
use crate::report::{Cell, Report};

const WIDTH: f64 = 370.0;
const PLOT: (f64, f64) = (16.0, 296.0);
const ROW: f64 = 38.0;
const TOP: f64 = 8.0;

/// One plot for the records of a layout, and one table.
pub(super) fn section(report: &Report, series: &Series<'_>) -> String {
    let cells = report.cells.iter().filter(|cell| cell.build_ns_per_key.is_some());
    let inputs = grouped_by(cells, |cell| (cell.shape.as_str(), cell.n, cell.layout.as_str()));
    let (mut plots, mut groups) = (String::new(), Vec::new());
    for (no, ((shape, n, layout), cells)) in inputs.into_iter().enumerate() {
        let name = format!("{shape}, {} records, {layout}", grouped(n));
        let built: Vec<&Cell> =
            grouped_by(cells, |cell| cell.accessor.as_str()).into_iter().map(|(_, cells)| cells[0]).collect();
        plots.push_str(&plot(&format!("build-{no}"), &name, &built, series));
        let rows = built.into_iter().map(row).collect();
        groups.push(Rows { heading: (name, String::new()), rows });
    }
    if groups.is_empty() {
        return plots;
    }
    let columns = [
        ("Accessor", false),
        ("Build, a key", true),
        ("Table", true),
        ("Accessor file", true),
        ("Filter, in the table", true),
        ("Accessor, a key", true),
        ("In memory", true),
        ("Process at most", true),
    ];
    let about = "Loading the records and writing tables and accessors, time a key. Accessors of one table share its \
                 loading.";
    let sizes = table("Build cost and sizes", &columns, &groups);
    format!("<p>{}</p>\n<div class=\"plots\">{plots}</div>\n{sizes}", html(about))
}

fn plot(id: &str, name: &str, cells: &[&Cell], series: &Series<'_>) -> String {
    let bottom = TOP + cells.len() as f64 * ROW;
    let most = cells.iter().filter_map(|cell| cell.build_ns_per_key).fold(1.0, f64::max);
    let axis = Axis::new(Scale::Linear, [0.0, most], PLOT, time);
    let mut drawing = Drawing::new(WIDTH, bottom + 40.0);
    drawing.axis_below(&axis, (TOP, bottom), "time a key");
    let mut told = Vec::new();
    for (no, cell) in cells.iter().enumerate() {
        let y = TOP + no as f64 * ROW;
        let ns = cell.build_ns_per_key.unwrap_or_default();
        let class = format!("bar {}", series.look(&cell.accessor).class());
        drawing.text((PLOT.0, y + 12.0), Anchor::Start, "name", &short(&cell.accessor));
        drawing.rect((PLOT.0, y + 18.0), (axis.at(ns) - PLOT.0, ROW - 24.0), &class);
        drawing.text((axis.at(ns) + 6.0, y + 29.0), Anchor::Start, "value", &time(ns));
        told.push(format!("{} {}", cell.accessor, time(ns)));
    }
    let svg = drawing.finish(id, &format!("Build cost: {name}"), &format!("{}.", told.join("; ")));
    figure("build", (name, "build time a key"), &svg)
}

fn row(cell: &Cell) -> Vec<Item> {
    let size = |size: Option<u64>| Item::Number(known(size.map(|size| size as f64), bytes));
    let per_key = cell.bytes_per_key.map_or(ABSENT.to_owned(), |size| format!("{} B", digits(size)));
    vec![
        Item::Text(cell.accessor.clone()),
        Item::Number(known(cell.build_ns_per_key, time)),
        size(cell.disk_bytes.table),
        size(cell.disk_bytes.accessor),
        size(cell.disk_bytes.filter),
        Item::Number(per_key),
        size(cell.resident_bytes),
        size(cell.peak_rss_bytes),
    ]
}
