//! Annotated dumps of pages.

use super::{COUNT_BITS, COUNT_MASK, Entry, JUMBO_HEADER_BYTES, Jumbo, PAGE_HEADER_BYTES, Page, SLOT_BYTES};
use crate::describe::{Dump, printable};
use crate::{FormatError, SlotNo};

/// Writes the fields of the page that `bytes` start with; `base` is where it starts in the file.
///
/// # Errors
/// What does not parse; the fields before it are in the dump.
pub fn describe_page(bytes: &[u8], base: u64, dump: &mut Dump) -> Result<(), FormatError> {
    let page = Page::parse(bytes)?;
    let bytes = page.bytes();
    describe_header(bytes, base, dump, format!("prefix length {}", page.prefix().len()));
    for slot in 0..page.count() {
        let at = PAGE_HEADER_BYTES + SLOT_BYTES * slot;
        let what = format!("slot {slot}: entry at {}", page.offset(slot));
        dump.field(base + at as u64, &bytes[at..at + SLOT_BYTES], what);
    }
    let prefix_at = PAGE_HEADER_BYTES + SLOT_BYTES * page.count();
    if !page.prefix().is_empty() {
        dump.field(
            base + prefix_at as u64,
            page.prefix(),
            format!("shared prefix {}", printable(page.prefix())),
        );
    }
    let mut end = prefix_at + page.prefix().len();
    for slot in 0..page.count() {
        let entry = page.entry(SlotNo(slot as u16))?;
        describe_entry(bytes, page.offset(slot), base, &entry, dump);
        end = entry.value_offset + entry.value.len();
    }
    if end < bytes.len() {
        dump.field(base + end as u64, &bytes[end..], "zeros");
    }
    Ok(())
}

/// Writes the fields of a jumbo run's head, and where its value is.
///
/// # Errors
/// What does not parse.
pub fn describe_jumbo(bytes: &[u8], salt: u32, base: u64, dump: &mut Dump) -> Result<(), FormatError> {
    let jumbo = Jumbo::parse(bytes, salt)?;
    describe_header(bytes, base, dump, "a jumbo run".to_owned());
    dump.field(base + 16, &bytes[16..20], format!("{} units", jumbo.units));
    dump.field(base + 20, &bytes[20..24], "zero");
    let value_end = jumbo.value_offset + jumbo.value_len as usize;
    let value = bytes.get(jumbo.value_offset..value_end).unwrap_or_default();
    describe_entry(bytes, JUMBO_HEADER_BYTES, base, &jumbo.entry(value), dump);
    if value_end < bytes.len() {
        dump.field(base + value_end as u64, &bytes[value_end..], "zeros");
    }
    Ok(())
}

fn describe_header(bytes: &[u8], base: u64, dump: &mut Dump, prefix: String) {
    let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let count_and_units = u16::from_le_bytes([bytes[0], bytes[1]]);
    let units = match count_and_units >> COUNT_BITS {
        0 => String::new(),
        more => format!(", {} units", more + 1),
    };
    dump.field(base, &bytes[..2], format!("entry count {}{units}", count_and_units & COUNT_MASK));
    dump.field(base + 2, &bytes[2..4], prefix);
    dump.field(base + 4, &bytes[4..8], format!("first entry is number {}", number(4)));
    dump.field(base + 8, &bytes[8..12], format!("its key is number {}", number(8)));
    dump.field(base + 12, &bytes[12..16], "checksum");
}

fn describe_entry(bytes: &[u8], at: usize, base: u64, entry: &Entry<'_>, dump: &mut Dump) {
    let state = match entry.verify() {
        Ok(()) => "entry checksum",
        Err(_) => "entry checksum, WRONG",
    };
    dump.field(base + at as u64, &bytes[at..at + 4], state);
    let newest = if entry.newer.is_none() { ", newest" } else { "" };
    let what = format!("sequence {}, {:?}{newest}", entry.seq, entry.kind);
    dump.field(base + at as u64 + 4, &bytes[at + 4..at + 12], what);
    let key_at = entry.value_offset - entry.suffix.len();
    let mut lens = format!("suffix length {}, value length {}", entry.suffix.len(), entry.value.len());
    if let Some(newer) = entry.newer {
        lens = format!("next newer version {newer}, {lens}");
    }
    dump.field(base + at as u64 + 12, &bytes[at + 12..key_at], lens);
    dump.field(base + key_at as u64, entry.suffix, format!("key {}", printable(&entry.to_key())));
    if !entry.value.is_empty() {
        dump.field(
            base + entry.value_offset as u64,
            entry.value,
            format!("value {}", printable(entry.value)),
        );
    }
}
