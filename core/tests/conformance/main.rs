//! The conformance kit: formats that keep the contract pass, each that breaks it is caught.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod broken;
mod counted;
mod inside_values;
mod keeper;
#[path = "../common/plain.rs"]
mod plain;

use std::sync::Arc;

use kiban::accessor::AccessorFormat;
use kiban::accessor::conformance::{Check, Report, check, check_in_store};
use kiban::storage::MemStorage;
use kiban::{Db, IndexPolicy, Settings};
use kiban_indexes::Ph4Format;

use broken::{Broken, Fault};
use counted::Counted;
use keeper::Keeper;
use plain::Plain;

/// Absent keys, deletes, older snapshots and values too: a format that keeps whole keys knows.
#[test]
fn whether_a_key_is_there_takes_no_page_of_a_format_that_keeps_keys() {
    let storage = Arc::new(MemStorage::new(1));
    let builder = Db::builder("/store").storage(storage).register(Arc::new(Keeper::HONEST));
    let settings = Settings { absent_check_every: 0, ..Settings::default() };
    let db = builder.settings(settings).index_policy(IndexPolicy::always("keeper")).open().unwrap();
    let space = db.default_keyspace();
    let key = |no: u32| no.to_be_bytes();
    (0..900).for_each(|no| space.put(key(no * 2), [7; 50]).unwrap());
    let before = db.snapshot();
    (0..300).for_each(|no| space.delete(key(no * 6)).unwrap());
    db.flush().unwrap();
    db.wait_idle().unwrap();
    let pages = db.stats().pages.data_reads;
    for no in 0..1_800 {
        assert_eq!(space.contains(key(no)).unwrap(), no % 2 == 0 && no % 6 != 0, "{no}");
        assert_eq!(before.contains(&space, key(no)).unwrap(), no % 2 == 0, "{no}, before");
    }
    assert_eq!(db.stats().pages.data_reads, pages, "no data page was looked at");
    assert_eq!(space.get(key(2)).unwrap().unwrap(), [7; 50]);
    assert!(db.stats().pages.data_reads > pages);
}

#[test]
fn ph4_answers_as_a_map_does_in_stores() {
    let report = check_in_store(Arc::new(Ph4Format)).unwrap();
    assert!(report.declined().is_empty());
}

/// Each check ran.
fn ran(report: &Report, checks: &[&str]) {
    for check in checks {
        assert!(report.cases().any(|(ran, cases)| ran == *check && cases > 0), "{check} is not in {report}");
    }
}

#[test]
fn a_format_of_somebody_else_passes_and_every_method_is_seen_through_its_door() {
    let counted = Counted::default();
    let report = check(&counted).unwrap();
    assert!(report.declined().is_empty());
    ran(&report, &["promises", "places", "locate_many", "plugin", "flip", "cut", "repeat"]);
    let format =
        ["id", "name", "version", "keeps_keys", "check_params", "plan", "builder", "open", "describe"];
    let index = ["locate", "locate_many", "prefetch", "presence", "resident_bytes", "rejects_absent"];
    let mut all = [&format[..], &index[..]].concat();
    all.sort_unstable();
    assert_eq!(counted.calls.seen(), all);
}

#[test]
fn a_format_of_somebody_else_passes_in_stores() {
    let counted = Arc::new(Counted::default());
    let report = check_in_store(counted.clone()).unwrap();
    ran(&report, &["sorted", "answers", "used", "liar", "promise breaker", "damage", "rebuild"]);
    let seen = counted.calls.seen();
    for method in ["version", "check_params", "locate", "locate_many", "resident_bytes", "rejects_absent"] {
        assert!(seen.contains(&method), "{method} is not in {seen:?}");
    }
}

#[test]
fn a_format_that_keeps_keys_passes() {
    check(&Keeper::HONEST).unwrap();
    check_in_store(Arc::new(Keeper::HONEST)).unwrap();
}

#[test]
fn a_format_that_keeps_keys_and_is_wrong_is_caught() {
    for keeper in
        [Keeper { keeps_keys: false, ..Keeper::HONEST }, Keeper { mistakes_kinds: true, ..Keeper::HONEST }]
    {
        assert!(failed(&keeper).contains(&"promises"), "{keeper:?}");
    }
}

/// The names of the checks that fail.
fn failed(format: &dyn AccessorFormat) -> Vec<&'static str> {
    match Check::new(format).run() {
        Ok(_) => Vec::new(),
        Err(failures) => failures.checks().collect(),
    }
}

/// What is wrong with a format also shows in stores.
#[test]
fn faults_are_caught_in_stores() {
    for (fault, check) in
        [(Fault::FalseAbsent, "answers"), (Fault::WrongPlace, "used"), (Fault::DiffersEachTime, "rebuild")]
    {
        let failures = check_in_store(Arc::new(Broken::new(fault))).unwrap_err();
        assert!(failures.checks().any(|failed| failed == check), "{fault:?}: {failures}");
    }
}

fn assert_caught(faults: &[(Fault, &[&str])]) {
    for (fault, checks) in faults {
        assert_eq!(failed(&Broken::new(*fault)), *checks, "{fault:?}");
    }
}

#[test]
fn a_format_without_fault_fails_nothing() {
    assert_eq!(failed(&Plain), Vec::<&str>::new());
}

#[test]
fn faults_of_names_and_parameters_are_caught() {
    assert_caught(&[
        (Fault::BadName, &["name"]),
        (Fault::TakesAnyParameter, &["params"]),
        (Fault::DescribesNothing, &["describe"]),
    ]);
}

#[test]
fn faults_of_builders_are_caught() {
    assert_caught(&[
        (Fault::NeverBuilds, &["used"]),
        (Fault::PanicsInBuild, &["build"]),
        (Fault::DiffersEachTime, &["repeat"]),
        (Fault::BelievesEstimates, &["repeat"]),
        (Fault::DiesOfBeingDropped, &["drop"]),
        (Fault::SwallowsWriteErrors, &["write"]),
        (Fault::GuessesItsSize, &["estimate"]),
        (Fault::CountsKeysItDoesNotFind, &["keys"]),
    ]);
}

#[test]
fn wrong_answers_are_caught() {
    assert_caught(&[
        (Fault::FalseAbsent, &["flip", "promises"]),
        (Fault::DeletedWithoutKeys, &["flip", "promises"]),
        (Fault::WrongPlace, &["places"]),
        (Fault::EndlessRun, &["places"]),
        (Fault::PresenceWithoutKeys, &["flip", "presence"]),
        (Fault::ClaimsToReject, &["rejects_absent"]),
        (Fault::OtherAnswersForMany, &["locate_many", "plugin"]),
        (Fault::ForgetsTheLastOfMany, &["locate_many", "plugin"]),
    ]);
    assert!(!failed(&Broken::new(Fault::TiresOfAnswering)).is_empty());
}

#[test]
fn faults_with_damaged_files_are_caught() {
    assert_caught(&[
        (Fault::OpensNoMap, &["change", "open"]),
        (Fault::TrustsDamage, &["flip"]),
        (Fault::PanicsOnDamage, &["flip"]),
        (Fault::PanicsOnForgery, &["forge"]),
    ]);
}
