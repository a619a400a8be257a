//! Fences: the sorted index, one shortest separator for each data page.
//!
//! A *node* maps separators to children. The leaves are fence pages, whose children are data
//! pages; the top tier is one node whose children are the fence pages. A separator `s` of a page
//! obeys `last key of the page before < s <= first key`; the first of all is empty. Where a
//! page begins inside the versions of a key, the separator is the whole key and the sequence of
//! the page's first entry. The order is (key ascending, sequence descending), a separator without
//! a sequence standing before all versions of its key.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 4 | count n of children, at least 1 |
//! | 4 | 4 | page number of the first child |
//! | 8 | 4 | stride: child i is first + i × stride; 0: the numbers are listed |
//! | 12 | 4 | CRC-32 of all other bytes, mixed with [the page's place](crate::page::TableSalt) |
//! | 16 | 4r | where each run of [`RUN`] separators begins, r = n / [`RUN`] rounded up |
//! | | 4n | the children's page numbers; only with stride 0 |
//! | | | separators |
//! | | | zeros, up to a multiple of 4 KiB; none in the top tier |
//!
//! A separator: varint bytes shared with the separator before (0 at the start of a run), varint
//! suffix length × 2 + (1 if there is a sequence), suffix, sequence u64.
//!
//! What all keys of the table share is stored once, in the top tier's section (length u32, bytes,
//! then the node), and left out of every separator. A fence page is 4 KiB, or, where one
//! separator does not fit that, a run of as many as it takes.

mod build;
mod node;

pub use build::FenceBuilder;
pub use node::{Child, Node, TopTier};

/// Separators in a run.
pub const RUN: usize = 8;

const HEADER_BYTES: usize = 16;
const FIRST_CHILD: usize = 4;
const STRIDE: usize = 8;
const SECTION: &str = "fence page";

#[cfg(test)]
mod tests;
