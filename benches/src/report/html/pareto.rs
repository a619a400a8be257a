//! Bytes a key against speed, and the front: accessors that no other one beats in both.

use super::{figure, html, short};
use crate::report::number::{digits, time};
use crate::report::setting::{Setting, grouped_by};
use crate::report::svg::{Anchor, Axis, Drawing, Scale, Series, legend};
use crate::report::{Cell, Report, Status};

const WIDTH: f64 = 370.0;
const PLOT_X: (f64, f64) = (56.0, 356.0);
const PLOT_Y: (f64, f64) = (28.0, 204.0);
const HEIGHT: f64 = PLOT_Y.1 + 36.0;
const STAGE: &str = "point";

/// An accessor: bytes a key beside the table, nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Spot<'a> {
    cell: &'a Cell,
    bytes: f64,
    ns: f64,
    is_on_front: bool,
}

/// One plot a setting that has the stage.
pub(super) fn section(report: &Report, series: &Series<'_>) -> String {
    let cells = report.cells.iter().filter(|cell| cell.stage == STAGE && cell.is_ours());
    let plots: String = grouped_by(cells, Setting::of)
        .into_iter()
        .enumerate()
        .filter_map(|(no, (setting, cells))| plot(&format!("pareto-{no}"), &setting, &cells, series))
        .collect();
    if plots.is_empty() {
        return plots;
    }
    let about = "Bytes a key of the accessor file, beside the table, against the p50 of a point hit: further down and \
                 further left is better. The dotted line joins those that no other beats in both. An accessor that \
                 is part of the table has no file and stands at 0.";
    format!("<p>{}</p>\n<div class=\"plots\">{plots}</div>\n", html(about))
}

fn plot(id: &str, setting: &Setting<'_>, cells: &[&Cell], series: &Series<'_>) -> Option<String> {
    let spots = spots(cells);
    if spots.is_empty() {
        return None;
    }
    let x = Axis::new(Scale::Linear, spots.iter().map(|spot| spot.bytes).chain([0.0]), PLOT_X, digits);
    let y = Axis::new(Scale::Log, spots.iter().map(|spot| spot.ns), (PLOT_Y.1, PLOT_Y.0), time).upright();
    let mut drawing = Drawing::new(WIDTH, HEIGHT);
    drawing.axis_below(&x, PLOT_Y, "bytes a key of the accessor file");
    drawing.axis_left(&y, PLOT_X, "p50 of a point hit, logarithmic");
    let place = |spot: &Spot<'_>| (x.at(spot.bytes), y.at(spot.ns));
    let front: Vec<(f64, f64)> = spots.iter().filter(|spot| spot.is_on_front).map(place).collect();
    drawing.path(&front, "front");
    let told: Vec<String> = spots.iter().map(words).collect();
    for (spot, words) in spots.iter().zip(&told) {
        let (px, py) = place(spot);
        drawing.mark((px, py), series.look(&spot.cell.accessor), words);
        let (shift, anchor) = if px > PLOT_X.1 - 90.0 { (-9.0, Anchor::End) } else { (9.0, Anchor::Start) };
        drawing.text((px + shift, py - 6.0), anchor, "name", &short(&spot.cell.accessor));
    }
    let name = setting.name();
    let svg = drawing.finish(id, &format!("Size against speed: {name}"), &format!("{}.", told.join("; ")));
    let legend =
        legend(spots.iter().zip(&told).map(|(spot, told)| (series.look(&spot.cell.accessor), told.as_str())));
    Some(figure("pareto", (&name, "bytes a key against p50"), &format!("{svg}{legend}")))
}

/// What can be placed, smallest first.
fn spots<'a>(cells: &[&'a Cell]) -> Vec<Spot<'a>> {
    let spot = |cell: &&'a Cell| {
        let bytes = match (cell.bytes_per_key, cell.disk_bytes.accessor) {
            (Some(bytes), _) => bytes,
            (None, Some(bytes)) if cell.n > 0 => bytes as f64 / cell.n as f64,
            (None, _) => 0.0,
        };
        let ns = cell.usable(|trial| trial.p50_ns).filter(|ns| *ns > 0.0)?;
        Some(Spot { cell, bytes, ns, is_on_front: false })
    };
    let mut spots: Vec<Spot<'_>> = cells.iter().filter_map(spot).collect();
    spots.sort_by(|a, b| a.bytes.total_cmp(&b.bytes).then(a.ns.total_cmp(&b.ns)));
    let mut best = f64::INFINITY;
    for spot in &mut spots {
        spot.is_on_front = spot.ns < best;
        best = best.min(spot.ns);
    }
    spots
}

fn words(spot: &Spot<'_>) -> String {
    let front = if spot.is_on_front { ", on the front" } else { ", beaten in both" };
    let partial = if spot.cell.status == Status::Partial { ", PARTIAL" } else { "" };
    format!("{}: {} B a key, {}{front}{partial}", spot.cell.accessor, digits(spot.bytes), time(spot.ns))
}

#[cfg(test)]
mod tests {
    use crate::report::sample;

    #[test]
    fn the_front_holds_those_that_no_other_beats_in_both() {
        let report = sample::report();
        let cell = |name: &str, bytes: f64, ns: f64| {
            let mut cell = report.cells[0].clone();
            (cell.accessor, cell.bytes_per_key) = (name.to_owned(), Some(bytes));
            cell.trials.iter_mut().for_each(|trial| trial.p50_ns = Some(ns));
            cell
        };
        let cells = [
            cell("small", 1.0, 900.0),
            cell("bad", 4.0, 950.0),
            cell("fast", 3.0, 100.0),
            cell("twin", 3.0, 100.0),
        ];
        let spots = super::spots(&cells.iter().collect::<Vec<_>>());
        let front: Vec<(&str, bool)> =
            spots.iter().map(|spot| (spot.cell.accessor.as_str(), spot.is_on_front)).collect();
        assert_eq!(front, [("small", true), ("fast", true), ("twin", false), ("bad", false)]);
    }
}
