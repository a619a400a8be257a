//! A whole run on few records, in seconds: the report's shape, checked answers, pages that were
//! really read.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use kiban_benches::ab::{AbError, AbOptions, AbReport, Progress, Trials, run};
use kiban_benches::input::Records;
use kiban_benches::report::{Cell, REPORT_FILES, Report, Status};
use serde_json::Value;

#[derive(Default)]
struct Steps(Vec<(u64, u64)>);

impl Progress for Steps {
    fn step(&mut self, done: u64, total: u64, _what: &str) {
        self.0.push((done, total));
    }
}

fn small(out: Option<&Path>) -> AbOptions {
    let pairs =
        (0..2_000).map(|no| (format!("user/{:05}/name", no * 7), format!("{{\"no\": {no}, \"x\": 1}}")));
    AbOptions {
        input: Some(Records::new("small.tsv", pairs).unwrap()),
        shapes: vec!["file".to_owned(), "w1".to_owned()],
        n: Some(2_000),
        trials: Trials::Pairs(5),
        time_box: Some(Duration::from_secs(8)),
        out: out.map(Path::to_owned),
        ..AbOptions::default()
    }
}

/// One run for all tests that only look at it.
static SMALL: LazyLock<AbReport> = LazyLock::new(|| run(&small(None), &mut Steps::default()).unwrap());

fn cells<'a>(report: &'a Report, accessor: &str, stage: &str) -> Vec<&'a Cell> {
    report.cells.iter().filter(|cell| cell.accessor == accessor && cell.stage == stage).collect()
}

#[test]
fn every_accessor_has_a_checked_cell_for_every_input_read_mode_and_stage() {
    let AbReport { report, wrong, .. } = &*SMALL;
    assert_eq!(*wrong, Vec::<String>::new());
    assert!(!SMALL.has_failed_cells());
    for (accessor, other) in [("sorted", "floor"), ("ph4", "sorted"), ("floor", "ph4")] {
        for stage in ["point", "miss", "multiget", "latest"] {
            let cells = cells(report, accessor, stage);
            assert_eq!(cells.len(), 4, "{accessor} {stage}: two inputs, two read modes");
            for cell in cells {
                assert_eq!(cell.status, Status::Ok, "{:?}", cell.error);
                assert!(cell.checked > Some(100) && cell.n == 2_000);
                assert!(cell.trials.len() >= 5);
                let p50 = cell.ratio_to[other].p50.unwrap();
                assert!(p50.min <= p50.median && p50.median <= p50.max && p50.min > 0.0);
                assert!(cell.noise_floor.is_some() && cell.min_detectable >= cell.noise_floor);
                for trial in &cell.trials {
                    assert!(trial.p50_ns <= trial.p99_ns && trial.p99_ns <= trial.p999_ns);
                    assert!(trial.histogram.is_sorted_by(|a, b| a.0 < b.0) && !trial.histogram.is_empty());
                }
            }
        }
    }
}

#[test]
fn the_engine_really_read_data_pages_and_the_floor_claims_none() {
    let report = &SMALL.report;
    for cell in [cells(report, "sorted", "point"), cells(report, "ph4", "point")].concat() {
        let pages = cell.median_of(|trial| trial.data_pages_per_op).unwrap();
        assert!((0.99..1.01).contains(&pages), "one data page a hit, found {pages}");
        assert!(cell.disk_bytes.table > Some(0));
    }
    for cell in cells(report, "ph4", "point") {
        let fences = cell.median_of(|trial| trial.index_pages_per_op).unwrap();
        assert!(fences < 0.01, "no fence page where the index answers, found {fences}");
        assert!((3.0..8.0).contains(&cell.bytes_per_key.unwrap()), "{:?}", cell.bytes_per_key);
        assert_eq!(cell.fallbacks, Some(0));
    }
    for cell in cells(report, "ph4", "miss") {
        let pages = cell.median_of(|trial| trial.data_pages_per_op).unwrap();
        assert!(pages < 0.02, "an absent key seldom needs a page, found {pages}");
    }
    for cell in cells(report, "floor", "point") {
        assert_eq!(cell.median_of(|trial| trial.data_pages_per_op), None);
        assert_eq!(cell.disk_bytes.table, None);
    }
}

#[test]
fn the_report_is_written_once_and_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new/report");
    let AbReport { report: written, files, .. } = run(&small(Some(&out)), &mut Steps::default()).unwrap();
    assert_eq!(files, REPORT_FILES.map(|name| out.join(name)));
    let json = std::fs::read_to_string(out.join("ab.json")).unwrap();
    let read = Report::from_json(&json).unwrap();
    assert_eq!(read.cells.len(), written.cells.len());
    assert_eq!(read.json().unwrap(), json, "the text is what its own reading writes");
    for name in REPORT_FILES {
        assert!(out.join(name).metadata().unwrap().len() > 0, "{name}");
    }
    let again = run(&small(Some(&out)), &mut Steps::default()).unwrap_err();
    assert!(matches!(&again, AbError::Usage(text) if text.contains("ab.json exists")), "{again}");
}

#[test]
fn the_json_has_every_field_of_the_published_form_and_null_for_what_is_unknown() {
    let json: Value = serde_json::from_str(&SMALL.report.json().unwrap()).unwrap();
    assert_eq!(json["schema_version"], 1);
    assert!(json["provenance"]["clock"]["cost_ns"].is_number());
    let cell = json["cells"][0].as_object().unwrap();
    let fields = "status error accessor shape n layout cache_mib read stage threads trials ratio_to noise_floor \
                  min_detectable verdict build_ns_per_key disk_bytes bytes_per_key resident_bytes peak_rss_bytes \
                  fallbacks checked";
    for field in fields.split_whitespace() {
        assert!(cell.contains_key(field), "{field} is missing");
    }
    let trial = cell["trials"][0].as_object().unwrap();
    let fields = "p50_ns p99_ns p999_ns mean_ns ops_per_s major_faults_per_op minor_faults_per_op data_pages_per_op \
                  index_pages_per_op device_bytes_per_op histogram";
    for field in fields.split_whitespace() {
        assert!(trial.contains_key(field), "{field} is missing");
    }
    for field in ["table", "accessor", "filter"] {
        assert!(cell["disk_bytes"].as_object().unwrap().contains_key(field), "{field} is missing");
    }
    for measure in ["p50", "p99", "mean"] {
        let spread = &cell["ratio_to"]["floor"][measure];
        assert!(spread["median"].is_number() && spread["min"].is_number() && spread["max"].is_number());
    }
    assert!(cell["bytes_per_key"].is_null() && cell["disk_bytes"]["accessor"].is_null());
}

#[test]
fn an_accessor_that_is_not_in_use_is_a_failed_cell_that_says_why() {
    let options = AbOptions {
        input: None,
        shapes: vec!["w1".to_owned()],
        cache_mib: vec![0],
        reads: vec!["pread".to_owned()],
        stages: vec!["point".to_owned()],
        ..small(None)
    };
    let finished = run(&options, &mut Steps::default()).unwrap();
    assert!(finished.has_failed_cells() && finished.wrong.is_empty());
    let cell = cells(&finished.report, "ph4", "point")[0];
    assert_eq!((cell.status, cell.trials.len()), (Status::Failed, 0));
    let error = cell.error.as_deref().unwrap();
    assert!(error.contains("is read by `sorted`") && error.contains("asked by ph4 resident"), "{error}");
    assert_eq!(cells(&finished.report, "sorted", "point")[0].status, Status::Ok);
}

#[test]
fn an_accessor_can_be_compared_with_itself() {
    let options = AbOptions {
        input: None,
        accessors: vec!["ph4".to_owned(), "ph4".to_owned()],
        shapes: vec!["w1".to_owned()],
        stages: vec!["point".to_owned()],
        reads: vec!["mmap".to_owned()],
        ..small(None)
    };
    let report = run(&options, &mut Steps::default()).unwrap().report;
    let cell = cells(&report, "ph4#2", "point")[0];
    assert_eq!(cell.status, Status::Ok, "{:?}", cell.error);
    assert!(cell.ratio_to.contains_key("ph4"));
}

/// Stops the run when a step begins whose words end so.
struct StopAt(&'static str, Arc<AtomicBool>);

impl Progress for StopAt {
    fn step(&mut self, _done: u64, _total: u64, what: &str) {
        if what.ends_with(self.0) {
            self.1.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_run_that_is_stopped_is_a_report_of_what_it_has() {
    let (dir, stop) = (tempfile::tempdir().unwrap(), Arc::new(AtomicBool::new(false)));
    let out = dir.path().join("report");
    let options = AbOptions {
        stop: Some(stop.clone()),
        stages: ["point", "miss", "latest"].map(str::to_owned).to_vec(),
        ..small(Some(&out))
    };
    let AbReport { report, files, .. } = run(&options, &mut StopAt("mmap: miss", stop)).unwrap();
    assert_eq!(files.len(), REPORT_FILES.len());
    for (stage, status) in [("point", Status::Ok), ("miss", Status::Partial)] {
        let cells: Vec<&Cell> = report.cells.iter().filter(|cell| cell.stage == stage).collect();
        assert_eq!(cells.len(), 3, "one input, one read mode, three engines");
        assert!(cells.iter().all(|cell| cell.status == status), "{stage}");
    }
    assert!(!report.cells.iter().any(|cell| cell.stage == "latest"));
    let warning = &report.provenance.warnings[0];
    assert!(warning.starts_with("the run was interrupted: 10 stages were not begun"), "{warning}");
    let read = Report::from_json(&std::fs::read_to_string(out.join("ab.json")).unwrap()).unwrap();
    assert_eq!(read.cells.len(), report.cells.len());
    for text in [report.table(), report.markdown(), report.csv(), report.html()] {
        assert!(text.to_lowercase().contains("partial"), "{text}");
    }
}

#[test]
fn steps_count_up_to_their_total() {
    let mut steps = Steps::default();
    let options = AbOptions {
        input: None,
        shapes: vec!["w1".to_owned()],
        stages: vec!["point".to_owned()],
        ..small(None)
    };
    run(&options, &mut steps).unwrap();
    assert_eq!(steps.0, [(0, 3), (1, 3), (2, 3)]);
}

#[test]
fn tables_in_all_forms_name_each_accessor_and_the_noise() {
    let report = &SMALL.report;
    for text in [report.table(), report.markdown(), report.csv()] {
        assert!(text.contains("sorted") && text.contains("floor") && text.contains("latest"), "{text}");
    }
    assert!(report.table().contains("+-") && report.table().contains("Answers checked in full"));
    let columns = |line: &str| line.split(',').count();
    let csv = report.csv();
    let widths: Vec<usize> = csv.lines().map(columns).collect();
    assert!(widths.iter().all(|width| *width == widths[0]), "{csv}");
}
