//! Why a table has this option and not a better one, in words and numbers.

use super::ladder::Ladder;
use super::{PlanOption, TableFacts};
use crate::contract::Residency;

/// The reason for a table that stands on this rung when so many bytes of the budget are left.
pub(super) fn reason(table: &TableFacts, ladder: &Ladder, rung: usize, left: u64) -> String {
    let name = |option: Option<usize>| option.map_or("no option".to_owned(), |at| name(&table.options[at]));
    let here = &ladder.rungs[rung];
    let has = name(here.option);
    let Some(next) = ladder.rungs.get(rung + 1) else {
        return match here.bytes {
            _ if here.cost == 0.0 => format!("{has}: reads of this table cost nothing"),
            0 => format!("{has}: takes nothing of the budget, none is cheaper"),
            bytes => format!("{has}: {}, none is cheaper", size(bytes)),
        };
    };
    let asked = next.bytes - here.bytes;
    let (asked, left) = match (size(asked), size(left)) {
        // Rounded they look the same, and the reason would not be one.
        (a, l) if a == l => (format!("{asked} B"), format!("{left} B")),
        rounded => rounded,
    };
    let more = if here.bytes == 0 { "" } else { " more" };
    let format = |option: Option<usize>| option.map(|at| &table.options[at].format);
    let by = match format(next.option) == format(here.option) {
        true => String::new(),
        false => format!(" by {}", name(next.option)),
    };
    format!("{has}: {asked}{more} asked{by}, {left} left")
}

fn name(option: &PlanOption) -> String {
    let resident = option.residency == Residency::Resident;
    match (&option.format, resident) {
        (None, true) => "sorted resident".into(),
        (None, false) => "sorted paged".into(),
        (Some(format), true) => format!("{format} resident"),
        (Some(format), false) => format!("{format} mapped"),
    }
}

/// Bytes in a short form: `812 B`, `4.6 MB`.
fn size(bytes: u64) -> String {
    let units = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    match units.into_iter().find(|&(_, unit)| bytes as f64 >= unit) {
        Some((name, unit)) => format!("{:.1} {name}", bytes as f64 / unit),
        None => format!("{bytes} B"),
    }
}
