//! A report of `kiban ab` as a reader of `ab.json` sees it: complete, measured and checked.
//!
//! `KIBAN_AB_REPORT` names a report that was written before; without it a small run is made.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// The stages that every input is measured in.
const ACCESSORS: [&str; 3] = ["sorted", "ph4", "floor"];
const STAGES: [&str; 4] = ["point", "miss", "multiget", "latest"];

/// Fewest trials of a cell: each of at least five pairs has one of its accessor.
const TRIALS_MIN: usize = 5;

/// What is missing from a report that should hold `sorted` and the floor on these inputs.
fn gaps(report: &Value, shapes: &[&str]) -> Vec<String> {
    let mut gaps = Vec::new();
    if report["schema_version"].as_u64().is_none() {
        gaps.push("schema_version is missing".to_owned());
    }
    for fact in ["command", "seed"] {
        if report["provenance"][fact].is_null() {
            gaps.push(format!("provenance.{fact} is missing"));
        }
    }
    let cells = report["cells"].as_array().map_or(&[][..], Vec::as_slice);
    for shape in shapes {
        for stage in STAGES {
            for accessor in ACCESSORS {
                let is_asked = |cell: &&Value| {
                    cell["shape"] == *shape && cell["stage"] == stage && cell["accessor"] == accessor
                };
                let name = format!("{accessor}, {shape}, {stage}");
                match cells.iter().filter(is_asked).collect::<Vec<_>>() {
                    found if found.is_empty() => gaps.push(format!("{name}: no cell")),
                    found => gaps.extend(
                        found.iter().flat_map(|cell| cell_gaps(cell)).map(|gap| format!("{name}: {gap}")),
                    ),
                }
            }
        }
    }
    gaps
}

/// What is missing from one cell.
fn cell_gaps(cell: &Value) -> Vec<String> {
    let mut gaps = Vec::new();
    if cell["status"] != "ok" {
        gaps.push(format!("status {}, error {}", cell["status"], cell["error"]));
    }
    if cell["checked"].as_u64().is_none_or(|checked| checked == 0) {
        gaps.push("no answer was checked".to_owned());
    }
    if !is_positive(&cell["noise_floor"]) {
        gaps.push("no noise floor".to_owned());
    }
    let trials = cell["trials"].as_array().map_or(&[][..], Vec::as_slice);
    if trials.len() < TRIALS_MIN {
        gaps.push(format!("{} trials", trials.len()));
    }
    for trial in trials {
        if !(is_positive(&trial["p50_ns"]) && trial["p99_ns"].as_f64() >= trial["p50_ns"].as_f64()) {
            gaps.push(format!("a trial with p50 {} and p99 {}", trial["p50_ns"], trial["p99_ns"]));
        }
    }
    if cell["accessor"] != "floor" {
        for measure in ["p50", "p99"] {
            if !is_positive(&cell["ratio_to"]["floor"][measure]["median"]) {
                gaps.push(format!("no ratio of {measure} to the floor"));
            }
        }
    }
    gaps
}

fn is_positive(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number > 0.0)
}

fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_report_is_complete_measured_and_checked() {
    if let Some(path) = std::env::var_os("KIBAN_AB_REPORT") {
        assert_eq!(gaps(&read(Path::new(&path)), &["file", "w1"]), Vec::<String>::new());
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_kiban"))
        .args([
            "ab",
            "--quiet",
            "--shape",
            "w1",
            "--n",
            "2000",
            "--time-box",
            "1s",
            "--read",
            "pread",
            "--out",
        ])
        .arg(out.path().join("report"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(gaps(&read(&out.path().join("report/ab.json")), &["w1"]), Vec::<String>::new());
}

/// A cell without a gap.
fn cell(accessor: &str, stage: &str) -> Value {
    let trials = vec![json!({ "p50_ns": 100.0, "p99_ns": 200.0 }); TRIALS_MIN];
    json!({
        "status": "ok", "accessor": accessor, "shape": "w1", "stage": stage, "checked": 5,
        "noise_floor": 0.01, "trials": trials,
        "ratio_to": { "floor": { "p50": { "median": 2.0 }, "p99": { "median": 2.0 } } },
    })
}

fn report() -> Value {
    let cells = STAGES.iter().flat_map(|stage| ACCESSORS.map(|accessor| cell(accessor, stage)));
    json!({
        "schema_version": 1, "provenance": { "command": "kiban ab", "seed": 1 },
        "cells": cells.collect::<Vec<_>>(),
    })
}

#[test]
fn each_gap_of_a_report_is_told() {
    assert!(gaps(&report(), &["w1"]).is_empty());
    assert_eq!(gaps(&report(), &["file"]).len(), ACCESSORS.len() * STAGES.len());

    let damages: [(&str, Value); 6] = [
        ("/cells/0/status", json!("failed")),
        ("/cells/0/checked", json!(0)),
        ("/cells/1/noise_floor", Value::Null),
        ("/cells/1/trials", json!([])),
        ("/cells/3/trials/3/p99_ns", json!(1.0)),
        ("/cells/4/ratio_to/floor/p99", Value::Null),
    ];
    for (place, value) in damages {
        let mut damaged = report();
        *damaged.pointer_mut(place).unwrap() = value;
        assert_eq!(gaps(&damaged, &["w1"]).len(), 1, "{place}");
    }
}
