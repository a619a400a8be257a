use super::*;
use crate::report::sample;

fn answers<'a>(report: &'a Report, what: &str) -> Vec<Answer<'a>> {
    report.answers().into_iter().filter(|answer| answer.figure.what == what).collect()
}

#[test]
fn an_answer_has_our_number_its_interval_and_whether_the_bar_is_met() {
    let report = sample::wide();
    let found = answers(&report, "W1 warm point p50, bulk, mapped");
    let told: Vec<(String, String, String)> = found
        .iter()
        .map(|answer| (answer.measure(), answer.ours().unwrap_or_default().0, answer.verdict()))
        .collect();
    let row = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
    assert_eq!(told, [row("p50 ratio to floor", "1.25", "met"), row("p50 ratio to lmdb", "0.400", "met")]);
    assert_eq!(found[0].cell.accessor, "ph4");
    assert_eq!(
        (found[0].bar(), found[1].bar()),
        ("\u{2264} 1.6, aim 1.4".to_owned(), "\u{2264} 0.5, aim 0.4".to_owned())
    );
    assert_eq!(found[0].ours().unwrap().1.as_deref(), Some("1.19 to 1.30"));
}

#[test]
fn a_bar_is_missed_by_any_more_than_it_allows() {
    let number = |value| Number { value, interval: None };
    assert!(matches!(Bound::AtMost(0.5).judge(number(0.5)), Outcome::Met(_)));
    assert!(matches!(Bound::AtMost(0.5).judge(number(0.5001)), Outcome::Missed(_)));
    assert!(matches!(Bound::AtLeast(1.8).judge(number(1.8)), Outcome::Met(_)));
    assert!(matches!(Bound::AtLeast(1.8).judge(number(1.7999)), Outcome::Missed(_)));
}

#[test]
fn an_interval_with_the_bar_inside_is_told() {
    let report = sample::wide();
    let found = answers(&report, "ph4 against sorted on the same tables, W1 point");
    assert_eq!(found[0].verdict(), "met");
    let mut report = sample::wide();
    let ph4 = report.cells.iter_mut().filter(|cell| cell.accessor == "ph4");
    ph4.for_each(|cell| cell.ratio_to.get_mut("sorted").unwrap().p50.as_mut().unwrap().high = 0.56);
    let found = answers(&report, "ph4 against sorted on the same tables, W1 point");
    assert_eq!(found[0].verdict(), "met, but the interval holds the bar");
}

#[test]
fn another_number_of_records_makes_a_hint() {
    let mut report = sample::wide();
    report.cells.iter_mut().for_each(|cell| cell.n = 20_000);
    let found = answers(&report, "W1 warm point p50, bulk, mapped");
    assert_eq!(found[0].verdict(), "hint: met");
    assert!(found[0].setting().ends_with("(the figure is of 1,000,000 records)"));
    assert!(answers(&report, "10 M records, point p50").is_empty());
}

#[test]
fn a_failed_cell_answers_nothing_and_says_so() {
    let mut report = sample::wide();
    report
        .cells
        .iter_mut()
        .filter(|cell| cell.accessor == "ph4")
        .for_each(|cell| cell.status = Status::Failed);
    let found = answers(&report, "W1 warm point p50, bulk, mapped");
    assert_eq!((found[0].outcome, found[0].verdict()), (Outcome::Unknown, "no answer: FAILED".to_owned()));
    assert!(found[0].sentence().contains("ph4: unknown, bar"), "{}", found[0].sentence());
}

#[test]
fn a_failed_store_is_nothing_to_be_compared_with() {
    let mut report = sample::wide();
    let lmdb = report.cells.iter_mut().filter(|cell| cell.accessor == "control:lmdb");
    lmdb.for_each(|cell| cell.status = Status::Failed);
    let found = answers(&report, "W1 misses p50");
    assert_eq!(found[0].verdict(), "no answer: a number is missing, or the other one FAILED");
}

#[test]
fn a_figure_without_what_it_is_compared_with_is_not_covered() {
    let mut report = sample::wide();
    report.cells.retain(|cell| cell.accessor != "control:lmdb");
    assert!(answers(&report, "W1 misses p50").is_empty());
    let uncovered: Vec<&str> = report.uncovered().iter().map(|figure| figure.what).collect();
    assert!(uncovered.contains(&"W1 misses p50") && !uncovered.contains(&"Locator bytes a key"));
    report.cells.retain(|cell| !cell.is_ours());
    assert_eq!(report.uncovered().len(), FIGURES.len());
}

#[test]
fn the_best_of_several_others_is_the_one_that_ours_is_slowest_against() {
    let mut report = sample::wide();
    for cell in &mut report.cells {
        cell.stage = "write_sync".to_owned();
        let fjall = cell.ratio_to.get("control:fjall").cloned();
        if let Some(mut rocks) = fjall {
            rocks.p50.as_mut().unwrap().median = 2.5;
            cell.ratio_to.insert("control:rocksdb".to_owned(), rocks);
        }
    }
    let what = "W6 durable writes, index on against off, and against the best of fjall and RocksDB";
    let last = answers(&report, what).pop().unwrap();
    assert_eq!(
        (last.measure(), last.ours().unwrap().0),
        ("p50 ratio to the best of fjall and rocksdb".to_owned(), "2.50".to_owned())
    );
}

#[test]
fn files_are_answered_once_however_they_are_read() {
    let report = sample::wide();
    let found = answers(&report, "Locator bytes a key");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].ours().unwrap(), found[0].verdict()), (("4.25".to_owned(), None), "met".to_owned()));
    let found = answers(&report, "Table and accessors over raw bytes, W1");
    assert_eq!(found[0].ours().unwrap().0, "+3.5 %");
}

#[test]
fn figures_are_named_once() {
    for (no, figure) in FIGURES.iter().enumerate() {
        assert!(FIGURES[..no].iter().all(|other| other.what != figure.what), "{}", figure.what);
    }
}

#[test]
fn upkeep_is_held_against_its_bars_with_any_number_of_threads() {
    let report = sample::upkeep();
    let found = answers(&report, "W3 compaction: publish, idle, CPU, with index against without");
    let told: Vec<(String, String)> =
        found.iter().map(|answer| (answer.measure(), answer.verdict())).collect();
    let row = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        told,
        [
            row("publish ratio to sorted", "hint: met"),
            row("idle ratio to sorted", "hint: met"),
            row("CPU ratio to sorted", "hint: not met, but the interval holds the bar"),
        ]
    );
}
