//! The engine touches storage, clock and randomness through its storage seam alone.
//!
//! That is what makes the crash and fault sweeps proofs: whatever the engine does to a disk, the
//! simulator sees. The rule is read from the sources, without comments and without test code.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders that must not reach past the seam.
const FOLDERS: [&str; 3] = ["formats/src", "indexes/src", "core/src"];

/// The one module that talks to the operating system.
const FILE_SYSTEM: &str = "core/src/storage/fs";

/// Files, clocks, randomness, sockets and the environment, by the names a program needs for them.
const FORBIDDEN: [&str; 14] = [
    "std::fs",
    "File::open",
    "File::create",
    "OpenOptions",
    "memmap2",
    "rustix::fs",
    "Instant",
    "SystemTime",
    "getrandom",
    "thread_rng",
    "rand::",
    "RandomState",
    "std::net",
    "std::env",
];

/// What stands before code that is no part of the product: tests, the simulator's helpers, and the kit
/// for other people's tests.
const NO_PRODUCT: [&str; 3] =
    ["#[cfg(test)]", "#[cfg(feature = \"storage-api\")]", "#[cfg(feature = \"conformance\")]"];

/// The source lines of the product, with their numbers: no comments, nothing of [`NO_PRODUCT`].
fn product_lines(source: &str) -> Vec<(usize, &str)> {
    let mut kept = Vec::new();
    let mut lines = source.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let code = line.split("//").next().unwrap_or_default();
        if !NO_PRODUCT.contains(&code.trim()) {
            kept.push((at + 1, code));
            continue;
        }
        // The item under the attribute ends with its line, or where a line closes its indentation.
        let indent = &line[..line.len() - line.trim_start().len()];
        let Some((_, item)) = lines.find(|(_, next)| !next.trim_start().starts_with("#[")) else { break };
        if item.trim_end().ends_with('{') {
            let end = format!("{indent}}}");
            lines.by_ref().find(|(_, next)| *next == end);
        }
    }
    kept
}

/// Names of the modules that a source declares for tests and for the kit: `#[cfg(test)] mod name;`.
/// The seam itself is looked at, although it is public under a feature.
fn test_modules(source: &str) -> Vec<String> {
    let lines: Vec<_> = source.lines().map(str::trim).collect();
    (1..lines.len())
        .filter(|&at| NO_PRODUCT.contains(&lines[at - 1]) && !lines[at].ends_with("mod storage;"))
        .filter_map(|at| {
            let item = lines[at].strip_prefix("pub(crate) ").unwrap_or(lines[at]);
            item.strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned)
        })
        .collect()
}

fn reaches_past_the_seam(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in product_lines(source) {
        found.extend(
            FORBIDDEN.iter().filter(|name| names(line, name)).map(|name| format!("line {number}: `{name}`")),
        );
    }
    found
}

/// Whether the code has this name, and not as the end of a longer one.
fn names(code: &str, name: &str) -> bool {
    code.match_indices(name)
        .any(|(at, _)| !code[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_'))
}

/// Every Rust file below `folder`.
fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The folder in which the modules declared by this file live.
fn module_folder(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap();
    let folder = file.parent().unwrap();
    if ["mod", "lib", "main"].iter().any(|name| stem == *name) {
        folder.to_owned()
    } else {
        folder.join(stem)
    }
}

#[test]
fn the_engine_touches_storage_clock_and_randomness_through_the_seam_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in FOLDERS {
        rust_files(&root.join(folder), &mut files);
    }
    let sources: Vec<_> = files.iter().map(|file| (file, fs::read_to_string(file).unwrap())).collect();
    let mut for_tests = BTreeSet::new();
    for (file, source) in &sources {
        for name in test_modules(source) {
            for_tests.insert(module_folder(file).join(format!("{name}.rs")));
            for_tests.insert(module_folder(file).join(name));
        }
    }
    let mut broken = Vec::new();
    for (file, source) in &sources {
        let is_test = file.ancestors().any(|part| for_tests.contains(part));
        if is_test || file.starts_with(root.join(FILE_SYSTEM)) {
            continue;
        }
        let name = file.strip_prefix(root).unwrap().display();
        broken.extend(reaches_past_the_seam(source).into_iter().map(|found| format!("{name}, {found}")));
    }
    assert!(broken.is_empty(), "past the storage seam:\n{}", broken.join("\n"));
}

#[test]
fn a_clock_a_file_or_a_random_number_in_product_code_is_found() {
    assert_eq!(reaches_past_the_seam("let began = Instant::now();"), ["line 1: `Instant`"]);
    assert_eq!(reaches_past_the_seam("\nuse std::fs;"), ["line 2: `std::fs`"]);
    assert_eq!(reaches_past_the_seam("let seed = getrandom::u64();").len(), 1);
    assert_eq!(reaches_past_the_seam("let file = fs::File::open(path);"), ["line 1: `File::open`"]);
    assert_eq!(reaches_past_the_seam("let file = ManifestFile::open(storage);").len(), 0);
    let after_tests = "#[cfg(test)]\nmod tests {\n    use std::fs;\n}\nuse std::fs;";
    assert_eq!(reaches_past_the_seam(after_tests), ["line 5: `std::fs`"]);
}

#[test]
fn comments_and_test_modules_are_no_product_code() {
    assert!(reaches_past_the_seam("// std::fs is not named here").is_empty());
    assert!(reaches_past_the_seam("#[cfg(test)]\nmod tests {\n    use std::fs;\n}").is_empty());
    assert_eq!(test_modules("#[cfg(test)]\nmod golden;\nmod real;"), ["golden"]);
}
