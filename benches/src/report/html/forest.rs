//! Forest plots: the ratio of each accessor to the first one with its interval, a row each, and
//! the noise floor behind.

use super::{figure, html, short};
use crate::report::number::{digits, ratio};
use crate::report::setting::Setting;
use crate::report::setting::stages;
use crate::report::svg::{Anchor, Axis, Drawing, Scale, Series};
use crate::report::{Cell, Report, Spread, Status, Verdict};

const WIDTH: f64 = 770.0;
const PLOT: (f64, f64) = (196.0, 490.0);
const ROW: f64 = 22.0;
/// From the top of a stage's block to its first row.
const HEAD: f64 = 26.0;
const TOP: f64 = 8.0;
const AXIS: f64 = 44.0;

/// A stage: its first accessor and the others.
type Block<'a> = (&'a str, Vec<&'a Cell>);

/// What all plots of a page share.
#[derive(Debug)]
struct Forest<'a> {
    report: &'a Report,
    /// The accessor that ratios are to.
    first: &'a str,
    series: &'a Series<'a>,
}

/// One plot a setting.
pub(super) fn section(report: &Report, series: &Series<'_>) -> String {
    let Some(first) = report.cells.first() else { return String::new() };
    let forest = Forest { report, first: &first.accessor, series };
    let first = html(forest.first);
    let mut text = format!(
        "<p>p50 of each over p50 of {first}, from paired trials: left of 1 is faster. The thick line is the \
         95\u{a0}% interval, the thin one reaches from the least to the greatest pair, the mark is the median. The \
         grey band is the noise floor: ratios of {first} to itself.</p>\n"
    );
    for (no, (setting, cells)) in report.settings().into_iter().enumerate() {
        text.push_str(&forest.plot(&format!("forest-{no}"), &setting, &stages(&cells)));
    }
    text
}

impl Forest<'_> {
    fn plot(&self, id: &str, setting: &Setting<'_>, blocks: &[Block<'_>]) -> String {
        let cells = || blocks.iter().flat_map(|(_, cells)| cells.iter().copied());
        let shown = cells().filter_map(|cell| self.spread(cell));
        let values = shown.flat_map(|spread| [spread.low, spread.median, spread.high]).chain([0.9, 1.1]);
        let axis = Axis::new(Scale::Log, values, PLOT, digits);
        let bottom = TOP + blocks.len() as f64 * HEAD + cells().count() as f64 * ROW;
        let mut drawing = Drawing::new(WIDTH, bottom + AXIS);
        let mut y = TOP;
        for (stage, cells) in blocks {
            let block_bottom = y + HEAD + cells.len() as f64 * ROW;
            noise_band(&mut drawing, &axis, cells, (y + HEAD - 4.0, block_bottom));
            drawing.text((6.0, y + HEAD - 8.0), Anchor::Start, "head", &short(stage));
            for (no, cell) in cells.iter().enumerate() {
                self.row(&mut drawing, &axis, cell, y + HEAD + (no as f64 + 0.5) * ROW);
            }
            y = block_bottom;
        }
        let what = format!("p50 ratio to {}, logarithmic", short(self.first));
        drawing.axis_below(&axis, (TOP, bottom), &what);
        drawing.line((axis.at(1.0), TOP), (axis.at(1.0), bottom), "one");
        let told: Vec<String> = blocks.iter().map(|block| self.told(block)).collect();
        let name = setting.name();
        let svg = drawing.finish(id, &format!("Ratios to {}: {name}", self.first), &told.join(" "));
        figure("long forest", (&name, "p50 ratio with interval and noise floor"), &svg)
    }

    fn row(&self, drawing: &mut Drawing, axis: &Axis, cell: &Cell, y: f64) {
        let (look, value) = (self.series.look(&cell.accessor), self.value(cell));
        drawing.text((PLOT.0 - 10.0, y + 4.0), Anchor::End, "name", &short(&cell.accessor));
        let class = if cell.status == Status::Failed { "bad" } else { "value" };
        drawing.text((PLOT.1 + 12.0, y + 4.0), Anchor::Start, class, &value);
        if let Some(Spread { median, min, max, low, high }) = self.spread(cell) {
            drawing.line((axis.at(min), y), (axis.at(max), y), "whisker");
            drawing.line((axis.at(low), y), (axis.at(high), y), &format!("interval {}", look.class()));
            drawing.mark((axis.at(median), y), look, &format!("{}: {value}", cell.accessor));
        }
    }

    /// The ratio that is drawn.
    fn spread(&self, cell: &Cell) -> Option<Spread> {
        self.report.usable_ratio(cell, self.first)?.p50
    }

    /// The words at the end of a row.
    fn value(&self, cell: &Cell) -> String {
        let Some(spread) = self.spread(cell) else {
            return if cell.status == Status::Failed { "FAILED" } else { "no ratio" }.to_owned();
        };
        let word = match (cell.verdict, cell.accessor == self.first) {
            (_, true) => "A/A pairs",
            (Verdict::Faster, _) => "faster",
            (Verdict::Slower, _) => "slower",
            (Verdict::Same, _) => "same",
            (Verdict::None, _) => "no verdict",
        };
        let partial = if cell.status == Status::Partial { ", PARTIAL" } else { "" };
        format!("{} [{}-{}] {word}{partial}", ratio(spread.median), ratio(spread.low), ratio(spread.high))
    }

    /// A stage in words.
    fn told(&self, block: &Block<'_>) -> String {
        let (stage, cells) = block;
        let rows: Vec<String> =
            cells.iter().map(|cell| format!("{} {}", cell.accessor, self.value(cell))).collect();
        format!("{stage}: {}.", rows.join("; "))
    }
}

fn noise_band(drawing: &mut Drawing, axis: &Axis, cells: &[&Cell], rows: (f64, f64)) {
    let noise = cells.iter().find_map(|cell| cell.noise_floor).filter(|noise| *noise > 0.0);
    if let Some(noise) = noise {
        let (left, right) = (axis.at(1.0 / (1.0 + noise)), axis.at(1.0 + noise));
        drawing.rect((left, rows.0), (right - left, rows.1 - rows.0), "noise");
    }
}
