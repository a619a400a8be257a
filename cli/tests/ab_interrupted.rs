//! Ctrl-C while `kiban ab` measures: a whole report of what there is.

#![cfg(unix)]

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

#[test]
fn a_first_ctrl_c_leaves_a_valid_report_and_no_stores() {
    let dir = tempfile::tempdir().unwrap();
    let (work, out) = (dir.path().join("work"), dir.path().join("report"));
    std::fs::create_dir(&work).unwrap();
    // Would go on for minutes.
    let ab = Command::new(env!("CARGO_BIN_EXE_kiban"))
        .args(["ab", "--quiet", "--shape", "w1", "--n", "20000", "--trials", "1000", "--time-box", "2h"])
        .args(["--format", "json", "--work-dir"])
        .arg(&work)
        .arg("--out")
        .arg(&out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let is_measuring = || {
        let runs = std::fs::read_dir(&work).unwrap().map(|entry| entry.unwrap().path());
        runs.map(|run| run.join("w1-bulk/kiban-ph4/LOCK")).any(|lock| lock.exists())
    };
    while !is_measuring() {
        thread::sleep(Duration::from_millis(5));
    }
    let told = Command::new("kill").args(["-INT", &ab.id().to_string()]).status().unwrap();
    assert!(told.success());
    let ended = ab.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{stderr}");
    let report: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let warning = report["provenance"]["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("the run was interrupted"), "{warning}");
    for cell in report["cells"].as_array().unwrap() {
        assert!(cell["status"] == "ok" || cell["status"] == "partial", "{cell}");
    }
    let written: Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("ab.json")).unwrap()).unwrap();
    assert_eq!(written, report);
    assert!(std::fs::read_dir(&work).unwrap().next().is_none(), "a store is left");
}
