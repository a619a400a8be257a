//! The program with an index format of somebody else: every command knows it.
//!
//! Started with the variable below this is that program, else the test of it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

#[path = "../../core/tests/common/plain.rs"]
mod plain;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use plain::Plain;

/// Set: run as the program; `twice` registers the format twice.
const PROGRAM: &str = "KIBAN_TEST_PROGRAM";

fn main() -> ExitCode {
    if let Some(times) = std::env::var_os(PROGRAM) {
        let times = if times == "twice" { 2 } else { 1 };
        return kiban_cli::main_with((0..times).map(|_| Arc::new(Plain) as _).collect());
    }
    // Whoever lists tests, or asks for one by its name, has none here.
    if std::env::args().skip(1).any(|word| word == "--list" || !word.starts_with('-')) {
        return ExitCode::SUCCESS;
    }
    every_command_knows_the_format();
    a_format_that_cannot_be_registered_is_told();
    println!("test result: ok. 2 passed");
    ExitCode::SUCCESS
}

/// What a run of the program came to.
#[derive(Debug)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn run(mut command: Command, words: &[&str]) -> Ran {
    let output = command.args(words).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// The program with the format.
fn with_format(words: &[&str]) -> Ran {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(PROGRAM, "once");
    run(command, words)
}

fn every_command_knows_the_format() {
    let scratch = tempfile::tempdir().unwrap();
    let store = scratch.path().join("store");
    let db = store.to_str().unwrap();
    let file = scratch.path().join("fruit.tsv");
    std::fs::write(&file, "apple\tred\npear\tgreen\nplum\tblue\n").unwrap();
    let policy = scratch.path().join("plain.toml");
    std::fs::write(&policy, "[[rule]]\nbuild = [\"plain\"]\n").unwrap();
    let (file, policy) = (file.to_str().unwrap(), policy.to_str().unwrap());

    let done = |words: &[&str]| {
        let ran = with_format(words);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{words:?}: {ran:?}");
        ran.out
    };
    done(&["load", db, file, "-q"]);
    done(&["compact", db, "-q"]);
    let wanted = done(&["explain", db, "--policy", policy, "--format", "csv"]);
    assert!(wanted.contains(",sorted,") && wanted.contains("plain missing"), "{wanted}");
    let built = done(&["reindex", db, "--build", "plain", "--drop", "ph4", "--format", "csv"]);
    assert_eq!(built, "keyspace,built,kept,dropped,declined\ndefault,1,0,1,0\n");
    let explained = done(&["explain", db, "--format", "csv"]);
    assert!(explained.contains(",plain,plain active resident "), "{explained}");
    assert!(done(&["levels", db, "--format", "csv"]).ends_with(",plain 1\n"));
    assert_eq!(done(&["get", db, "pear"]), "green\n");
    assert!(done(&["stats", db, "--format", "csv"]).contains("\naccessors.plain.tables,1\n"));
    done(&["verify", db, "-q"]);
    done(&["repair", db, "-q"]);
    let inspected = done(&["inspect", &sidecar(&store)]);
    assert!(inspected.contains("rows"), "{inspected}");
    let measured = done(&[
        "ab",
        "--input",
        file,
        "--accessors",
        "sorted,plain",
        "--read",
        "mmap",
        "--stages",
        "point",
        "--trials",
        "5",
        "--time-box",
        "1s",
        "--format",
        "csv",
        "-q",
    ]);
    assert!(measured.lines().any(|line| line.starts_with("plain,file,3,")), "{measured}");

    // The program without it says which format the store asks for.
    let without = run(Command::new(env!("CARGO_BIN_EXE_kiban")), &["get", db, "pear"]);
    assert_eq!(without.code, 3, "{without:?}");
    assert!(without.err.contains("`plain`") && without.err.contains("default"), "{without:?}");
}

fn sidecar(store: &Path) -> String {
    let files = std::fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let sidecar = files.into_iter().find(|path| path.extension().is_some_and(|name| name == "plain"));
    sidecar.unwrap().to_str().unwrap().to_owned()
}

fn a_format_that_cannot_be_registered_is_told() {
    let mut twice = Command::new(std::env::current_exe().unwrap());
    twice.env(PROGRAM, "twice");
    let ran = run(twice, &["count", "nowhere"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("index format `plain`: there is one of this name"), "{ran:?}");
}
