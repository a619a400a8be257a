//! Where an accessor loses: against the first accessor, and against other stores.

use super::table::{Item, Rows, table};
use crate::report::number::{self, known, time};
use crate::report::setting::Setting;
use crate::report::{Cell, Report, Spread, Status, Verdict};

/// A cell that is slower than another one.
#[derive(Debug)]
struct Loss<'a> {
    cell: &'a Cell,
    to: &'a str,
    ratio: Spread,
}

/// The losses in words, worst first.
pub(super) fn section(report: &Report) -> String {
    let losses = losses(report);
    let is_judged = |cell: &&Cell| cell.is_ours() && !cell.is_upkeep() && cell.status != Status::Failed;
    let judged = report.cells.iter().filter(is_judged).count();
    if judged == 0 {
        return String::new();
    }
    if losses.is_empty() {
        return format!(
            "<p>Nowhere that the noise allows to say: of {judged} cells of accessors none is slower than the first \
             accessor or another store.</p>\n"
        );
    }
    let mut groups: Vec<Rows> = Vec::new();
    for loss in &losses {
        let at = groups.iter().position(|group| group.heading.0 == loss.cell.accessor);
        let at = at.unwrap_or_else(|| {
            groups.push(Rows { heading: (loss.cell.accessor.clone(), String::new()), rows: Vec::new() });
            groups.len() - 1
        });
        groups[at].rows.push(row(report, loss));
    }
    for Rows { heading, rows } in &mut groups {
        heading.1 = format!("slower in {} comparisons", rows.len());
    }
    let columns = [
        ("In words", false),
        ("Ratio", true),
        ("95 % interval", true),
        ("p50", true),
        ("p50 of the other", true),
    ];
    format!(
        "<p>Slower by more than the noise, worst first. Losses to the floor are left out: it is no store.</p>\n{}",
        table("Where accessors lose", &columns, &groups)
    )
}

fn losses(report: &Report) -> Vec<Loss<'_>> {
    let first = report.cells.first().map_or("", |cell| cell.accessor.as_str());
    let mut losses = Vec::new();
    for cell in report.cells.iter().filter(|cell| cell.is_ours() && cell.status != Status::Failed) {
        for to in cell.ratio_to.keys() {
            let Some(ratio) = report.usable_ratio(cell, to).and_then(|ratio| ratio.p50) else { continue };
            let is_loss = match to.as_str() {
                to if to == cell.accessor => false,
                to if to == first => cell.verdict == Verdict::Slower,
                to if to.starts_with("control:") => {
                    cell.noise_floor.is_some_and(|noise| ratio.verdict(noise) == Verdict::Slower)
                }
                _ => false,
            };
            if is_loss {
                losses.push(Loss { cell, to, ratio });
            }
        }
    }
    losses.sort_by(|a, b| b.ratio.median.total_cmp(&a.ratio.median));
    losses
}

fn row(report: &Report, loss: &Loss<'_>) -> Vec<Item> {
    let Loss { cell, to, ratio } = loss;
    let theirs = report.beside(cell, to).and_then(|other| other.usable(|trial| trial.p50_ns));
    let words = format!(
        "{} takes {} times as long as {to}: {}",
        cell.stage,
        number::ratio(ratio.median),
        Setting::of(cell).name()
    );
    vec![
        Item::Wide(words),
        Item::Number(number::ratio(ratio.median)),
        Item::Number(format!("{} to {}", number::ratio(ratio.low), number::ratio(ratio.high))),
        Item::Number(known(cell.usable(|trial| trial.p50_ns), time)),
        Item::Number(known(theirs, time)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn a_loss_is_against_the_first_accessor_or_another_store_and_never_the_floor() {
        let mut report = sample::report();
        let mut slow = report.cells[0].clone();
        slow.accessor = "slow".to_owned();
        let ratio = slow.ratio_to["sorted"].clone();
        slow.ratio_to.insert("control:lmdb".to_owned(), ratio);
        report.cells.push(slow.clone());
        let found = |report: &Report| -> Vec<String> {
            losses(report).iter().map(|loss| format!("{} {}", loss.cell.accessor, loss.to)).collect()
        };
        assert_eq!(found(&report), ["slow control:lmdb", "slow sorted"]);
        report.cells[2].verdict = Verdict::None;
        report.cells[2].noise_floor = Some(9.0);
        assert_eq!(found(&report), Vec::<String>::new());
        report.cells[2] = Cell { status: Status::Failed, ..slow };
        assert_eq!(found(&report), Vec::<String>::new());
    }
}
