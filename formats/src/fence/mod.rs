//! Fences: the sorted index of a table. One separator a data page, in pages of their own, and a
//! top tier that is resident and knows where each fence page starts.
//!
//! The separator of a data page is the shortest key `s` with `last key of the page before < s <=
//! first key of the page`; of the first page it is empty. Where both keys are the same, the
//! versions of that key go on: the separator is the whole key and the sequence one below that of
//! the last entry before. So in the order (key ascending, sequence descending), where a separator
//! without a sequence stands before all versions of its key, the last separator at or before
//! (key, snapshot) names the one page on which the first entry at or after (key, snapshot) must be
//! if it has that key. A point read looks at no second page.
//!
//! The bytes that all keys of the table share are stored once, at the front of the top tier, and
//! left out of every separator.
//!
//! A **node** is a fence page, or the body of the top tier; its children are data pages, or
//! fence pages:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 4 | child count, at least 1 |
//! | 4 | 4 | page number of the first child |
//! | 8 | 2 | 4 KiB units from child to child; 0: each child's number is listed |
//! | 10 | 2 | 4 KiB units of this fence page; 0 in the top tier |
//! | 12 | 4 | [checksum](crate::page::TableSalt) of the node without this field; the top tier's page number is 2^32 - 1 |
//! | 16 | 2 each, 4 in the top tier | where every eighth separator starts |
//! | | 4 each | where the stride is 0: the page number of each child |
//! | | | separators |
//! | | | zeros to the end of the last unit, none in the top tier |
//!
//! A separator is: varint length shared with the one before (0 for every eighth), varint
//! (suffix length * 2 + 1 if a sequence follows), suffix, varint sequence.
//!
//! A fence page is one unit; only where a single separator does not fit, it is a run of units
//! with that separator alone.
//!
//! The top tier is: varint length of the common prefix, the prefix, a node.

mod builder;
mod describe;
mod node;
mod separator;
mod top;

#[cfg(test)]
mod tests;

pub use builder::{FenceBuilder, FencePage};
pub use describe::{describe_fence, describe_top};
pub use node::{FenceNode, fence_units};
pub use separator::{Separator, separator_between};
pub use top::{Target, TopTier};

use crate::PageNo;

/// Bytes of a node's header.
pub const NODE_HEADER_BYTES: usize = FIELD_CRC + 4;
/// The page number that salts the top tier's checksum. No page has it.
pub const TOP_PAGE: PageNo = PageNo(u32::MAX);

const SECTION: &str = "fence page";
const TOP_SECTION: &str = "top tier";
const FIELD_COUNT: usize = 0;
const FIELD_FIRST: usize = FIELD_COUNT + 4;
const FIELD_STRIDE: usize = FIELD_FIRST + 4;
const FIELD_UNITS: usize = FIELD_STRIDE + 2;
const FIELD_CRC: usize = FIELD_UNITS + 2;
const _: () = assert!(FIELD_CRC == 12, "pages and nodes keep their checksum at the same place");

/// Every so many separators, one is stored whole.
const RESTART_EVERY: usize = 8;
const CHILD_BYTES: usize = 4;

/// Bytes of the place of a separator. A fence page that is longer than 64 KiB has one separator,
/// right behind the header.
const fn restart_bytes(is_top: bool) -> usize {
    if is_top { 4 } else { 2 }
}
