//! The maintenance workload on few records, in seconds: every stage has its cells, with indexes
//! beside all tables, and answers were compared.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::time::Duration;

use kiban_benches::ab::{AbOptions, AbReport, Progress, Trials, run};
use kiban_benches::report::{Cell, Status};

const N: u64 = 9_000;

struct Silent;

impl Progress for Silent {
    fn step(&mut self, _done: u64, _total: u64, _what: &str) {}
}

fn small() -> AbOptions {
    AbOptions {
        workload: Some("w3".to_owned()),
        n: Some(N),
        trials: Trials::Pairs(5),
        time_box: Some(Duration::from_secs(5)),
        ..AbOptions::default()
    }
}

fn cells(options: AbOptions) -> (Vec<Cell>, Vec<String>) {
    let AbReport { report, wrong, .. } = run(&options, &mut Silent).unwrap();
    (report.cells, wrong)
}

#[test]
fn both_stages_run_on_and_off_with_one_and_two_threads() {
    let (cells, wrong) = cells(small());
    assert_eq!(wrong, Vec::<String>::new());
    let places: Vec<(u32, &str, &str)> =
        cells.iter().map(|cell| (cell.threads, &*cell.stage, &*cell.accessor)).collect();
    let each = |threads| {
        [("flush", "sorted"), ("flush", "ph4"), ("compact", "sorted"), ("compact", "ph4")]
            .map(|(stage, accessor)| (threads, stage, accessor))
    };
    assert_eq!(places, [each(1), each(2)].concat());
    for cell in &cells {
        assert_eq!(cell.status, Status::Ok, "{} {}: {:?}", cell.stage, cell.accessor, cell.error);
        // Each question, and each record read back.
        assert_eq!(cell.checked, Some(3 * N), "{}", cell.stage);
        assert!(cell.noise_floor.is_some() && cell.trials.len() >= 5);
        let layout = if cell.stage == "flush" { "memtable" } else { "level0" };
        assert_eq!((cell.layout.as_str(), cell.read.as_deref()), (layout, Some("mmap")));
        for trial in &cell.trials {
            let row = trial.upkeep.as_ref().unwrap();
            assert!(0.0 < row.publish_s && row.publish_s <= row.idle_s && 0.0 < row.cpu_s, "{row:?}");
            assert!(row.bytes_written > Some(N * 256), "{row:?}");
            assert_eq!((trial.p50_ns, trial.histogram.len()), (None, 0));
        }
        let ratio = &cell.ratio_to["sorted"];
        assert!(ratio.publish.is_some() && ratio.idle.is_some() && ratio.cpu.is_some());
    }
}

#[test]
fn an_index_is_on_disk_where_it_is_on_and_none_is_where_it_is_off() {
    let stages = vec!["compact".to_owned()];
    let (cells, _) = cells(AbOptions { threads: vec![1], stages, ..small() });
    let [sorted, ph4] = &cells[..] else { panic!("{} cells", cells.len()) };
    assert_eq!((sorted.disk_bytes.accessor, sorted.bytes_per_key), (None, None));
    assert!(ph4.bytes_per_key.unwrap() > 1.0 && ph4.fallbacks == Some(0));
    assert!(ph4.resident_bytes > sorted.resident_bytes);
}

#[test]
fn a_table_that_its_index_does_not_read_fails_the_cell() {
    let (cells, wrong) = cells(AbOptions {
        threads: vec![1],
        cache_mib: vec![0],
        reads: vec!["pread".to_owned()],
        stages: vec!["flush".to_owned()],
        ..small()
    });
    let [sorted, ph4] = &cells[..] else { panic!("{} cells", cells.len()) };
    assert_eq!((sorted.status, ph4.status, wrong.len()), (Status::Ok, Status::Failed, 0));
    let error = ph4.error.as_deref().unwrap();
    assert!(error.contains("is read by `sorted`"), "{error}");
    assert!(ph4.trials.is_empty() && ph4.checked.is_none());
}
