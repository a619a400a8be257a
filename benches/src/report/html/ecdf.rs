//! Latency: the share of calls that took at most so long, a plot a stage.

use super::{figure, heading, html};
use crate::report::number::{digits, known, time};
use crate::report::setting::stages;
use crate::report::svg::{Axis, Drawing, Scale, Series, legend};
use crate::report::{Cell, Report, Status};

const WIDTH: f64 = 370.0;
const PLOT_X: (f64, f64) = (46.0, 356.0);
const PLOT_Y: (f64, f64) = (24.0, 204.0);
const HEIGHT: f64 = PLOT_Y.1 + 36.0;
/// Longest latencies that are left out, so that the others have room: one call in a thousand.
const TAIL: f64 = 0.001;
/// Shares that have a mark on each line.
const MARKED: [f64; 3] = [0.5, 0.9, 0.99];

/// Points of a distribution: nanoseconds, share of calls that took at most so long.
type Steps = Vec<(f64, f64)>;

/// One plot a setting and stage.
pub(super) fn section(report: &Report, series: &Series<'_>) -> String {
    let mut text = String::new();
    for (no, (setting, cells)) in report.settings().into_iter().enumerate() {
        let plots: String = stages(&cells)
            .into_iter()
            .enumerate()
            .filter_map(|(at, (stage, cells))| plot(&format!("ecdf-{no}-{at}"), stage, &cells, series))
            .collect();
        if !plots.is_empty() {
            text.push_str(&heading(&setting));
            text.push_str(&format!("<div class=\"plots\">{plots}</div>\n"));
        }
    }
    if text.is_empty() {
        return text;
    }
    let about = "Share of calls that took at most so long; further left is faster. Marks stand at the median, 90\u{a0}% and \
                 99\u{a0}% of the calls. The slowest call in a thousand is off the plot. Times of multiget are of a key.";
    format!("<p>{}</p>\n{text}", html(about))
}

fn plot(id: &str, stage: &str, cells: &[&Cell], series: &Series<'_>) -> Option<String> {
    let is_sound = |cell: &&&Cell| cell.status != Status::Failed;
    let lines: Vec<(&Cell, Steps)> = cells
        .iter()
        .filter(is_sound)
        .map(|cell| (*cell, steps(cell)))
        .filter(|(_, steps)| !steps.is_empty())
        .collect();
    if lines.is_empty() {
        return None;
    }
    let shown = lines.iter().flat_map(|(_, steps)| {
        let body = steps.iter().take_while(|(_, share)| *share <= 1.0 - TAIL).map(|(ns, _)| *ns);
        body.chain(steps.first().map(|(ns, _)| *ns))
    });
    let x = Axis::new(Scale::Log, shown, PLOT_X, time);
    let y = Axis::new(Scale::Linear, [], (PLOT_Y.1, PLOT_Y.0), percent).exactly(0.0, 1.0).upright();
    let mut drawing = Drawing::new(WIDTH, HEIGHT);
    drawing.axis_below(&x, PLOT_Y, "time of a call, logarithmic");
    drawing.axis_left(&y, PLOT_X, "share of calls");
    for (cell, steps) in &lines {
        let look = series.look(&cell.accessor);
        drawing.steps(&corners(steps, &x, &y), &format!("step {}", look.class()));
        for share in MARKED {
            if let Some((ns, reached)) = steps.iter().find(|(_, reached)| *reached >= share) {
                let words =
                    format!("{}: {} of calls took {} at most", cell.accessor, percent(share), time(*ns));
                drawing.mark((x.at(*ns), y.at(*reached)), look, &words);
            }
        }
    }
    let told: Vec<String> = lines.iter().map(|(cell, _)| words(cell)).collect();
    let svg = drawing.finish(id, &format!("Latency of {stage}"), &format!("{}.", told.join("; ")));
    let legend =
        legend(lines.iter().zip(&told).map(|((cell, _), told)| (series.look(&cell.accessor), told.as_str())));
    Some(figure("ecdf", (stage, "share of calls by time"), &format!("{svg}{legend}")))
}

/// The line of the legend: it has the numbers of the plot.
fn words(cell: &Cell) -> String {
    let partial = if cell.status == Status::Partial { ", PARTIAL" } else { "" };
    format!(
        "{}: p50 {}, p99 {}, p99.9 {}{partial}",
        cell.accessor,
        known(cell.median_of(|trial| trial.p50_ns), time),
        known(cell.median_of(|trial| trial.p99_ns), time),
        known(cell.median_of(|trial| trial.p999_ns), time),
    )
}

fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

/// All trials of a cell together.
fn steps(cell: &Cell) -> Steps {
    let mut buckets: Vec<(f64, u64)> =
        cell.trials.iter().flat_map(|trial| trial.histogram.iter().copied()).collect();
    buckets.retain(|(ns, _)| ns.is_finite() && *ns > 0.0);
    buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
    let calls: f64 = buckets.iter().map(|(_, count)| *count as f64).sum();
    let mut below = 0.0;
    let mut steps = Steps::new();
    for (ns, count) in buckets.into_iter().filter(|(_, count)| *count > 0) {
        below += count as f64;
        steps.push((ns, (below / calls).min(1.0)));
    }
    steps
}

/// The corners of the line, no more than can be seen.
fn corners(steps: &Steps, x: &Axis, y: &Axis) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (ns, share) in steps {
        let point = (x.at(*ns), y.at(*share));
        match points.last_mut() {
            Some(last) if (point.0 - last.0).abs() < 0.5 => last.1 = point.1,
            Some(_) => points.push(point),
            None => points.extend([(point.0, y.at(0.0)), point]),
        }
    }
    points
}
