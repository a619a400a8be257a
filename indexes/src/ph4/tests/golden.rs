//! The annotated dump of a small file is the one in `golden/`.

use std::path::Path;

use kiban_formats::describe::Dump;

use super::support::{build, read, table};
use crate::*;

/// The sections of a file, each as the format describes it.
fn dump(bytes: &[u8]) -> String {
    let file = read(bytes).unwrap();
    let mut dump = Dump::new();
    for section in file.sections() {
        dump.heading(format!("section {}", section.name));
        Ph4Format.describe(&file, section, &mut dump).unwrap();
    }
    dump.finish()
}

#[test]
fn small_files_are_the_golden_ones() {
    let dumps = [3, 200, 7_500].map(|count| {
        let (file, _) = build(&table(count, 13), 0x0123_4567_89AB_CDEF).unwrap();
        format!("# {count} keys\n{}", dump(&file))
    });
    let dump = dumps.concat();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/ph4.txt");
    if std::env::var_os("KIBAN_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &dump).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let line = golden.lines().zip(dump.lines()).position(|(golden, dump)| golden != dump);
    assert!(
        golden == dump,
        "{}: line {:?} (`just golden` writes it again)",
        path.display(),
        line.map(|no| no + 1)
    );
}
