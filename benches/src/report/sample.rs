//! A small report with every field filled, for tests of what is made from reports.

use std::collections::BTreeMap;

use super::{
    Cell, ClockFacts, DiskBytes, Provenance, RatioTo, Report, SCHEMA_VERSION, Spread, TrialRow, Verdict,
};

pub(crate) fn report() -> Report {
    Report {
        schema_version: SCHEMA_VERSION,
        provenance: provenance(),
        cells: vec![cell("sorted"), cell("floor")],
    }
}

fn cell(accessor: &str) -> Cell {
    let spread = Some(Spread { median: 2.0, min: 1.5, max: 2.5, low: 1.75, high: 2.25 });
    let ratio = RatioTo { p50: spread, p99: spread, mean: spread };
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
        histogram: vec![(100.5, 3), (200.25, 4)],
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
