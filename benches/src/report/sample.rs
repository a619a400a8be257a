//! A small report with every field filled, for tests of what is made from reports.

use std::collections::BTreeMap;

use super::{
    Cell, ClockFacts, DiskBytes, Provenance, RatioTo, Report, SCHEMA_VERSION, Spread, Status, TrialRow,
    UpkeepRow, Verdict,
};

pub(crate) fn report() -> Report {
    Report {
        schema_version: SCHEMA_VERSION,
        provenance: provenance(),
        cells: vec![cell("sorted"), cell("floor")],
    }
}

/// A report with several settings and stages, losses, and a failed and a partial cell. Its numbers
/// follow from a table of how many times as long as `sorted` each takes.
pub(crate) fn wide() -> Report {
    let mut cells = Vec::new();
    for (read, stages) in [("mmap", &STAGES[..]), ("pread", &STAGES[..2])] {
        for (stage, base_ns, factors) in stages {
            for ((accessor, bytes), factor) in ACCESSORS.iter().zip(factors) {
                let names = ACCESSORS.iter().map(|(name, _)| *name);
                let ratios: Vec<(&str, f64)> =
                    names.zip(factors).map(|(name, theirs)| (name, factor / theirs)).collect();
                cells.push(wide_cell((accessor, read, stage), *bytes, base_ns * factor, &ratios));
            }
        }
    }
    for cell in &mut cells {
        match (cell.accessor.as_str(), cell.stage.as_str()) {
            ("btree", "miss") => {
                cell.status = Status::Failed;
                cell.error = Some("wrong answer: key \"k17\": expected absent, got \"ghost\"".to_owned());
                (cell.verdict, cell.checked) = (Verdict::None, None);
            }
            ("ph4", "multiget") => {
                cell.status = Status::Partial;
                cell.error = Some("the time box ended after 2 of 5 pairs".to_owned());
            }
            _ => {}
        }
    }
    Report { cells, ..report() }
}

/// A report of a compaction with two background threads, without an index and with one.
pub(crate) fn upkeep() -> Report {
    let spread = |median: f64, least: f64, most: f64| {
        Some(Spread { median, min: least, max: most, low: least, high: most })
    };
    let cell_of = |accessor: &str, to_sorted: RatioTo, add: f64| Cell {
        accessor: accessor.to_owned(),
        layout: "level0".to_owned(),
        stage: "compact".to_owned(),
        threads: 2,
        error: None,
        trials: vec![upkeep_trial(add)],
        ratio_to: BTreeMap::from([("sorted".to_owned(), to_sorted)]),
        ..cell(accessor)
    };
    let equal = spread(1.0, 0.99, 1.01);
    let itself = RatioTo { publish: equal, idle: equal, cpu: equal, written: equal, ..RatioTo::default() };
    let indexed = RatioTo {
        publish: spread(1.02, 1.0, 1.05),
        idle: spread(1.1, 1.05, 1.15),
        cpu: spread(1.2, 1.0, 1.4),
        written: spread(1.01, 1.01, 1.01),
        ..RatioTo::default()
    };
    Report { cells: vec![cell_of("sorted", itself, 0.0), cell_of("ph4", indexed, 0.5)], ..report() }
}

fn upkeep_trial(add: f64) -> TrialRow {
    TrialRow {
        p50_ns: None,
        p99_ns: None,
        p999_ns: None,
        mean_ns: None,
        ops_per_s: None,
        major_faults_per_op: None,
        minor_faults_per_op: None,
        data_pages_per_op: None,
        index_pages_per_op: None,
        device_bytes_per_op: None,
        histogram: Vec::new(),
        upkeep: Some(UpkeepRow {
            publish_s: 1.0 + add,
            idle_s: 2.0 + add,
            cpu_s: 3.0 + add,
            bytes_written: Some(4 << 20),
            publish_heap_bytes: 5 << 20,
            idle_heap_bytes: 6 << 20,
        }),
        ..trial(1.0)
    }
}

/// Accessors of [`wide`], with their bytes a key.
const ACCESSORS: [(&str, Option<f64>); 6] = [
    ("sorted", None),
    ("ph4", Some(4.25)),
    ("btree", Some(1.5)),
    ("control:lmdb", None),
    ("control:fjall", None),
    ("floor", None),
];
/// Stages of [`wide`]: the p50 of `sorted`, and how many times as long each accessor takes.
const STAGES: [(&str, f64, [f64; 6]); 4] = [
    ("point", 800.0, [1.0, 0.5, 0.8, 1.25, 5.0, 0.4]),
    ("miss", 100.0, [1.0, 0.9, 1.1, 8.0, 3.0, 0.5]),
    ("multiget", 600.0, [1.0, 0.45, 1.0, 1.5, 6.0, 0.3]),
    ("latest", 2_000.0, [1.0, 1.02, 1.3, 0.8, 4.0, 0.2]),
];

fn wide_cell(place: (&str, &str, &str), bytes_per_key: Option<f64>, ns: f64, ratios: &[(&str, f64)]) -> Cell {
    let (accessor, read, stage) = place;
    let is_ours = !accessor.starts_with("control:") && accessor != "floor";
    let first = ratios[0].1;
    let verdict = match first {
        ratio if ratio < 0.95 => Verdict::Faster,
        ratio if ratio > 1.05 => Verdict::Slower,
        _ => Verdict::Same,
    };
    let others = ratios.iter().filter(|(to, _)| *to != accessor || accessor == ACCESSORS[0].0);
    Cell {
        error: None,
        accessor: accessor.to_owned(),
        n: 1_000_000,
        read: Some(read.to_owned()),
        stage: stage.to_owned(),
        trials: vec![trial(ns), trial(ns * 1.25)],
        ratio_to: others.map(|(to, ratio)| ((*to).to_owned(), around(*ratio))).collect(),
        verdict,
        build_ns_per_key: (accessor != "floor").then_some(700.0 + 10.0 * bytes_per_key.unwrap_or(0.0)),
        disk_bytes: DiskBytes {
            table: (accessor != "floor").then_some(300_000_000),
            accessor: bytes_per_key.map(|bytes| (bytes * 1e6) as u64),
            filter: is_ours.then_some(1_250_000),
        },
        bytes_per_key,
        bytes_per_key_parts: None,
        fallbacks: None,
        ..cell(accessor)
    }
}

/// A ratio with intervals that are narrow around it.
fn around(ratio: f64) -> RatioTo {
    let part = |part: f64| (ratio * part * 1e4).round() / 1e4;
    let spread =
        Spread { median: part(1.0), min: part(0.875), max: part(1.25), low: part(0.95), high: part(1.04) };
    RatioTo { p50: Some(spread), p99: Some(spread), mean: Some(spread), ..RatioTo::default() }
}

/// [`wide`] as the file that tests of the program read.
#[test]
fn the_golden_report_is_the_wide_sample() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/ab.json");
    if std::env::var_os("KIBAN_UPDATE_GOLDEN").is_some() {
        std::fs::write(file, wide().json().unwrap()).unwrap();
    }
    let mut golden = Report::from_json(&std::fs::read_to_string(file).unwrap()).unwrap();
    // New settings of the engine are no reason to write it again.
    golden.provenance.settings = kiban::Settings::default();
    assert!(golden == wide(), "run `just golden`");
}

fn cell(accessor: &str) -> Cell {
    let spread = Some(Spread { median: 2.0, min: 1.5, max: 2.5, low: 1.75, high: 2.25 });
    let ratio = RatioTo { p50: spread, p99: spread, mean: spread, ..RatioTo::default() };
    Cell {
        error: Some("nothing, \"really\"".to_owned()),
        accessor: accessor.to_owned(),
        cache_mib: Some(64),
        read: Some("mmap".to_owned()),
        stage: "point".to_owned(),
        trials: vec![trial(100.0), trial(300.0), trial(200.0)],
        ratio_to: ["sorted", "floor"].map(|name| (name.to_owned(), ratio.clone())).into(),
        noise_floor: Some(0.015),
        min_detectable: Some(0.02),
        verdict: Verdict::Slower,
        build_ns_per_key: Some(1_000.5),
        disk_bytes: DiskBytes { table: Some(10), accessor: Some(20), filter: Some(30) },
        bytes_per_key: Some(1.5),
        bytes_per_key_parts: Some(BTreeMap::from([("fences".to_owned(), 0.5)])),
        resident_bytes: Some(40),
        peak_rss_bytes: Some(50),
        fallbacks: Some(60),
        checked: Some(70),
        ..Cell::of_shape("w1", 1_000)
    }
}

fn trial(p50_ns: f64) -> TrialRow {
    TrialRow {
        p50_ns: Some(p50_ns),
        p99_ns: Some(p50_ns * 2.0),
        p999_ns: Some(p50_ns * 3.0),
        mean_ns: Some(p50_ns * 1.25),
        ops_per_s: Some(2_000_000.0),
        major_faults_per_op: Some(0.0),
        minor_faults_per_op: Some(0.5),
        data_pages_per_op: Some(1.0),
        index_pages_per_op: Some(1.25),
        device_bytes_per_op: Some(4096.0),
        steal: Some(0.01),
        other_cpu: Some(0.02),
        histogram: [(0.5, 5), (0.75, 20), (1.0, 60), (1.5, 90), (2.0, 19), (3.0, 6)]
            .map(|(part, count)| (p50_ns * part, count))
            .into(),
        upkeep: None,
    }
}

fn provenance() -> Provenance {
    Provenance {
        version: "0.1.0".to_owned(),
        commit: Some("abc".to_owned()),
        dirty: Some(true),
        binary_xxh3: Some("0123456789abcdef".to_owned()),
        command: vec!["kiban".to_owned(), "ab".to_owned()],
        input: Some("places.tsv.gz".to_owned()),
        seed: 7,
        settings: kiban::Settings::default(),
        cpu: Some("Fast 9".to_owned()),
        cores: Some(2),
        kernel: Some("6.1".to_owned()),
        file_system: Some("ext4".to_owned()),
        allocator: "system (libc)".to_owned(),
        clock: ClockFacts { name: "tsc".to_owned(), ticks_per_ns: 2.5, step_ns: 0.4, cost_ns: 12.5 },
        pinned: false,
        time_box_s: 60.0,
        elapsed_s: Some(59.5),
        load_average_before: Some(0.5),
        load_average_after: Some(1.5),
        steal_max: Some(0.01),
        other_cpu_max: Some(0.2),
        warnings: vec!["w1 mmap point: other processes used 20 % of all processor time".to_owned()],
    }
}
