//! The annotated dumps under `formats/golden/` are what the formats write. A change of bytes
//! shows as a difference here; `just golden` writes the dumps again.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod accessor;
mod checks;
mod frames;
mod log;
mod manifest;
mod pointer;
mod table;

use std::path::Path;

/// Compares a dump with the golden one, or writes it where `KIBAN_UPDATE_GOLDEN` is set.
fn check(name: &str, dump: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(format!("{name}.txt"));
    if std::env::var_os("KIBAN_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, dump).unwrap();
        return;
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    let line = golden.lines().zip(dump.lines()).position(|(golden, dump)| golden != dump);
    let line = line.unwrap_or_else(|| golden.lines().count().min(dump.lines().count()));
    assert!(
        golden == dump,
        "{} differs from line {}:\n  golden: {}\n  now:    {}\n(`just golden` writes it again)",
        path.display(),
        line + 1,
        golden.lines().nth(line).unwrap_or("(end)"),
        dump.lines().nth(line).unwrap_or("(end)"),
    );
}
