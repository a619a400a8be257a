//! Opening a table, and the rules by which its bytes become the answer to a point read.

use std::ops::Range;
use std::path::Path;

use kiban_formats::fence::TopTier;
use kiban_formats::filter::Filter;
use kiban_formats::footer::{FOOTER_BYTES, Footer, Section};
use kiban_formats::page::TableSalt;
use kiban_formats::properties::Properties;
use kiban_formats::{FormatError, KeyspaceId, Problem, SeqNo, TableMeta};

use super::context::TableContext;
use super::handle::OPENED_BYTES;
use super::pages::{OpenFile, Pages, read_error};
use super::stats::Counted;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::Reservation;
use crate::storage::ReadFile;

/// A table, open for reading.
#[derive(Debug)]
pub(crate) struct Table {
    pub(super) pages: Pages,
    pub(super) footer: Footer,
    pub(super) top: TopTier,
    pub(super) properties: Properties,
    /// `None` where there is none, where it is damaged, or where the budget has no room for it: it
    /// costs speed, no answer.
    pub(super) filter: Option<Filter>,
    /// Of the budget: handle and filter.
    handle_reserved: Reservation,
    filter_reserved: Option<Reservation>,
    /// Of an ingested table, whose entries are stored with sequence 0: the sequence that they have.
    pub(super) assigned: Option<SeqNo>,
}

impl Table {
    /// Opens the table that the manifest knows as `meta`: reads footer, filter, top tier and
    /// properties.
    pub(crate) fn open(context: &TableContext, path: &Path, meta: &TableMeta) -> Result<Self> {
        let file = context.storage.open(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => {
                let message = format!("{}: a table that the manifest names is missing", path.display());
                Error::caused(ErrorKind::Corruption, message, source)
            }
            _ => Error::io("open", path, source),
        })?;
        let file_bytes = file.len().map_err(|source| Error::io("read", path, source))?;
        let footer = read_footer(&*file, path, file_bytes)?;
        check_owner(&footer, context, meta).map_err(|error| Error::format(path, error))?;
        if file_bytes != meta.bytes {
            let what = format!("{file_bytes} bytes, {} in the manifest", meta.bytes);
            return Err(Error::corruption(path, what));
        }
        let tail = Tail::read(&*file, path, &footer)?;
        let top = tail.top_tier(&footer).map_err(|error| Error::format(path, error))?;
        let properties = tail.properties(&footer).map_err(|error| Error::format(path, error))?;
        let assigned = assigned_seq(&footer, meta).map_err(|error| Error::format(path, error))?;
        check_meta(&properties, meta, assigned).map_err(|what| Error::corruption(path, what))?;
        if !context.read_ahead {
            file.expect_random_reads();
        }
        let map = if context.maps(meta.level) { file.map(file_bytes).ok() } else { None };
        if map.is_none() && context.maps(meta.level) {
            context.stats.count(Counted::MapRefused);
        }
        let filter_reserved = context.budget.try_reserve(footer.filter.len).filter(|_| footer.filter.len > 0);
        let filter = match &filter_reserved {
            Some(_) => read_filter(&*file, path, &footer)?
                .inspect_err(|error| context.notices.filter_refused(meta.no, path, error))
                .ok(),
            None => None,
        };
        let open = OpenFile { path: path.to_owned(), no: meta.no, file, map };
        let pages = Pages::new(open, &footer, meta.entries, context.clone());
        let handle_bytes = OPENED_BYTES
            + size_of::<Self>()
            + pages.heap_bytes()
            + top.resident_bytes()
            + properties.heap_bytes();
        let handle_reserved = context.budget.reserve(handle_bytes as u64);
        Ok(Self { pages, footer, top, properties, filter, assigned, handle_reserved, filter_reserved })
    }

    /// The keyspace it was written for.
    pub(crate) fn keyspace(&self) -> KeyspaceId {
        self.footer.keyspace
    }

    /// Bytes of memory that the open table takes, pages and filter apart.
    pub(crate) fn handle_bytes(&self) -> u64 {
        self.handle_reserved.bytes()
    }

    /// Bytes of memory of its filter.
    pub(crate) fn filter_bytes(&self) -> u64 {
        self.filter_reserved.as_ref().map_or(0, Reservation::bytes)
    }

    /// Bytes of the file that are mapped.
    pub(crate) fn mapped_bytes(&self) -> u64 {
        if self.pages.is_mapped() { self.footer.file_bytes } else { 0 }
    }

    /// The sequence that all entries have, if it is not the stored one.
    #[inline]
    pub(super) fn assigned(&self) -> Option<SeqNo> {
        self.assigned
    }
}

pub(super) fn read_footer(file: &dyn ReadFile, path: &Path, file_bytes: u64) -> Result<Footer> {
    let mut bytes = [0; FOOTER_BYTES];
    let footer = match file_bytes.checked_sub(FOOTER_BYTES as u64) {
        Some(at) => {
            file.read_at(&mut bytes, at).map_err(|source| read_error(path, source))?;
            Footer::decode(&bytes, file_bytes)
        }
        None => Footer::decode(&[], file_bytes),
    };
    footer.map_err(|error| Error::format(path, error))
}

fn check_owner(footer: &Footer, context: &TableContext, meta: &TableMeta) -> Result<(), FormatError> {
    let foreign = |found: String, expected: String| {
        let at = footer.file_bytes - FOOTER_BYTES as u64;
        Err(FormatError::new("footer", at, Problem::Foreign { found, expected }))
    };
    if footer.store_id != context.store_id {
        return foreign(format!("store {}", footer.store_id), format!("store {}", context.store_id));
    }
    if footer.table_id != meta.id {
        return foreign(format!("table {}", footer.table_id), format!("table {}", meta.id));
    }
    Ok(())
}

/// The sequence that the manifest gives the entries of an ingested table.
fn assigned_seq(footer: &Footer, meta: &TableMeta) -> Result<Option<SeqNo>, FormatError> {
    if footer.base_seq.0 == 0 {
        return Ok(None);
    }
    if meta.min_seq != meta.max_seq || meta.min_seq < footer.base_seq {
        let (found, least) = ((meta.min_seq, meta.max_seq), footer.base_seq);
        let what = format!("an ingested table of base sequence {least}, in the manifest {found:?}");
        return Err(FormatError::invalid("footer", footer.file_bytes - FOOTER_BYTES as u64, what));
    }
    Ok(Some(meta.min_seq))
}

fn check_meta(
    properties: &Properties,
    meta: &TableMeta,
    assigned: Option<SeqNo>,
) -> Result<(), &'static str> {
    let counts = (properties.entries, properties.keys, properties.tombstones);
    let stored = (properties.min_seq, properties.max_seq);
    let (min_seq, max_seq) = match assigned {
        Some(_) if stored != (SeqNo(0), SeqNo(0)) => {
            return Err("properties: an ingested table with sequences of its own");
        }
        Some(seq) => (seq, seq),
        None => stored,
    };
    let ranges = (min_seq, max_seq, &*properties.smallest, &*properties.largest);
    if counts != (meta.entries, meta.keys, meta.tombstones) {
        return Err("properties: other counts than in the manifest");
    }
    if ranges != (meta.min_seq, meta.max_seq, &*meta.smallest, &*meta.largest) {
        return Err("properties: other ranges than in the manifest");
    }
    Ok(())
}

/// The filter, if it is whole. Nothing else needs it, so it is read by itself.
///
/// # Errors
/// The system's.
pub(super) fn read_filter(
    file: &dyn ReadFile,
    path: &Path,
    footer: &Footer,
) -> Result<Result<Filter, FormatError>> {
    let bytes = read_range(file, path, footer.filter.offset..footer.filter.offset + footer.filter.len)?;
    let checked = footer.filter.check("filter", &bytes).and_then(|()| Filter::decode(&bytes));
    Ok(checked.map_err(|error| error.moved_by(footer.filter.offset)))
}

fn read_range(file: &dyn ReadFile, path: &Path, range: Range<u64>) -> Result<Vec<u8>> {
    let len = usize::try_from(range.end - range.start).map_err(|_| Error::corruption(path, "too long"))?;
    let mut bytes = vec![0; len];
    file.read_at(&mut bytes, range.start).map_err(|source| read_error(path, source))?;
    Ok(bytes)
}

/// The sections that every open table keeps: they stand next to each other.
pub(super) struct Tail {
    start: u64,
    bytes: Vec<u8>,
}

impl Tail {
    pub(super) fn read(file: &dyn ReadFile, path: &Path, footer: &Footer) -> Result<Self> {
        let sections = [footer.top_tier, footer.properties];
        let start = sections.iter().map(|section| section.offset).min().unwrap_or_default();
        let end = sections.iter().map(|section| section.offset + section.len).max().unwrap_or_default();
        Ok(Self { start, bytes: read_range(file, path, start..end)? })
    }

    /// A section's bytes, checked.
    fn section(&self, name: &'static str, section: &Section) -> Result<&[u8], FormatError> {
        let start = (section.offset - self.start) as usize;
        let bytes = &self.bytes[start..start + section.len as usize];
        section.check(name, bytes)?;
        Ok(bytes)
    }

    pub(super) fn top_tier(&self, footer: &Footer) -> Result<TopTier, FormatError> {
        let bytes = self.section("top tier", &footer.top_tier)?;
        TopTier::decode(bytes, TableSalt::new(footer.table_id))
            .map_err(|error| error.moved_by(footer.top_tier.offset))
    }

    pub(super) fn properties(&self, footer: &Footer) -> Result<Properties, FormatError> {
        let bytes = self.section("properties", &footer.properties)?;
        Properties::decode(bytes).map_err(|error| error.moved_by(footer.properties.offset))
    }
}
