//! A report rendered again from its JSON: every form, its files, and what is refused.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::Path;
use std::process::{Command, Output};

/// A report with a failed and a partial cell in each setting.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/golden/ab.json");
const FILES: [&str; 4] = ["ab.json", "ab.csv", "ab.md", "ab.html"];

fn ab(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kiban")).arg("ab").args(arguments).output().unwrap()
}

/// What a command that must succeed prints.
fn printed(arguments: &[&str]) -> String {
    let output = ab(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The exit code and the message of a command that must fail.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = ab(arguments);
    assert!(output.stdout.is_empty(), "{arguments:?}");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn read(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap()
}

#[test]
fn each_form_is_printed_as_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("report");
    printed(&["--render", SAMPLE, "--out", out.to_str().unwrap()]);
    for (format, name) in ["json", "csv", "markdown", "html"].into_iter().zip(FILES) {
        let text = printed(&["--render", SAMPLE, "--format", format]);
        assert!(text == read(&out, name), "{name} is not what --format {format} prints");
    }
    assert!(read(&out, "ab.json") == std::fs::read_to_string(SAMPLE).unwrap(), "the JSON is kept as it was");
    assert_eq!(printed(&["--render", SAMPLE]), printed(&["--render", SAMPLE, "--format", "table"]));
}

#[test]
fn failed_and_partial_cells_are_told_with_their_reasons_in_every_form() {
    for format in ["table", "json", "csv", "markdown", "html"] {
        let text = printed(&["--render", SAMPLE, "--format", format]);
        let lower = text.to_lowercase();
        for told in ["failed", "wrong answer: key", "k17", "partial", "the time box ended after 2 of 5 pairs"]
        {
            assert!(lower.contains(told), "{format}: {told}");
        }
    }
}

#[test]
fn a_directory_with_any_file_of_a_report_is_refused_without_force() {
    for name in FILES {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().to_str().unwrap();
        std::fs::write(dir.path().join(name), "mine").unwrap();
        for arguments in
            [&["--render", SAMPLE, "--out", out][..], &["--n", "1000", "--shape", "w1", "--out", out]]
        {
            let (code, told) = refused(arguments);
            assert_eq!(code, Some(2), "{arguments:?}");
            assert_eq!(
                told,
                format!("kiban: --out: {} exists; --force overwrites it\n", dir.path().join(name).display())
            );
        }
        assert_eq!(read(dir.path(), name), "mine");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing was written beside it");
        printed(&["--render", SAMPLE, "--out", out, "--force"]);
        assert_ne!(read(dir.path(), name), "mine");
    }
}

#[test]
fn a_report_may_be_rendered_over_itself() {
    let dir = tempfile::tempdir().unwrap();
    let (json, out) = (dir.path().join("ab.json"), dir.path().to_str().unwrap());
    std::fs::copy(SAMPLE, &json).unwrap();
    let output = ab(&["--render", json.to_str().unwrap(), "--out", out, "--force"]);
    assert!(output.status.success());
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told.lines().filter(|line| line.starts_with("wrote ")).count(), FILES.len(), "{told}");
    assert!(read(dir.path(), "ab.json") == std::fs::read_to_string(SAMPLE).unwrap());
}

#[test]
fn a_report_of_another_version_or_with_a_part_missing_is_refused_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ab.json");
    let sample = std::fs::read_to_string(SAMPLE).unwrap();
    for (from, to, told) in [
        ("\"schema_version\":1", "\"schema_version\":2", "report of schema version 2; this build reads 1"),
        ("\"provenance\"", "\"origin\"", "missing field `provenance`"),
        ("\"verdict\":\"same\"", "\"verdict\":\"best\"", "unknown variant `best`"),
    ] {
        std::fs::write(&file, sample.replace(from, to)).unwrap();
        let (code, message) = refused(&["--render", file.to_str().unwrap()]);
        assert_eq!(code, Some(3));
        assert!(message.contains(told) && message.contains("ab.json"), "{message}");
    }
}

#[test]
fn the_schema_is_the_golden_file() {
    let golden =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/schema/ab.schema.json"));
    assert!(printed(&["--schema"]) == golden.unwrap());
}
