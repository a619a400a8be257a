//! `ph4`: a perfect hash gives each key a slot, and the slot says where the key's newest entry is.
//! Nothing else is kept: no key, no sequence.
//!
//! ```text
//! key ── hash ── directory (resident) ── hash page ── pilot ── slot
//!                                                               | fingerprint 8 | page | offset |
//!                                                                                  │
//!                                                        data page ── entry ◄──────┘
//! ```
//!
//! Answers: [`Entry`](crate::Location::Entry) where the fingerprint agrees (a jumbo run: offset 0),
//! [`Absent`](crate::Location::Absent) at an empty slot or another fingerprint,
//! [`Unknown`](crate::Location::Unknown) for keys that share their hash, for a page that is damaged and
//! for one that could not be solved. One absent key in 258 gets a place all the same, where the engine
//! finds another key.
//!
//! # Bytes a key
//! | part | 10^6 keys, 13 a page | 10^7 keys |
//! |---|---|---|
//! | slots | 4.55: 8 + 17 + 11 bits, 1.01 a key | 4.93: 8 + 20 + 11 bits |
//! | pilots | 0.33 | 0.33 |
//! | directory | 0.01 | 0.01 |
//! | all | 4.90 | 5.28 |
//!
//! An offset counts units of the greatest power of two that divides all of the table's.
//!
//! # Cost
//! A hit touches the directory (15 to 25 bytes a page: in the second cache), the pilot's line, the slot's line
//! (seldom two), both in one page of 4 KiB, then the entry. A miss ends at the slot. Cold that is one
//! index page and one data page; a miss has none of the latter, but for one in 258.
//! `locate_many` has 32 keys on their way, so that they wait for one another's lines and not for
//! their own.
//!
//! A build keeps 16 bytes a key, sorts them, and solves page by page. It takes one thread. Where that
//! is more memory than it may take, it reads the table several times and keeps the keys of a part of
//! the hashes each time: 10^7 keys in 32 MiB take six passes, and give the same bytes.
//!
//! # Trust
//! A resident copy has been checked as a whole. Of a mapped file the directory is checked at open,
//! and a hash page, by its checksum in the directory, at its first use: two bits each are kept.
//!
//! # When it loses
//! - Scans and seeks: it has no order. They go by the table's fences.
//! - Few keys in large records that are read once: an index of 5 bytes a key against one separator a page.
//! - Memory below 5 bytes a key: cold, it costs a page more than the fences, which are resident.
//! - Keys of 16 bytes and values of none: it is a third of the table.
//! - Reads of older versions: it names the newest one, from which the engine walks.
//!
//! # Sections
//! | section | what |
//! |---|---|
//! | `pages` | zeros up to 4 KiB of the file where pages are whole, then the hash pages |
//! | `directory` | 8 bytes of the coding of places, then the directory of the hash pages |
//!
//! A slot, from its lowest bit: fingerprint, offset, page. All bits of offset and page set: empty; all
//! but the lowest: keys that share their hash.

mod build;
mod checked;
mod locate;
mod open;
mod place;

#[cfg(test)]
mod tests;

pub use locate::Ph4;

use kiban_formats::FormatError;
use kiban_formats::accessor_file::SectionEntry;
use kiban_formats::describe::Dump;

use crate::accessor::Accessor;
use crate::contract::{
    AccessorBuilder, AccessorFile, AccessorFormat, Declined, FormatId, Params, Plan, Residency, TableShape,
};

/// Its id in files.
const ID: FormatId = FormatId(4);
/// Its name: the extension of its files.
const NAME: &str = "ph4";
/// Bytes that are collected for a key: its hash and its place.
const COLLECTED_BYTES: u32 = 16;
/// The section of hash pages.
const PAGES: &str = "pages";
/// The section that says what the pages are.
const DIRECTORY: &str = "directory";

/// The format `ph4`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ph4Format;

impl AccessorFormat for Ph4Format {
    fn id(&self) -> FormatId {
        ID
    }

    fn name(&self) -> &str {
        NAME
    }

    fn plan(&self, _shape: &TableShape, _params: &Params) -> Plan {
        Plan::Inline { bytes_per_key: COLLECTED_BYTES }
    }

    fn builder(
        &self,
        shape: &TableShape,
        _params: &Params,
        seed: u64,
    ) -> Result<Box<dyn AccessorBuilder>, Declined> {
        Ok(Box::new(build::Builder::new(shape, seed)?))
    }

    fn open(&self, file: AccessorFile, residency: Residency) -> Result<Accessor, FormatError> {
        let opened = open::open(file, residency)?;
        Ok(Accessor::Ph4(Box::new(opened)))
    }

    fn describe(
        &self,
        file: &AccessorFile,
        section: &SectionEntry,
        dump: &mut Dump,
    ) -> Result<(), FormatError> {
        open::describe(file, section, dump)
    }
}
