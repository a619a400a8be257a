//! Every checksum and every invariant of a table file.

use std::cmp::Ordering;

use kiban_formats::fence::{FenceNode, Separator};
use kiban_formats::filter::Filter;
use kiban_formats::footer::FOOTER_BYTES;
use kiban_formats::page::{Entry, Neighbour, is_jumbo, verify_jumbo, verify_page};
use kiban_formats::properties::Properties;
use kiban_formats::{FormatError, PageNo, SeqNo, UNIT_BYTES};
use kiban_indexes::key_hash;

use super::pages::offset;
use super::reader::{Table, Tail, read_filter, read_footer};
use crate::error::Result;

/// Problems after which a table is not looked at any further.
const PROBLEMS_MAX: usize = 100;

/// Something that is wrong with a table file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableProblem {
    /// The part of the file.
    pub(crate) section: String,
    /// Where in the file.
    pub(crate) offset: u64,
    /// What is wrong.
    pub(crate) what: String,
}

impl From<FormatError> for TableProblem {
    fn from(error: FormatError) -> Self {
        Self { section: error.section.to_owned(), offset: error.offset, what: error.problem.to_string() }
    }
}

impl Table {
    /// Reads the whole file and checks all of it. Damage is in the list.
    ///
    /// # Errors
    /// Only what keeps the file from being read: the system's.
    pub(crate) fn verify(&self) -> Result<Vec<TableProblem>> {
        let mut verifier = Verifier { table: self, filter: None, problems: Vec::new() };
        verifier.sections()?;
        let children = verifier.fences()?;
        verifier.data(&children)?;
        Ok(verifier.problems)
    }
}

struct Verifier<'t> {
    table: &'t Table,
    /// If it is whole; the open table may not keep one.
    filter: Option<Filter>,
    problems: Vec<TableProblem>,
}

/// What the data pages say.
#[derive(Debug, Default)]
struct Totals {
    entries: u64,
    keys: u64,
    tombstones: u64,
    pages: u64,
    jumbo_runs: u64,
    seqs: Option<(SeqNo, SeqNo)>,
    smallest: Option<Vec<u8>>,
    missing_in_filter: u64,
}

impl Verifier<'_> {
    fn report(&mut self, problem: impl Into<TableProblem>) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(problem.into());
        }
    }

    fn sections(&mut self) -> Result<()> {
        let (footer, file, path) = (&self.table.footer, self.table.pages.file(), self.table.pages.path());
        // The table was opened earlier; the file may have changed since.
        if read_footer(file, path, footer.file_bytes).ok().as_ref() != Some(footer) {
            let at = footer.file_bytes - FOOTER_BYTES as u64;
            self.report(FormatError::invalid("footer", at, "not what it was when the table was opened"));
        }
        let tail = Tail::read(file, path, footer)?;
        let results = [
            read_filter(file, path, footer)?.map(|filter| self.filter = Some(filter)),
            tail.top_tier(footer).map(drop),
            tail.properties(footer).map(drop),
        ];
        results.into_iter().filter_map(Result::err).for_each(|error| self.report(error));
        Ok(())
    }

    /// Checks the fence pages and returns all separators with their data pages.
    fn fences(&mut self) -> Result<Vec<(Separator, PageNo)>> {
        let footer = &self.table.footer;
        let tops = match self.table.top.node().separators() {
            Ok(tops) => tops,
            Err(error) => {
                self.report(error.moved_by(footer.top_tier.offset + self.table.top.node_offset()));
                Vec::new()
            }
        };
        let end = PageNo(footer.data_units + footer.fence_units);
        let starts = tops.iter().map(|(_, page)| *page);
        let ends = tops.iter().skip(1).map(|(_, page)| *page).chain([end]);
        let mut all = Vec::new();
        let mut expected = PageNo(footer.data_units);
        for ((separator, _), (start, end)) in tops.iter().zip(starts.zip(ends)) {
            if start != expected || end <= start || end.0 > footer.data_units + footer.fence_units {
                let what = format!("a fence page at {start}, expected at {expected}");
                self.report(FormatError::invalid("top tier", footer.top_tier.offset, what));
                return Ok(all);
            }
            expected = end;
            let bytes = self.table.pages.read(start, (end.0 - start.0) as usize * UNIT_BYTES)?;
            match self.fence(start, &bytes) {
                Ok(separators) => {
                    if separators.first().map(|(first, _)| first) != Some(separator) {
                        let what = "the first separator is not the top tier's";
                        self.report(FormatError::invalid("fence page", offset(start), what));
                    }
                    all.extend(separators);
                }
                Err(error) => self.report(error.moved_by(offset(start))),
            }
        }
        Ok(all)
    }

    fn fence(&self, page: PageNo, bytes: &[u8]) -> Result<Vec<(Separator, PageNo)>, FormatError> {
        let node = FenceNode::parse(bytes)?;
        node.check_crc(self.table.pages.salt(page))?;
        node.separators()
    }

    /// Checks the data pages one after the other. After a damaged one the fences tell where the
    /// next one starts.
    fn data(&mut self, children: &[(Separator, PageNo)]) -> Result<()> {
        let data_units = self.table.footer.data_units;
        let ends = children.iter().skip(1).map(|(_, page)| *page).chain([PageNo(data_units)]);
        let mut totals = Totals::default();
        let mut before = None;
        let mut expected = PageNo(0);
        for ((separator, page), end) in children.iter().zip(ends) {
            if *page != expected || end <= *page || end.0 > data_units {
                let what = format!("a data page at {page}, expected at {expected}");
                self.report(FormatError::invalid("fence page", offset(PageNo(data_units)), what));
                return Ok(());
            }
            expected = end;
            let bytes = self.table.pages.read(*page, (end.0 - page.0) as usize * UNIT_BYTES)?;
            if let Err(error) = self.page(*page, &bytes, separator, (&mut before, &mut totals)) {
                self.report(error.moved_by(offset(*page)));
                before = None;
            }
        }
        if self.problems.is_empty() {
            self.totals(&totals, before.map(|last| last.key));
        }
        Ok(())
    }

    fn page(
        &self,
        no: PageNo,
        bytes: &[u8],
        separator: &Separator,
        (before, totals): (&mut Option<Neighbour>, &mut Totals),
    ) -> Result<(), FormatError> {
        let (table, salt) = (self.table, self.table.pages.salt(no));
        let last = before.clone();
        let counted = (totals.entries, totals.keys);
        let mut first = None;
        let visit = |entry: &Entry<'_>| {
            first.get_or_insert_with(|| Neighbour { key: entry.to_key(), seq: entry.seq });
            totals.visit(entry, self.filter.as_ref(), table.footer.hash_seed);
        };
        let summary = if is_jumbo(bytes) {
            verify_jumbo(bytes, salt, before, visit)?
        } else {
            verify_page(bytes, table.footer.shape, salt, before, visit)?
        };
        totals.jumbo_runs += u64::from(is_jumbo(bytes));
        totals.pages += 1;
        totals.keys += u64::from(summary.new_keys);
        if let Some(first) = &first {
            check_bracket(self.table.top.common(), separator, last.as_ref(), first)?;
        }
        // The key of an older version was counted with the newest one.
        let key = counted.1 - u64::from(last.is_some() && summary.starts_inside_key);
        let stated = (u64::from(summary.first.entry), u64::from(summary.first.key));
        if last.is_some() && stated != (counted.0, key) {
            return Err(FormatError::invalid(
                "data page",
                4,
                "ordinals that do not go on from the page before",
            ));
        }
        // After a damaged page, counting goes on from here.
        totals.entries = stated.0 + u64::from(summary.entries);
        totals.keys = stated.1 + u64::from(summary.new_keys) + u64::from(summary.starts_inside_key);
        Ok(())
    }

    fn totals(&mut self, totals: &Totals, largest: Option<Vec<u8>>) {
        let Properties { entries, keys, tombstones, data_pages, jumbo_runs, min_seq, max_seq, .. } =
            self.table.properties;
        let stated = (entries, keys, tombstones, data_pages, jumbo_runs, Some((min_seq, max_seq)));
        let found =
            (totals.entries, totals.keys, totals.tombstones, totals.pages, totals.jumbo_runs, totals.seqs);
        let at = self.table.footer.properties.offset;
        if stated != found {
            self.report(FormatError::invalid(
                "properties",
                at,
                format!("say {stated:?}, the pages {found:?}"),
            ));
        }
        let range = (totals.smallest.as_ref(), largest.as_ref());
        if range != (Some(&self.table.properties.smallest), Some(&self.table.properties.largest)) {
            self.report(FormatError::invalid("properties", at, "another key range than the pages have"));
        }
        if totals.missing_in_filter > 0 {
            let what = format!("denies {} keys of the table", totals.missing_in_filter);
            self.report(FormatError::invalid("filter", self.table.footer.filter.offset, what));
        }
    }
}

impl Totals {
    fn visit(&mut self, entry: &Entry<'_>, filter: Option<&Filter>, hash_seed: u64) {
        self.entries += 1;
        self.tombstones += u64::from(entry.kind == kiban_formats::Kind::Delete);
        let (min, max) = self.seqs.unwrap_or((entry.seq, entry.seq));
        self.seqs = Some((min.min(entry.seq), max.max(entry.seq)));
        if self.smallest.is_none() {
            self.smallest = Some(entry.to_key());
        }
        if let (Some(filter), None) = (filter, entry.newer) {
            let hash = key_hash(hash_seed, &entry.to_key());
            self.missing_in_filter += u64::from(!filter.may_hold(hash));
        }
    }
}

/// The separator, which is without what all keys share, is after the entry before the page and
/// not after the page's first.
fn check_bracket(
    common: &[u8],
    separator: &Separator,
    last: Option<&Neighbour>,
    first: &Neighbour,
) -> Result<(), FormatError> {
    let place = (separator.key.as_slice(), separator.seq);
    let order = |entry: &Neighbour| {
        let key = entry.key.get(common.len()..).unwrap_or_default();
        place.0.cmp(key).then_with(|| place.1.map_or(Ordering::Less, |seq| entry.seq.cmp(&seq)))
    };
    let is_between = order(first).is_le() && last.is_none_or(|last| order(last).is_gt());
    if !first.key.starts_with(common) || !is_between {
        return Err(FormatError::invalid(
            "data page",
            0,
            "a separator that is not between this page and the one before",
        ));
    }
    Ok(())
}
