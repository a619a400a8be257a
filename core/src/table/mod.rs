//! Tables: sorted, immutable files of entries.
//!
//! [`TableWriter`] makes one, [`Table`] reads points, [`TableSource`] scans, [`TableHandle`] opens
//! it at first use. The bytes are those of [`kiban_formats::table`]; here is what needs files,
//! memory and counters.
//!
//! A point read asks the filter, then the sorted index (top tier, one fence page), then one data
//! page; [`reader`] has the rules by which a page's bytes become an answer. A page that is read
//! by `pread` is checked once, when it is loaded, and kept in the cache. A page of a map is
//! checked when an answer depends on more of it than one entry, which has its own checksum.

mod context;
mod entries;
mod handle;
mod notices;
mod open_tables;
mod orphan;
mod pages;
mod point;
mod reader;
mod salvage;
mod share;
mod source;
mod stats;
mod unit_bits;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use context::TableContext;
pub(crate) use entries::FactsReader;
pub(crate) use handle::TableHandle;
pub(crate) use orphan::{Condition, examine, greatest_seq, owner};
pub(crate) use reader::Table;
pub(crate) use salvage::salvage;
pub(crate) use source::TableSource;
pub(crate) use unit_bits::UnitBits;
pub(crate) use writer::{TableOptions, TableWriter};
