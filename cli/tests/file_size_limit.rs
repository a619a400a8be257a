//! A limit on the size of files ends no command by a signal.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::fmt::Write as _;
use std::process::{Command, Output};

/// Runs the program so that no file of it may be longer than about 32 KiB.
fn limited(arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 64 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_kiban")]).args(arguments);
    command.output().unwrap()
}

#[test]
fn a_load_past_the_limit_is_an_error_that_names_the_file_and_the_store_opens_again() {
    let scratch = tempfile::tempdir().unwrap();
    let (store, input) = (scratch.path().join("store"), scratch.path().join("input.tsv"));
    let mut text = String::new();
    (0..5000).for_each(|no| writeln!(text, "key {no:06}\tvalue {no:06}").unwrap());
    std::fs::write(&input, text).unwrap();
    let [store, input] = [&store, &input].map(|path| path.to_str().unwrap());
    let load = limited(&["load", store, input, "--quiet"]);
    let said = String::from_utf8_lossy(&load.stderr);
    let code = load.status.code();
    assert!(code.is_some_and(|code| code != 0), "{:?}: {said}", load.status);
    assert!(said.contains(".log") || said.contains(".sst"), "{said}");

    let count = |output: Output| String::from_utf8(output.stdout).unwrap().trim().parse::<u64>().unwrap();
    assert!(count(limited(&["count", store])) < 5000);
    let mut again = Command::new(env!("CARGO_BIN_EXE_kiban"));
    again.args(["load", store, input, "--quiet"]);
    assert!(again.output().unwrap().status.success());
    assert_eq!(count(limited(&["count", store])), 5000);
}
