//! A load that is killed leaves a prefix of the file, in load order; loading again completes it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Lines of the input, not a multiple of a batch.
const LINES: u64 = 30_500;
/// Lines of a batch.
const BATCH_LINES: usize = 1_000;
/// Time after which a load that has written nothing is a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// Line `no`: keys in no order, the same on each call.
fn line(no: u64) -> (String, String) {
    (format!("key/{:016x}", no.wrapping_mul(0x9e37_79b9_7f4a_7c15)), format!("value {no}"))
}

fn kiban(arguments: &[&str], db: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kiban"));
    command.arg(arguments[0]).arg(db).args(&arguments[1..]);
    command
}

fn output(arguments: &[&str], db: &Path) -> Output {
    kiban(arguments, db).output().unwrap()
}

/// What `scan` prints.
fn contents(db: &Path) -> BTreeMap<String, String> {
    let scan = output(&["scan"], db);
    assert!(scan.status.success(), "{}", String::from_utf8_lossy(&scan.stderr));
    let text = String::from_utf8(scan.stdout).unwrap();
    text.lines()
        .map(|line| line.split_once('\t').unwrap())
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect()
}

/// The first `count` lines as a store holds them.
fn first(count: usize) -> BTreeMap<String, String> {
    (0..count as u64).map(line).collect()
}

/// Bytes of the store's logs.
fn log_bytes(db: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(db) else { return 0 };
    let logs = entries.flatten().filter(|entry| entry.path().extension().is_some_and(|name| name == "log"));
    logs.filter_map(|log| log.metadata().ok()).map(|log| log.len()).sum()
}

/// Feeds whole lines and keeps the input open, so that the load is still running.
fn feed(load: &mut Child, lines: std::ops::Range<u64>) {
    let mut text = Vec::new();
    for (key, value) in lines.map(line) {
        writeln!(text, "{key}\t{value}").unwrap();
    }
    let stdin = load.stdin.as_mut().unwrap();
    stdin.write_all(&text).unwrap();
    stdin.flush().unwrap();
}

#[test]
fn a_killed_load_leaves_a_prefix_in_load_order_and_loading_again_completes_it() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("store");
    let mut load = kiban(&["load", "-", "--quiet"], &db).stdin(Stdio::piped()).spawn().unwrap();
    feed(&mut load, 0..LINES);
    // More than the first batches, so that the kill falls between others.
    let began = Instant::now();
    while log_bytes(&db) < 500_000 {
        assert!(began.elapsed() < PATIENCE, "the load writes nothing");
        std::thread::sleep(Duration::from_millis(2));
    }
    load.kill().unwrap();
    load.wait().unwrap();

    let left = contents(&db);
    assert!(!left.is_empty() && left.len() < LINES as usize, "{} of {LINES} lines", left.len());
    assert_eq!(left.len() % BATCH_LINES, 0, "a batch is whole or absent");
    assert!(left == first(left.len()), "the {} keys are not the first lines", left.len());

    let file = dir.path().join("all.tsv");
    let text: String = (0..LINES).map(line).map(|(key, value)| format!("{key}\t{value}\n")).collect();
    std::fs::write(&file, text).unwrap();
    for _ in 0..2 {
        let again = output(&["load", file.to_str().unwrap()], &db);
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
        assert!(contents(&db) == first(LINES as usize), "loading again leaves other contents");
    }
}
