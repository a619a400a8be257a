//! What was measured, as tables.

use crate::Side;
use crate::round::Outcome;

/// Functions of more slots a key are not compared with.
const SLOTS_MAX: f64 = 1.1;

pub(crate) fn print(size: usize, outcomes: &[Outcome]) {
    println!(
        "\n{size} keys, the quickest of {} rounds\n",
        outcomes.first().map_or(0, |outcome| outcome.build.len())
    );
    println!("| function | build ns/key | bits/key | slots/key | slot ns | number ns | packed ns |");
    println!("|---|---|---|---|---|---|---|");
    for outcome in outcomes {
        let Outcome { name, side, slots, bits, build, lookups } = outcome;
        let [slot, number, packed] = lookups.each_ref().map(|ns| format!("{:.1}", least(ns)));
        let [slot, number] = if *side == Side::Ours { ["", ""].map(str::to_owned) } else { [slot, number] };
        println!("| {name} | {:.1} | {bits:.2} | {slots:.3} | {slot} | {number} | {packed} |", least(build));
    }
    let Some(ours) = outcomes.iter().find(|outcome| outcome.side == Side::Ours) else { return };
    let others =
        || outcomes.iter().filter(|outcome| outcome.side != Side::Ours && outcome.slots <= SLOTS_MAX);
    let ptr_hash = || outcomes.iter().filter(|outcome| outcome.side == Side::PtrHash);
    println!("\n| ours, of the quickest other | ratio | half of the rounds |\n|---|---|---|");
    ratio("build, of `ptr_hash`", &ours.build, ptr_hash().map(|other| other.build.as_slice()));
    ratio("build, of all", &ours.build, others().map(|other| other.build.as_slice()));
    for (no, what) in ["a slot alone", "a number in an array", "the same, packed"].into_iter().enumerate() {
        ratio(
            &format!("lookup, of {what}"),
            &ours.lookups[no],
            others().map(|other| other.lookups[no].as_slice()),
        );
    }
}

/// The other that is quickest, then the ratio of both quickest rounds, and between what the rounds' ratios are.
fn ratio<'a>(what: &str, ours: &[f64], others: impl Iterator<Item = &'a [f64]>) {
    let Some(best) = others.min_by(|a, b| least(a).total_cmp(&least(b))) else { return };
    let mut ratios: Vec<f64> = ours.iter().zip(best).map(|(ours, best)| ours / best).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let quarter = |no: usize| ratios.get(ratios.len() * no / 4).copied().unwrap_or(f64::NAN);
    println!("| {what} | {:.2} | {:.2} to {:.2} |", least(ours) / least(best), quarter(1), quarter(3));
}

/// Noise only adds.
fn least(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::INFINITY, f64::min)
}
