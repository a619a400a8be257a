//! What holds for each small file of the golden dumps.

use std::fmt::Debug;

use kiban_formats::describe::Dump;
use kiban_formats::{FormatError, StoreId};

pub(crate) const STORE: StoreId = StoreId(*b"the-golden-store");

/// Compares the file's dump with the golden one; its fields stand one behind the other from the
/// first byte to the last.
pub(crate) fn check_dump(
    name: &str,
    file: &[u8],
    describe: impl Fn(&[u8], &mut Dump) -> Result<(), FormatError>,
) {
    let mut dump = Dump::new();
    describe(file, &mut dump).unwrap();
    let dump = dump.finish();
    check_that_every_byte_is_described(file, &dump);
    super::check(name, &dump);
}

/// The fields of a dump stand one behind the other from the first byte to the last.
fn check_that_every_byte_is_described(file: &[u8], dump: &str) {
    let mut places = Vec::new();
    for line in dump.lines() {
        let (offset, rest) = line.split_at_checked(8).unwrap_or_default();
        if let Ok(offset) = usize::from_str_radix(offset, 16) {
            let len = rest.split("... ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
            let shown = rest.trim_start().split(' ').next().unwrap_or_default();
            let shown =
                if shown.chars().all(|digit| digit.is_ascii_hexdigit()) { shown.len() / 2 } else { 0 };
            places.push((offset, len.unwrap_or(shown)));
        }
    }
    let mut at = 0;
    for (offset, len) in places {
        assert_eq!(offset, at, "a field that does not begin where the one before ends");
        at += len;
    }
    assert_eq!(at, file.len());
}

/// Every changed bit is refused, or what is read stays the same; a cut is refused or gives what
/// `is_prefix` allows.
pub(crate) fn check_damage<T: PartialEq + Debug>(
    file: &[u8],
    read: impl Fn(&[u8]) -> Result<T, FormatError>,
    is_prefix: impl Fn(&T) -> bool,
) {
    let whole = read(file).unwrap();
    let mut changed = file.to_vec();
    for bit in 0..file.len() * 8 {
        changed[bit / 8] ^= 1 << (bit % 8);
        if let Ok(found) = read(&changed) {
            assert_eq!(found, whole, "bit {bit}");
        }
        changed[bit / 8] ^= 1 << (bit % 8);
    }
    for cut in 0..file.len() {
        if let Ok(found) = read(&file[..cut]) {
            assert!(is_prefix(&found), "cut at {cut}: {found:?}");
        }
    }
}
