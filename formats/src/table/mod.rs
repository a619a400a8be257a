//! A table file: `data pages | fence pages | filter | top tier | properties | footer`, without a
//! gap.
//!
//! [`TableEncoder`] turns entries in order into the bytes of a file, [`describe_table`] prints a
//! file. Data pages start at offset 0; page numbers count 4 KiB units. Reading goes by parts:
//! [footer](crate::footer), [top tier and fences](crate::fence), [pages](crate::page).

mod describe;
mod encoder;
mod sample;

#[cfg(test)]
mod tests;

pub use describe::describe_table;
pub use encoder::{TableEncoder, TableEntry, TableFacts, TableSink, TableSummary};
