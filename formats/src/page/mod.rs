//! Data pages: sorted entries in pages of at most 4, 8, 16, 32 or 64 KiB, one limit a table. A
//! page ends with the 4 KiB unit in which its last entry ends.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 2 | bits 0-11: entry count, at least 1; bits 12-15: 4 KiB units of the page, less 1 |
//! | 2 | 2 | length of the prefix that all keys of the page share; 0xFFFF: a jumbo run |
//! | 4 | 4 | ordinal of the first entry among the table's entries |
//! | 8 | 4 | ordinal of its key among the table's distinct keys |
//! | 12 | 4 | [checksum](TableSalt) of the page without this field |
//! | 16 | 2 a slot | offset of each entry, rising |
//! | | | the shared prefix, once |
//! | | | the entries, each at a multiple of the table's alignment unit |
//! | | | zeros |
//!
//! An entry:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | [entry checksum](crate::EntryHead) |
//! | 8 | sequence << 8, kind byte: bits 0-3 the kind, bit 4 *newest* |
//! | varint | only where *newest* is clear: how much greater the sequence of the next newer version is |
//! | varint | length of the key's suffix |
//! | varint | length of the value |
//! | | suffix |
//! | | value |
//!
//! Entries stand in the order (key ascending, sequence descending). Pages above 4 KiB share no
//! prefix, so that a mapped read touches only the entry's own lines. An entry and its slot take
//! at least 16 bytes: 64 KiB hold at most 4,095.
//!
//! A record that does not fit an empty page is a **jumbo run** of 4 KiB units, alone:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 16 | the page header: count 1, prefix length 0xFFFF; the checksum covers all up to the end of the key |
//! | 16 | 4 | units of the run |
//! | 20 | 4 | zero |
//! | 24 | | the entry, its key whole |
//! | | | zeros to the end of the last unit |
//!
//! The value of a jumbo run is covered by the entry's own checksum.

mod builder;
mod checksum;
mod describe;
mod entry;
mod fill;
mod jumbo;
mod shape;
mod verify;
mod view;

#[cfg(test)]
mod tests;

pub use builder::{FirstOrdinals, PageBuilder};
pub use checksum::TableSalt;
pub(crate) use checksum::{check_crc, put_crc};
pub use describe::{describe_jumbo, describe_page};
pub use entry::{Entry, NewEntry};
pub use jumbo::{JUMBO_HEADER_BYTES, Jumbo, encode_jumbo_head, is_jumbo};
pub use shape::{PageShape, SampleRecord, choose_shape};
pub use verify::{Neighbour, PageSummary, verify_jumbo, verify_page};
pub use view::Page;

/// Bytes of a page's header.
pub const PAGE_HEADER_BYTES: usize = FIELD_CRC + 4;
/// Bytes of a slot.
pub const SLOT_BYTES: usize = 2;
/// Bytes of the longest key.
pub const KEY_BYTES_MAX: usize = 131_072;

const SECTION: &str = "data page";
const FIELD_COUNT: usize = 0;
const FIELD_PREFIX: usize = FIELD_COUNT + 2;
const FIELD_FIRST_ENTRY: usize = FIELD_PREFIX + 2;
const FIELD_FIRST_KEY: usize = FIELD_FIRST_ENTRY + 4;
const FIELD_CRC: usize = FIELD_FIRST_KEY + 4;
const _: () = assert!(FIELD_CRC == checksum::CRC_OFFSET);

/// The bits of the first field that count entries; those above count units.
const COUNT_BITS: u32 = 12;
const COUNT_MASK: u16 = (1 << COUNT_BITS) - 1;

/// The prefix length that says *jumbo run*.
const JUMBO_MARK: u16 = u16::MAX;
/// Bytes of an entry's checksum, sequence and kind.
const ENTRY_FIXED_BYTES: usize = 4 + 8;

/// Bytes that `a` and `b` share at their start.
#[inline]
pub(crate) fn shared_len(a: &[u8], b: &[u8]) -> usize {
    let words = a.chunks_exact(8).zip(b.chunks_exact(8)).take_while(|(a, b)| a == b).count() * 8;
    words + a[words..].iter().zip(&b[words..]).take_while(|(a, b)| a == b).count()
}
