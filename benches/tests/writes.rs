//! The write workload on few records, in seconds: every stage has its cells, and every store was
//! read back.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::time::Duration;

use kiban_benches::ab::{AbOptions, AbReport, Progress, Trials, run};
use kiban_benches::report::Status;

struct Silent;

impl Progress for Silent {
    fn step(&mut self, _done: u64, _total: u64, _what: &str) {}
}

fn small() -> AbOptions {
    AbOptions {
        workload: Some("w6".to_owned()),
        n: Some(2_000),
        trials: Trials::Pairs(5),
        time_box: Some(Duration::from_secs(6)),
        ..AbOptions::default()
    }
}

#[test]
fn every_stage_writes_and_reads_its_stores_back() {
    let AbReport { report, wrong, .. } = run(&small(), &mut Silent).unwrap();
    assert_eq!(wrong, Vec::<String>::new());
    let stages: Vec<&str> = report.cells.iter().map(|cell| cell.stage.as_str()).collect();
    assert_eq!(stages, ["write_buffered", "write_sync", "mixed"]);
    for cell in &report.cells {
        assert_eq!(cell.status, Status::Ok, "{:?}", cell.error);
        assert!(cell.noise_floor.is_some() && cell.trials.len() >= 5);
        let layout = if cell.stage == "mixed" { "bulk" } else { "empty" };
        assert_eq!((cell.layout.as_str(), cell.read.as_deref()), (layout, Some("mmap")));
    }
    // Lead-in, timed and untimed operations: 154 + 1,230 + 615 keys, and all of the input.
    let checked: Vec<Option<u64>> = report.cells.iter().map(|cell| cell.checked).collect();
    assert_eq!(checked, [Some(1_999), Some(1_625), Some(2_000)]);
}

#[cfg(feature = "controls")]
mod controls {
    use super::*;
    use kiban_benches::report::Report;

    fn beside(options: AbOptions) -> Report {
        let controls = ["lmdb", "sqlite", "fjall", "redb"].map(str::to_owned).to_vec();
        let AbReport { report, wrong, .. } = run(&AbOptions { controls, ..options }, &mut Silent).unwrap();
        assert_eq!(wrong, Vec::<String>::new());
        for cell in &report.cells {
            assert_eq!(cell.status, Status::Ok, "{} {}: {:?}", cell.accessor, cell.stage, cell.error);
            assert!(cell.checked > Some(0));
        }
        report
    }

    fn names(report: &Report, stage: &str) -> Vec<String> {
        let cells = report.cells.iter().filter(|cell| cell.stage == stage);
        cells.map(|cell| cell.accessor.clone()).collect()
    }

    #[test]
    fn other_stores_write_the_same_and_hold_the_same() {
        let report = beside(small());
        let each = ["sorted", "control:lmdb", "control:sqlite", "control:fjall", "control:redb"];
        for stage in ["write_buffered", "write_sync", "mixed"] {
            assert_eq!(names(&report, stage), each);
            let checked = report.cells.iter().filter(|cell| cell.stage == stage).map(|cell| cell.checked);
            assert_eq!(checked.clone().min(), checked.max());
        }
        let ratio = &report.cells[0].ratio_to["control:fjall"];
        assert!(ratio.p50.unwrap().median > 0.0 && ratio.p99.is_some());
    }

    #[test]
    fn other_stores_answer_every_question_in_both_layouts() {
        let report = beside(AbOptions {
            workload: Some("w1".to_owned()),
            layouts: vec!["bulk".to_owned(), "normal".to_owned()],
            reads: vec!["mmap".to_owned()],
            stages: ["point", "miss", "multiget", "latest", "scan"].map(str::to_owned).to_vec(),
            ..small()
        });
        let each = [
            "sorted",
            "ph4",
            "control:lmdb",
            "control:lmdb-reused-txn",
            "control:sqlite",
            "control:fjall",
            "control:redb",
            "floor",
        ];
        for stage in ["point", "miss", "multiget", "latest", "scan"] {
            assert_eq!(names(&report, stage), [each, each].concat());
        }
        let layouts: Vec<&str> = report.cells.iter().map(|cell| cell.layout.as_str()).collect();
        let (bulk, normal) = layouts.split_at(5 * each.len());
        assert!(bulk.iter().all(|layout| *layout == "bulk"));
        assert!(normal.iter().all(|layout| *layout == "normal") && normal.len() == bulk.len());
        let tables = report.cells.iter().filter(|cell| cell.accessor != "floor");
        tables.for_each(|cell| assert!(cell.disk_bytes.table > Some(2_000 * 256), "{}", cell.accessor));
    }
}
