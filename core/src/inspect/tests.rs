//! Inspection of a small store's files, whole, cut and with every bit changed.

use std::fs;
use std::path::{Path, PathBuf};

use kiban_indexes::conformance::with_header;

use super::*;
use crate::error::ErrorKind;
use crate::{Db, IndexPolicy, Settings};

/// A closed store with a table, its index, a log and a jumbo record.
fn store() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::builder(dir.path()).index_policy(IndexPolicy::always("ph4")).open().unwrap();
    let keyspace = db.default_keyspace();
    for no in 0..60u32 {
        keyspace.put(format!("key{no:03}"), vec![b'v'; 100]).unwrap();
    }
    keyspace.put("large", vec![7; 70_000]).unwrap();
    db.flush().unwrap();
    db.wait_idle().unwrap();
    keyspace.put("logged", "value").unwrap();
    db.close().unwrap();
    drop(db);
    dir
}

fn file_with(dir: &Path, part: &str) -> PathBuf {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        names.filter(|path| path.file_name().unwrap().to_str().unwrap().contains(part)).collect();
    found.sort();
    found.pop().unwrap()
}

fn text(path: &Path, options: Options) -> Result<String, (ErrorKind, String)> {
    let mut out = Vec::new();
    match inspect(path, options, &mut out) {
        Ok(()) => Ok(String::from_utf8(out).unwrap()),
        Err(InspectError::File(error)) => Err((error.kind(), error.to_string())),
        Err(InspectError::Output(error)) => panic!("{error}"),
    }
}

fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}

#[test]
fn every_file_is_told_by_its_bytes_whatever_its_name() {
    let dir = store();
    let kinds: [(&str, &[&str]); 5] = [
        ("CURRENT", &["pointer", "manifest"]),
        ("MANIFEST", &["manifest", "default"]),
        (".log", &["log", "\"logged\"", "\"value\""]),
        (".ph4", &["61 keys", "# section directory", "offsets of ", "# hash page 0", "whole file"]),
        (".sst", &["data pages", "fence pages", "filter", "top tier", "properties", "footer"]),
    ];
    for (part, expected) in kinds {
        let file = file_with(dir.path(), part);
        assert_has(&text(&file, Options::new()).unwrap(), expected);
        let copy = dir.path().join("copy.bin");
        fs::copy(&file, &copy).unwrap();
        assert_has(&text(&copy, Options::new()).unwrap(), expected);
    }
}

#[test]
fn a_table_is_told_in_lines_in_full_or_by_the_page() {
    let dir = store();
    let file = file_with(dir.path(), ".sst");
    let lines = text(&file, Options::new()).unwrap();
    assert_has(
        &lines,
        &[
            "data page 0: ",
            "entries, \"key000\" to \"key0",
            "a jumbo run of",
            "\"large\"",
            " bytes are free, ",
        ],
    );
    assert!(!lines.contains("slot 0"), "{lines}");
    let full = text(&file, Options::new().entries(true)).unwrap();
    assert_has(&full, &["slot 0: entry at", "key \"key059\"", "key \"large\""]);
    let page = text(&file, Options::new().page(Some(0))).unwrap();
    assert_has(&page, &["data page 0", "key \"key000\""]);
    assert!(!page.contains("large") && !page.contains("footer"), "{page}");
}

#[test]
fn a_page_that_is_not_there_is_an_argument_error() {
    let dir = store();
    let refused = |part: &str, unit| text(&file_with(dir.path(), part), Options::new().page(Some(unit)));
    for (part, unit) in [(".sst", 100_000), (".sst", u32::MAX), (".log", 0), (".ph4", 0), ("CURRENT", 0)] {
        let (kind, message) = refused(part, unit).unwrap_err();
        assert_eq!(kind, ErrorKind::InvalidArgument, "{message}");
        assert!(message.starts_with("page: "), "{message}");
    }
}

#[test]
fn what_is_no_file_of_a_store_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in [("a.txt", &b"some text"[..]), ("empty", b""), ("LOCK", b"")] {
        let file = dir.path().join(name);
        fs::write(&file, bytes).unwrap();
        let (kind, message) = text(&file, Options::new()).unwrap_err();
        assert_eq!(kind, ErrorKind::Corruption);
        assert_eq!(message, format!("{}: it is no file of a store", file.display()));
    }
    let (kind, _) = text(&dir.path().join("missing"), Options::new()).unwrap_err();
    assert_eq!(kind, ErrorKind::Io);
    let (kind, _) = text(dir.path(), Options::new()).unwrap_err();
    assert_eq!(kind, ErrorKind::Io);
}

#[test]
fn a_cut_file_gives_an_error_that_names_it() {
    let dir = store();
    for part in ["CURRENT", ".ph4", ".sst"] {
        let file = file_with(dir.path(), part);
        let whole = fs::read(&file).unwrap();
        for cut in [0, 1, 8, 63, whole.len() / 2, whole.len().saturating_sub(4_096), whole.len() - 1] {
            fs::write(&file, &whole[..cut.min(whole.len() - 1)]).unwrap();
            let (kind, message) = text(&file, Options::new()).unwrap_err();
            assert_eq!(kind, ErrorKind::Corruption, "{message}");
            assert!(message.starts_with(&file.display().to_string()), "{message}");
        }
    }
}

#[test]
fn every_changed_byte_of_a_table_is_told() {
    let dir = store();
    let file = file_with(dir.path(), ".sst");
    let whole = fs::read(&file).unwrap();
    let copy = dir.path().join("copy.sst");
    // Steps that are no power of two meet every part of the file and of its fields.
    for at in (0..whole.len()).step_by(97).chain(whole.len() - 300..whole.len()) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&copy, &bytes).unwrap();
        let (kind, message) = match text(&copy, Options::new()) {
            Err(error) => error,
            Ok(_) => panic!("byte {at} of {} was changed unseen", whole.len()),
        };
        assert!(matches!(kind, ErrorKind::Corruption | ErrorKind::Unsupported), "byte {at}: {message}");
        let _ = text(&copy, Options::new().entries(true));
    }
}

#[test]
fn every_changed_bit_of_a_sidecar_is_told_and_all_that_can_be_read_is() {
    let dir = store();
    let file = file_with(dir.path(), ".ph4");
    let whole = fs::read(&file).unwrap();
    let copy = dir.path().join("copy.ph4");
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&copy, &bytes).unwrap();
        let Err((kind, message)) = text(&copy, Options::new()) else {
            panic!("bit {bit} was changed unseen")
        };
        assert!(matches!(kind, ErrorKind::Corruption | ErrorKind::Unsupported), "bit {bit}: {message}");
    }
    let mut bytes = whole.clone();
    bytes[70] ^= 1;
    fs::write(&copy, &bytes).unwrap();
    let mut out = Vec::new();
    let error = inspect(&copy, Options::new(), &mut out).unwrap_err().to_string();
    assert!(error.contains("accessor file") && error.contains("copy.ph4"), "{error}");
    let shown = String::from_utf8(out).unwrap();
    assert_has(&shown, &["DAMAGED", "# section directory", "magic of a whole file"]);
}

#[test]
fn a_sidecar_of_an_unknown_format_or_a_newer_version_is_told_as_bytes() {
    let dir = store();
    let file = file_with(dir.path(), ".ph4");
    let whole = fs::read(&file).unwrap();
    for newer in [true, false] {
        let bytes = with_header(&whole, |header| match newer {
            true => header.format_version += 1,
            false => header.format_id = 77_777,
        });
        fs::write(&file, bytes.unwrap()).unwrap();
        let shown = text(&file, Options::new()).unwrap();
        assert_has(&shown, &["# section pages", "# section directory", " bytes\n"]);
        assert!(!shown.contains("hash page"), "{shown}");
    }
}

/// A page's length stands on the page, so a damaged one may lie about where the next one starts.
#[test]
fn behind_a_damaged_page_of_a_table_with_long_ones_the_next_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::builder(dir.path()).settings(Settings::default()).open().unwrap();
    for no in 0..12u32 {
        // Four of these end in the 13th of the 16 units of the longest page.
        db.default_keyspace().put(format!("key{no:03}"), vec![no as u8; 13_090]).unwrap();
    }
    db.flush().unwrap();
    db.close().unwrap();
    let file = file_with(dir.path(), ".sst");
    let whole = fs::read(&file).unwrap();
    assert_has(
        &text(&file, Options::new()).unwrap(),
        &["data page 13: 4 entries", "data page 26: 4 entries"],
    );
    let second = 13 * 4_096;
    for (at, bit) in [(1, 0x10), (1, 0x40), (0, 1), (9_000, 1)] {
        let mut bytes = whole.clone();
        bytes[second + at] ^= bit;
        fs::write(&file, bytes).unwrap();
        let mut out = Vec::new();
        let result = inspect(&file, Options::new(), &mut out);
        assert!(matches!(result, Err(InspectError::File(_))), "byte {at}");
        let shown = String::from_utf8(out).unwrap();
        assert_has(&shown, &["data page 0: 4 entries", "data page 26: 4 entries", "fence page 39"]);
        assert_eq!(shown.matches("DAMAGED").count(), 1, "byte {at}: {shown}");
    }
}

#[test]
fn an_output_that_refuses_is_told_apart_from_the_file() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let dir = store();
    let result = inspect(&file_with(dir.path(), ".sst"), Options::new(), &mut Full);
    assert!(matches!(result, Err(InspectError::Output(_))), "{result:?}");
}
