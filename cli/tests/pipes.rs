//! The program between pipes: standard input and output, other processes beside it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kiban"));
        command.args(words).current_dir(self.dir.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program with this on its standard input.
    fn run(&self, words: &[&str], input: &[u8]) -> Output {
        let mut child = self.command(words).spawn().unwrap();
        // A program that refuses its arguments reads nothing.
        let _ = child.stdin.take().unwrap().write_all(input);
        child.wait_with_output().unwrap()
    }

    /// Standard output of a run that must end well.
    fn good(&self, words: &[&str], input: &[u8]) -> Vec<u8> {
        let output = self.run(words, input);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", error(&output));
        output.stdout
    }
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn files(dir: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// Keys that a text form could garble.
fn awkward() -> Vec<Vec<u8>> {
    let words: [&[u8]; 11] = [
        b"",
        b"\0",
        b"\n",
        b"\r",
        b"\t",
        b"a\tb",
        b"\xff\xff",
        b"\"quoted\"",
        b"hex:61",
        b" ",
        "Zürich\u{85}".as_bytes(),
    ];
    let mut keys: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
    keys.push(vec![b'k'; 10 << 10]);
    keys.push((0..=255).collect());
    keys
}

#[test]
fn what_scan_prints_loads_into_an_equal_store() {
    let bench = Bench::new();
    let db = kiban::Db::open(bench.path("db")).unwrap();
    let mut keys = awkward();
    for (no, key) in keys.iter().enumerate() {
        db.default_keyspace().put(key, &keys[keys.len() - 1 - no]).unwrap();
    }
    db.close().unwrap();
    for form in [&["scan", "db"][..], &["scan", "db", "--hex"]] {
        let text = bench.good(form, b"");
        assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), keys.len(), "one line a key");
        let copy = format!("copy{}", form.len());
        bench.good(&["load", &copy, "-", "--quiet"], &text);
        assert_eq!(bench.good(&["scan", &copy], b""), bench.good(&["scan", "db"], b""));
    }
    let backward = bench.good(&["scan", "db", "--reverse", "--keys-only", "--hex"], b"");
    keys.sort();
    let hex = |key: &Vec<u8>| key.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let expected: String = keys.iter().rev().map(|key| format!("hex:{}\n", hex(key))).collect();
    assert_eq!(String::from_utf8(backward).unwrap(), expected);
}

#[test]
fn what_dump_writes_restores_into_an_equal_store() {
    let bench = Bench::new();
    let db = kiban::Db::open(bench.path("db")).unwrap();
    let keys = awkward();
    for (no, key) in keys.iter().enumerate() {
        db.default_keyspace().put(key, &keys[keys.len() - 1 - no]).unwrap();
    }
    db.close().unwrap();
    drop(db);
    let dump = bench.good(&["dump", "db", "-q"], b"");
    std::fs::write(bench.path("db.bin"), &dump).unwrap();
    bench.good(&["restore", "copy", "db.bin", "-q"], b"");
    bench.good(&["restore", "piped", "-", "-q"], &dump);
    for copy in ["copy", "piped"] {
        assert_eq!(bench.good(&["dump", copy, "-q"], b""), dump, "{copy}");
        assert_eq!(bench.good(&["count", copy], b""), format!("{}\n", keys.len()).into_bytes());
    }
    let output = bench.run(&["restore", "cut", "-", "-q"], &dump[..dump.len() - 1]);
    assert_eq!(output.status.code(), Some(3));
    assert!(error(&output).contains("standard input: it is cut"), "{}", error(&output));
}

#[test]
fn keys_come_from_standard_input_a_line_each() {
    let bench = Bench::new();
    let text: String = (0..2_500).map(|no| format!("key{no:04}\tvalue{no}\n")).collect();
    bench.good(&["load", "db", "-", "--quiet"], text.as_bytes());
    let keys: String = (0..2_500).map(|no| format!("key{no:04}\n")).collect();
    assert_eq!(bench.good(&["get", "db", "-"], keys.as_bytes()), text.as_bytes());

    let output = bench.run(&["get", "db", "-"], b"key0001\nabsent\nhex:6b657930303032");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"key0001\tvalue1\nkey0002\tvalue2\n");
    assert_eq!(error(&output), "kiban: key `absent` is absent from keyspace `default`\n");

    let output = bench.run(&["contains", "db", "-"], b"key0001\nabsent\n");
    assert_eq!(output.stdout, b"key0001\ttrue\nabsent\tfalse\n");
    assert_eq!(output.status.code(), Some(1));

    let output = bench.run(&["get", "db", "-"], b"key0001\nhex:0\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        error(&output).contains("standard input, line 2: key: `hex:0` has an odd number"),
        "{}",
        error(&output)
    );

    bench.good(&["delete", "db", "-"], &keys.as_bytes()[..8 * 1_234]);
    assert_eq!(bench.good(&["count", "db"], b""), b"1266\n");
    assert_eq!(bench.good(&["get", "db", "-"], b""), b"");
}

#[test]
fn any_bytes_of_standard_input_are_a_value() {
    let bench = Bench::new();
    for value in [&b"hex:61\n"[..], b"", b"\0\xff\r\n", &[9; 200_000]] {
        bench.good(&["put", "db", "key", "-"], value);
        assert_eq!(bench.good(&["get", "db", "key", "--raw"], b""), value);
    }
}

#[test]
fn a_bad_line_of_standard_input_keeps_what_was_loaded_before() {
    let bench = Bench::new();
    let output = bench.run(&["load", "db", "-"], b"a\t1\nbad\nc\t3\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(error(&output).starts_with("kiban: standard input, line 2: it has no TAB"), "{}", error(&output));
    assert!(!bench.path("db").exists(), "nothing was loaded, and a store was made");

    let good: String = (0..2_300).map(|no| format!("{no:05}\tv\n")).collect();
    let output = bench.run(&["load", "db", "-"], format!("{good}bad\n").as_bytes());
    assert_eq!(output.status.code(), Some(1));
    assert!(
        error(&output).contains("line 2301") && error(&output).contains("2000 records"),
        "{}",
        error(&output)
    );
    assert_eq!(bench.good(&["scan", "db"], b""), &good.as_bytes()[..2_000 * 8]);
}

#[test]
fn a_reader_that_goes_away_ends_a_scan_quietly() {
    let bench = Bench::new();
    let text: String = (0..40_000).map(|no| format!("key{no:06}\tvalue\n")).collect();
    bench.good(&["load", "db", "-", "--quiet"], text.as_bytes());
    let mut scan = bench.command(&["scan", "db"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::with_capacity(16, scan.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "key000000\tvalue\n");
    // The reading end was dropped with its first lines.
    let output = scan.wait_with_output().unwrap();
    assert_eq!((output.status.code(), error(&output)), (Some(0), String::new()));
}

#[test]
fn a_living_writer_locks_everybody_else_out_and_readers_share() {
    let bench = Bench::new();
    bench.good(&["put", "db", "key", "value"], b"");
    let writer = kiban::Db::open(bench.path("db")).unwrap();
    std::fs::write(bench.path("bad.tsv"), "no tab\n").unwrap();
    let refused: [&[&str]; 5] = [
        &["get", "db", "key"],
        &["count", "db"],
        &["put", "db", "key", "other"],
        &["delete", "db", "key"],
        // Before the file is read.
        &["load", "db", "bad.tsv"],
    ];
    for words in refused {
        let output = bench.run(words, b"");
        assert_eq!(output.status.code(), Some(3), "{words:?}");
        assert_eq!(error(&output), "kiban: store db is locked by another opener\n", "{words:?}");
        assert_eq!(output.stdout, b"");
    }
    writer.close().unwrap();
    let reader = kiban::Db::builder(bench.path("db")).read_only(true).open().unwrap();
    assert_eq!(bench.good(&["get", "db", "key"], b""), b"value\n");
    reader.close().unwrap();
}

#[test]
fn reading_changes_no_file() {
    let bench = Bench::new();
    bench.good(&["put", "db", "key", "value"], b"");
    let before = files(&bench.path("db"));
    for words in [&["get", "db", "key"][..], &["scan", "db"], &["count", "db"], &["stats", "db"]] {
        bench.good(words, b"");
        assert_eq!(files(&bench.path("db")), before, "{words:?}");
    }
}

#[test]
fn a_refused_load_changes_no_byte_of_the_store() {
    let bench = Bench::new();
    bench.good(&["put", "db", "key", "value"], b"");
    let bytes = || -> Vec<Vec<u8>> {
        let dir = bench.path("db");
        files(&dir).iter().map(|name| std::fs::read(dir.join(name)).unwrap()).collect()
    };
    let (names, before) = (files(&bench.path("db")), bytes());
    // More than a batch of good lines before the bad one.
    let text: String = (0..1_500).map(|no| format!("{no}\tv\n")).chain(["bad\n".to_owned()]).collect();
    std::fs::write(bench.path("bad.tsv"), text).unwrap();
    for (words, code) in [(&["load", "db", "bad.tsv"][..], 1), (&["load", "db", "bad.tsv", "--key", "k"], 2)]
    {
        assert_eq!(bench.run(words, b"").status.code(), Some(code), "{words:?}");
        assert_eq!((files(&bench.path("db")), bytes()), (names.clone(), before.clone()), "{words:?}");
    }
}

#[test]
fn events_are_told_on_request() {
    let bench = Bench::new();
    bench.good(&["put", "db", "key", "value"], b"");
    let output = bench.run(&["get", "db", "key", "-v"], b"");
    assert!(error(&output).starts_with("kiban: event {\"Recovered\":"), "{}", error(&output));
    assert_eq!(output.stdout, b"value\n");
}

#[test]
fn a_full_disk_behind_standard_output_is_trouble() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let bench = Bench::new();
    bench.good(&["put", "db", "key", "value"], b"");
    let device = std::fs::OpenOptions::new().write(true).open(full).unwrap();
    let output = bench.command(&["scan", "db"]).stdout(device).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert!(error(&output).starts_with("kiban: cannot write standard output:"), "{}", error(&output));
}
