//! Tables: read page by page, so that a large table needs the memory of one page.

use std::io::Write;
use std::ops::Range;

use kiban_formats::describe::{Dump, printable};
use kiban_formats::fence::{FenceNode, describe_fence, describe_top, fence_units};
use kiban_formats::filter::describe_filter;
use kiban_formats::footer::{FOOTER_BYTES, Footer, Section, describe_footer};
use kiban_formats::page::{Jumbo, Page, TableSalt, describe_jumbo, describe_page, is_jumbo};
use kiban_formats::properties::describe_properties;
use kiban_formats::{FormatError, PageNo, Problem, SlotNo, UNIT_BYTES};

use super::{InspectError, Inspected, Options, print};
use crate::error::Error;
use crate::limits::KEY_BYTES_MAX;

const UNIT: u64 = UNIT_BYTES as u64;
/// Bytes of a page's or fence page's header that a line shows.
const SHOWN_BYTES: usize = 16;

/// Whether the file ends as a table does.
pub(super) fn has_magic(file: &Inspected<'_>) -> Result<bool, Error> {
    let footer = footer_bytes(file)?;
    let decoded = Footer::decode(&footer, file.len);
    Ok(footer.len() == FOOTER_BYTES
        && !decoded.is_err_and(|error| matches!(error.problem, Problem::Magic(_))))
}

/// As much of a footer as the file has.
fn footer_bytes(file: &Inspected<'_>) -> Result<Vec<u8>, Error> {
    let len = file.len.min(FOOTER_BYTES as u64);
    file.read(file.len - len, len)
}

/// Prints a table file.
pub(super) fn inspect(
    file: &Inspected<'_>,
    options: Options,
    out: &mut dyn Write,
) -> Result<(), InspectError> {
    let footer = footer_bytes(file)?;
    let footer = Footer::decode(&footer, file.len).map_err(|error| file.damaged(error))?;
    let salt = TableSalt::new(footer.table_id);
    let data_end = u64::from(footer.data_units) * UNIT;
    let mut table = Table { file, salt, full: options.entries, out, waste: 0, first_error: None };
    match options.page {
        Some(unit) => table.page(unit, &footer, data_end)?,
        None => {
            table.data_pages(data_end, footer.shape.page_bytes() as u64)?;
            table.fence_pages(data_end..footer.sections_start())?;
            table.sections(&footer)?;
        }
    }
    match table.first_error {
        Some(error) => Err(file.damaged(error).into()),
        None => Ok(()),
    }
}

/// A table that is being printed.
struct Table<'a> {
    file: &'a Inspected<'a>,
    salt: TableSalt,
    full: bool,
    out: &'a mut dyn Write,
    /// Bytes of data pages behind their last entries.
    waste: u64,
    first_error: Option<FormatError>,
}

/// A data page, or a jumbo run, as it stands in the file.
struct DataPage {
    no: PageNo,
    bytes: Vec<u8>,
    is_jumbo: bool,
}

impl DataPage {
    fn offset(&self) -> u64 {
        u64::from(self.no.0) * UNIT
    }
}

impl Table<'_> {
    /// The page of this number and nothing else, in full.
    fn page(&mut self, unit: u32, footer: &Footer, data_end: u64) -> Result<(), InspectError> {
        let (at, page_bytes) = (u64::from(unit) * UNIT, footer.shape.page_bytes() as u64);
        if at >= data_end {
            let last = footer.data_units.saturating_sub(1);
            return Err(
                Error::invalid(format!("page: there is no page {unit}, the last unit is {last}")).into()
            );
        }
        self.full = true;
        match self.read_page(at, data_end, page_bytes)? {
            Ok(page) => self.data_page(&page).map(drop),
            Err(error) => self.note(Dump::new(), error),
        }
    }

    fn data_pages(&mut self, end: u64, page_bytes: u64) -> Result<(), InspectError> {
        let mut dump = Dump::new();
        dump.heading("data pages");
        print(dump, self.out)?;
        let mut at = 0;
        while at < end {
            match self.read_page(at, end, page_bytes)? {
                Ok(page) => {
                    // The head of a run has a checksum of its own.
                    let has_true_length = self.data_page(&page)? || page.is_jumbo;
                    at = match has_true_length {
                        true => at + page.bytes.len() as u64,
                        false => self.resume(at, end, page_bytes)?,
                    };
                }
                // Without its head nobody knows where a run ends.
                Err(error) => return self.note(Dump::new(), error),
            }
        }
        let mut dump = Dump::new();
        let percent = 100.0 * self.waste as f64 / end.max(1) as f64;
        dump.note(format!("{} of {end} bytes are free, {percent:.1} %", self.waste));
        print(dump, self.out)
    }

    /// Where to go on behind a damaged page, whose length cannot be believed: at the first sound
    /// page that starts where it may have ended.
    fn resume(&self, at: u64, end: u64, page_bytes: u64) -> Result<u64, InspectError> {
        let furthest = (at + page_bytes).min(end);
        let mut next = at + UNIT;
        while next < furthest {
            if self.read_page(next, end, page_bytes)?.is_ok_and(|page| self.check(&page).is_ok()) {
                return Ok(next);
            }
            next += UNIT;
        }
        Ok(furthest)
    }

    /// The page at `at`: all of it is inside the data pages.
    fn read_page(
        &self,
        at: u64,
        end: u64,
        page_bytes: u64,
    ) -> Result<Result<DataPage, FormatError>, InspectError> {
        let no = PageNo((at / UNIT) as u32);
        // More than a key and 64 bytes.
        let head = self.file.read(at, (KEY_BYTES_MAX as u64 + UNIT).min(end - at).max(UNIT.min(end - at)))?;
        if !is_jumbo(&head) {
            let mut bytes = self.file.read(at, page_bytes.min(end - at))?;
            // Where its length makes no sense, the page says so when it is checked.
            let own = Page::parse(&bytes).map_or(bytes.len(), |page| page.bytes().len());
            bytes.truncate(own);
            return Ok(Ok(DataPage { no, bytes, is_jumbo: false }));
        }
        let run_bytes = match Jumbo::parse(&head, self.salt.page(no)) {
            Ok(jumbo) => u64::from(jumbo.units) * UNIT,
            Err(error) => return Ok(Err(error.moved_by(at))),
        };
        if run_bytes > end - at {
            let what = "a jumbo run that reaches past the data pages";
            return Ok(Err(FormatError::invalid("data page", at, what)));
        }
        Ok(Ok(DataPage { no, bytes: self.file.read(at, run_bytes)?, is_jumbo: true }))
    }

    fn check(&self, page: &DataPage) -> Result<Summary, FormatError> {
        let salt = self.salt.page(page.no);
        if page.is_jumbo { check_jumbo(&page.bytes, salt) } else { check_page(&page.bytes, salt) }
    }

    /// Prints a page, and returns whether it is sound.
    fn data_page(&mut self, page: &DataPage) -> Result<bool, InspectError> {
        let (salt, at) = (self.salt.page(page.no), page.offset());
        let mut dump = Dump::new();
        let checked = self.check(page);
        let result = if self.full {
            let what = if page.is_jumbo { ", a jumbo run" } else { "" };
            dump.heading(format!("data page {}{what}", page.no));
            let described = match page.is_jumbo {
                true => describe_jumbo(&page.bytes, salt, at, &mut dump),
                false => describe_page(&page.bytes, at, &mut dump),
            };
            described.and(checked.map(|summary| self.waste += summary.waste as u64))
        } else {
            checked.map(|summary| {
                self.waste += summary.waste as u64;
                let what = format!("data page {}: {}", page.no, summary.what);
                dump.field(at, &page.bytes[..SHOWN_BYTES], what);
            })
        };
        let is_sound = result.is_ok();
        match result {
            Ok(()) => print(dump, self.out)?,
            Err(error) => self.note(dump, error.moved_by(at))?,
        }
        Ok(is_sound)
    }

    fn fence_pages(&mut self, range: Range<u64>) -> Result<(), InspectError> {
        let mut dump = Dump::new();
        dump.heading("fence pages");
        print(dump, self.out)?;
        let mut at = range.start;
        while at < range.end {
            let unit = self.file.read(at, UNIT.min(range.end - at))?;
            let located = |error: FormatError| error.moved_by(at);
            let len = match fence_units(&unit) {
                Ok(units) => (u64::from(units) * UNIT).min(range.end - at),
                Err(error) => return self.note(Dump::new(), located(error)),
            };
            let bytes = self.file.read(at, len)?;
            let mut dump = Dump::new();
            match self.fence_page(&bytes, at, &mut dump) {
                Ok(()) => print(dump, self.out)?,
                Err(error) => self.note(dump, located(error))?,
            }
            at += len;
        }
        Ok(())
    }

    fn fence_page(&self, bytes: &[u8], at: u64, dump: &mut Dump) -> Result<(), FormatError> {
        let no = PageNo((at / UNIT) as u32);
        let node = FenceNode::parse(bytes)?;
        if self.full {
            dump.heading(format!("fence page {no}"));
            describe_fence(bytes, at, dump)?;
        } else {
            let what = format!("fence page {no}: {} children", node.count());
            dump.field(at, &bytes[..SHOWN_BYTES], what);
        }
        node.check_crc(self.salt.page(no))
    }

    fn sections(&mut self, footer: &Footer) -> Result<(), InspectError> {
        let filter = self.section(&footer.filter)?;
        let top_tier = self.section(&footer.top_tier)?;
        let properties = self.section(&footer.properties)?;
        let end = footer_bytes(self.file)?;
        let mut dump = Dump::new();
        dump.heading("filter");
        if self.full {
            describe_filter(&filter, footer.filter.offset, &mut dump);
        } else {
            dump.field(footer.filter.offset, &filter, format!("{} bytes", filter.len()));
        }
        self.end_of_section(dump, footer.filter.check("filter", &filter))?;

        let mut dump = Dump::new();
        dump.heading("top tier");
        let described = describe_top(&top_tier, self.salt, footer.top_tier.offset, &mut dump);
        self.end_of_section(dump, described.and(footer.top_tier.check("top tier", &top_tier)))?;

        let mut dump = Dump::new();
        dump.heading("properties");
        let described = describe_properties(&properties, footer.properties.offset, &mut dump);
        self.end_of_section(dump, described.and(footer.properties.check("properties", &properties)))?;

        let mut dump = Dump::new();
        dump.heading("footer");
        let described = describe_footer(&end, self.file.len, &mut dump);
        self.end_of_section(dump, described)
    }

    /// The footer's decoder has checked that it lies in the file.
    fn section(&self, section: &Section) -> Result<Vec<u8>, Error> {
        self.file.read(section.offset, section.len)
    }

    fn end_of_section(&mut self, dump: Dump, result: Result<(), FormatError>) -> Result<(), InspectError> {
        match result {
            Ok(()) => print(dump, self.out),
            Err(error) => self.note(dump, error),
        }
    }

    /// What is wrong is written where it is; the first of it is the error at the end.
    fn note(&mut self, mut dump: Dump, error: FormatError) -> Result<(), InspectError> {
        dump.note(format!("DAMAGED: {error}"));
        self.first_error.get_or_insert(error);
        print(dump, self.out)
    }
}

/// What is on a page whose checks hold.
struct Summary {
    what: String,
    /// Bytes behind the last entry.
    waste: usize,
}

fn check_page(bytes: &[u8], salt: u32) -> Result<Summary, FormatError> {
    let page = Page::parse(bytes)?;
    page.check_crc(salt)?;
    let (mut first, mut last, mut end) = (Vec::new(), Vec::new(), 0);
    for slot in 0..page.count() {
        let entry = page.entry(SlotNo(slot as u16))?;
        entry.verify()?;
        end = entry.value_offset + entry.value.len();
        last = entry.to_key();
        if slot == 0 {
            first.clone_from(&last);
        }
    }
    let waste = bytes.len().saturating_sub(end);
    let (entries, first, last) = (page.count(), printable(&first), printable(&last));
    Ok(Summary { what: format!("{entries} entries, {first} to {last}, {waste} bytes free"), waste })
}

fn check_jumbo(bytes: &[u8], salt: u32) -> Result<Summary, FormatError> {
    let jumbo = Jumbo::parse(bytes, salt)?;
    let end = jumbo.value_offset.saturating_add(jumbo.value_len as usize);
    let Some(value) = bytes.get(jumbo.value_offset..end) else {
        return Err(FormatError::invalid("data page", 0, "a value that reaches past its run"));
    };
    jumbo.entry(value).verify()?;
    if let Some(at) = bytes[end..].iter().position(|byte| *byte != 0) {
        return Err(FormatError::invalid("data page", (end + at) as u64, "padding that is not zero"));
    }
    let (units, key, value_bytes, waste) =
        (jumbo.units, printable(jumbo.key), jumbo.value_len, bytes.len() - end);
    let what =
        format!("a jumbo run of {units} units, {key}, {value_bytes} bytes of value, {waste} bytes free");
    Ok(Summary { what, waste })
}
