//! Cold reads of few records: pages were really dropped, and what was read came from the device.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kiban_benches::ab::{AbOptions, AbReport, Progress, Trials, run};
use kiban_benches::report::{Cell, Report, Status};

struct Silent;

impl Progress for Silent {
    fn step(&mut self, _done: u64, _total: u64, _what: &str) {}
}

/// Device bytes are those of the whole process.
static ALONE: Mutex<()> = Mutex::new(());

/// `None`, told, where temporary files are in memory.
fn cold(options: AbOptions) -> Option<Report> {
    let options = AbOptions {
        shapes: vec!["w1".to_owned()],
        n: Some(20_000),
        stages: vec!["cold".to_owned()],
        trials: Trials::Pairs(5),
        time_box: Some(Duration::from_secs(3)),
        ..options
    };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let AbReport { report, wrong, .. } = run(&options, &mut Silent).unwrap();
    assert_eq!(wrong, Vec::<String>::new());
    if report.provenance.file_system.as_deref() == Some("tmpfs") {
        eprintln!("skipped: temporary files have no page cache to drop");
        return None;
    }
    for cell in &report.cells {
        let at = format!("{} {} {:?} {:?}", cell.accessor, cell.stage, cell.read, cell.advice);
        assert_eq!(cell.status, Status::Ok, "{at}: {:?}", cell.error);
        assert!(cell.checked > Some(9_000) && cell.trials.len() == 5, "{at}");
    }
    Some(report)
}

fn cells<'a>(report: &'a Report, accessor: &str, stage: &str) -> Vec<&'a Cell> {
    report.cells.iter().filter(|cell| cell.accessor == accessor && cell.stage == stage).collect()
}

fn device_bytes(cell: &Cell) -> f64 {
    cell.median_of(|trial| trial.device_bytes_per_op).unwrap()
}

#[test]
fn a_cold_hit_reads_its_pages_from_the_device_by_one_thread_and_by_four() {
    let Some(report) = cold(AbOptions { threads: vec![1, 4], ..AbOptions::default() }) else { return };
    for stage in ["cold_all", "cold_index_warm"] {
        for accessor in ["sorted", "ph4", "floor"] {
            let cells = cells(&report, accessor, stage);
            assert_eq!(cells.len(), 4, "{accessor} {stage}: two read modes, two numbers of threads");
            for cell in cells {
                let at = format!("{accessor} {stage} {:?} {}", cell.read, cell.threads);
                assert_eq!(cell.advice.as_deref(), Some("random"));
                // A trial has a part of the plan: few records share a page.
                assert!(device_bytes(cell) > 1_000.0, "{at}: {}", device_bytes(cell));
                assert!(device_bytes(cell) < 16_384.0, "{at}: {}", device_bytes(cell));
            }
        }
    }
    for cell in cells(&report, "ph4", "cold_all") {
        assert!(cell.disk_bytes.accessor > Some(0));
    }
}

#[cfg(feature = "controls")]
#[test]
fn other_stores_are_cold_too_and_are_told_the_same() {
    let controls = ["lmdb", "sqlite", "fjall", "redb"].map(str::to_owned).to_vec();
    let (reads, advice) = (vec!["mmap".to_owned()], ["random", "default"].map(str::to_owned).to_vec());
    let Some(report) = cold(AbOptions { controls, reads, advice, ..AbOptions::default() }) else { return };
    for accessor in
        ["control:lmdb", "control:lmdb-reused-txn", "control:sqlite", "control:fjall", "control:redb"]
    {
        let cells = cells(&report, accessor, "cold_all");
        let [random, default] = cells[..] else { panic!("{accessor}: {}", cells.len()) };
        assert_eq!((random.advice.as_deref(), default.advice.as_deref()), (Some("random"), Some("default")));
        assert!(device_bytes(random) > 100.0, "{accessor}: {}", device_bytes(random));
    }
}
