//! Point reads: the rules by which what an index says becomes an answer, a function each.
//!
//! An index only hints. 1. *Hit*: the place is an entry by the page's own slots, its checksum is
//! right, and its key is the key. 2. *Miss*: the page's checksum is right, and the key lies between
//! its first and its last key. 3. *Not proven*: the sorted index is asked, once; if it finds the key,
//! the index is refuted and goes. 4. *Damage*: an error, and never "not here". Only the promises
//! `Absent` and `Deleted` are believed; those of a plug-in are checked now and then.

use kiban_formats::fence::FenceNode;
use kiban_formats::page::{Entry, Jumbo, Page};
use kiban_formats::{FormatError, Kind, PageNo, SeqNo, SlotNo};
use kiban_indexes::{Location, Presence, Probe};

use super::pages::{DataPage, PageRef};
use super::reader::Table;
use super::stats::Counted;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{Index, Outcome};
use crate::source::{Found, Wants};
use crate::value::Value;

/// What a place says of a key.
enum Looked {
    /// Rule 1.
    Answer(Found),
    /// Rule 1, but the version there is newer than the snapshot: older ones are behind it.
    Newer,
    /// Rule 2.
    NotHere,
    /// Rule 3.
    Unproven,
}

/// Where on a page to look.
#[derive(Clone, Copy)]
enum Spot {
    Offset(u16),
    Slot(SlotNo),
    Search,
}

/// Keys whose places are fetched together: about as many loads as a core has in flight, twice.
const AT_ONCE: usize = 32;
/// How many entries are on their way while one is looked at.
const AHEAD: usize = 8;

impl Table {
    /// What the table says of a key at a snapshot, by an index if it has one.
    #[inline]
    pub(crate) fn get(&self, index: Option<&Index>, probe: &Probe<'_>, wants: Wants) -> Result<Found> {
        if self.assigned.is_some_and(|seq| probe.snapshot < seq) {
            return Ok(Found::Absent);
        }
        match index {
            Some(index) if !self.is_denied_before(index, probe) => {
                if wants == Wants::Presence
                    && let Some(found) = self.present(index, probe)?
                {
                    return Ok(found);
                }
                let location = index.locate(probe);
                self.pages.prefetch(&location);
                self.at(index, location, probe)
            }
            Some(_) => Ok(Found::Absent),
            None => self.by_filter_and_fences(probe),
        }
    }

    /// The same for many keys, in their order: the index is asked for some at once, and what its
    /// places need is fetched before the first of them is looked at.
    pub(crate) fn get_many(&self, index: &Index, probes: &[Probe<'_>], found: &mut Vec<Found>) -> Result<()> {
        let mut locations = [Location::Unknown; AT_ONCE];
        for probes in probes.chunks(AT_ONCE) {
            let locations = &mut locations[..probes.len()];
            index.locate_many(probes, locations);
            locations.iter().take(AHEAD).for_each(|location| self.pages.prefetch(location));
            for (no, probe) in probes.iter().enumerate() {
                let location = &locations[no];
                locations.get(no + AHEAD).iter().for_each(|location| self.pages.prefetch(location));
                let is_too_new = self.assigned.is_some_and(|seq| probe.snapshot < seq);
                found.push(match is_too_new || self.is_denied_before(index, probe) {
                    true => Found::Absent,
                    false => self.at(index, *location, probe)?,
                });
            }
        }
        Ok(())
    }

    /// The filter's answer for an index that does not know absent keys itself.
    #[inline]
    pub(super) fn is_denied_before(&self, index: &Index, probe: &Probe<'_>) -> bool {
        !index.rejects_absent() && self.is_denied(probe)
    }

    #[inline]
    fn is_denied(&self, probe: &Probe<'_>) -> bool {
        let denied = self.filter.as_ref().is_some_and(|filter| !filter.may_hold(probe.hash));
        if denied {
            self.pages.count(Counted::Filtered);
        }
        denied
    }

    #[inline]
    fn by_filter_and_fences(&self, probe: &Probe<'_>) -> Result<Found> {
        if self.is_denied(probe) { Ok(Found::Absent) } else { self.by_fences(probe) }
    }

    /// The answer of the table's own sorted index.
    #[inline]
    fn by_fences(&self, probe: &Probe<'_>) -> Result<Found> {
        let page = self.sorted(probe.key, probe.snapshot)?;
        match self.pages.data_page(page)? {
            DataPage::Page(page_ref) => self.look_on_page(page, &page_ref, probe),
            DataPage::Jumbo(head) => self.look_at_jumbo(page, &head, probe),
        }
    }

    /// What an index's location comes to.
    #[inline]
    pub(super) fn at(&self, index: &Index, location: Location, probe: &Probe<'_>) -> Result<Found> {
        let (page, spot) = match location {
            Location::Entry { page, offset } => (page, Spot::Offset(offset)),
            Location::Slot { page, slot } => (page, Spot::Slot(slot)),
            Location::Page(page) => (page, Spot::Search),
            Location::Absent => return self.promised(index, Found::Absent, probe),
            Location::Deleted => return self.promised(index, Found::Deleted, probe),
            Location::Pages { first, last } => return self.in_pages(index, first..=last, probe),
            _ => {
                index.count(Outcome::Unknown);
                return self.by_filter_and_fences(probe);
            }
        };
        let looked = self.look(index, page, spot, probe)?;
        self.settle(index, looked, probe)
    }

    /// What an index that keeps whole keys promises of a key without its page.
    fn present(&self, index: &Index, probe: &Probe<'_>) -> Result<Option<Found>> {
        Ok(match index.presence(probe) {
            Presence::Unknown => None,
            Presence::Absent => Some(self.promised(index, Found::Absent, probe)?),
            Presence::Deleted => Some(self.promised(index, Found::Deleted, probe)?),
            Presence::Live => Some(self.promised_live(index, probe)?),
        })
    }

    /// The promise that a key has a value, checked as the others are.
    fn promised_live(&self, index: &Index, probe: &Probe<'_>) -> Result<Found> {
        index.count(Outcome::Hit);
        if !index.is_to_be_checked() {
            return Ok(Found::Value(Value::copy(&[])));
        }
        let found = self.by_fences(probe)?;
        if !matches!(found, Found::Value(_)) {
            index.refute();
        }
        Ok(found)
    }

    /// A promise, believed but for one in so many of a plug-in.
    #[inline]
    fn promised(&self, index: &Index, promised: Found, probe: &Probe<'_>) -> Result<Found> {
        index.count(Outcome::Absent);
        if !index.is_to_be_checked() {
            return Ok(promised);
        }
        let found = self.by_fences(probe)?;
        if found != promised {
            index.refute();
        }
        Ok(found)
    }

    fn in_pages(
        &self,
        index: &Index,
        pages: std::ops::RangeInclusive<PageNo>,
        probe: &Probe<'_>,
    ) -> Result<Found> {
        let (first, last) = (pages.start().0, pages.end().0);
        if last.checked_sub(first).is_some_and(|more| more < Location::RUN_PAGES_MAX) {
            for page in first..=last {
                match self.look(index, PageNo(page), Spot::Search, probe)? {
                    Looked::Unproven => {}
                    looked => return self.settle(index, looked, probe),
                }
            }
        }
        self.settle(index, Looked::Unproven, probe)
    }

    /// Counts what a place said, and asks the sorted index where it proved nothing.
    #[inline]
    fn settle(&self, index: &Index, looked: Looked, probe: &Probe<'_>) -> Result<Found> {
        match looked {
            Looked::Answer(found) => {
                index.count(Outcome::Hit);
                Ok(found)
            }
            Looked::Newer => {
                index.count(Outcome::Hit);
                self.by_fences(probe)
            }
            Looked::NotHere => {
                index.count(Outcome::FalsePositive);
                Ok(Found::Absent)
            }
            Looked::Unproven => self.unproven(index, probe),
        }
    }

    /// Rule 3.
    #[cold]
    fn unproven(&self, index: &Index, probe: &Probe<'_>) -> Result<Found> {
        let found = self.by_filter_and_fences(probe)?;
        match found {
            Found::Absent => index.count(Outcome::FalsePositive),
            Found::Deleted | Found::Value(_) => index.refute(),
        }
        Ok(found)
    }

    /// Looks where an index says. A page that cannot be read there proves nothing: the place may be
    /// no start of a page. If it is, the sorted index meets the damage too.
    #[inline]
    fn look(&self, index: &Index, no: PageNo, spot: Spot, probe: &Probe<'_>) -> Result<Looked> {
        let looked = match self.pages.data_page(no) {
            Ok(DataPage::Page(page_ref)) => index
                .prove_page(no, || self.pages.check_page(no, &page_ref))
                .and_then(|()| self.look_at_spot(no, &page_ref, spot, probe)),
            Ok(DataPage::Jumbo(head)) => self.look_at_head(no, &head, probe),
            Err(error) => Err(error),
        };
        match looked {
            Err(error) if error.kind() == ErrorKind::Corruption => Ok(Looked::Unproven),
            looked => looked,
        }
    }

    #[inline]
    fn look_at_spot(&self, no: PageNo, page_ref: &PageRef, spot: Spot, probe: &Probe<'_>) -> Result<Looked> {
        let damaged = |error| self.pages.damaged(no, error);
        let page = Page::parse(self.pages.bytes(page_ref)).map_err(damaged)?;
        let entry = match spot {
            Spot::Offset(offset) => page.entry_at(offset),
            Spot::Slot(slot) => in_slot(&page, slot.0.into()),
            Spot::Search => page.search(probe.key, probe.snapshot).and_then(|slot| in_slot(&page, slot)),
        };
        if let Some(entry) = entry.map_err(damaged)?
            && entry.has_key(probe.key)
        {
            return self.look_at_entry(no, page_ref, &entry, probe);
        }
        self.pages.check_page(no, page_ref)?;
        Ok(if lacks(&page, probe).map_err(damaged)? { Looked::NotHere } else { Looked::Unproven })
    }

    fn look_at_head(&self, no: PageNo, head: &PageRef, probe: &Probe<'_>) -> Result<Looked> {
        let jumbo = Jumbo::parse(self.pages.bytes(head), self.pages.salt(no))
            .map_err(|error| self.pages.damaged(no, error))?;
        match jumbo.key == probe.key {
            // The page of one key: no other one is between its first and its last.
            false => Ok(Looked::Unproven),
            true if jumbo.seq() > probe.snapshot => Ok(Looked::Newer),
            true => Ok(Looked::Answer(self.look_at_jumbo(no, head, probe)?)),
        }
    }

    #[inline]
    fn look_at_entry(
        &self,
        no: PageNo,
        page_ref: &PageRef,
        entry: &Entry<'_>,
        probe: &Probe<'_>,
    ) -> Result<Looked> {
        if is_visible_newest(entry, probe.snapshot) {
            return Ok(Looked::Answer(self.hit(no, page_ref, entry, probe)?));
        }
        entry.verify().map_err(|error| self.pages.damaged(no, error))?;
        // A version that is too new, or one that is too old: the place was wrong.
        Ok(if entry.seq > probe.snapshot { Looked::Newer } else { Looked::Unproven })
    }

    /// The sorted index: the one page on which the first entry at or after (key, sequence) is,
    /// if it has that key.
    #[inline]
    pub(super) fn sorted(&self, key: &[u8], seq: SeqNo) -> Result<PageNo> {
        let target = self.top.target(key, seq);
        let top = self.top.node();
        let in_top = |error| Error::format(self.pages.path(), error);
        let fence = target.find_in(&top).and_then(|child| top.child(child)).map_err(in_top)?;
        let fence_ref = self.pages.fence_page(fence)?;
        FenceNode::parse(self.pages.bytes(&fence_ref))
            .and_then(|node| node.child(target.find_in(&node)?))
            .map_err(|error| self.pages.damaged(fence, error))
    }

    #[inline]
    fn look_on_page(&self, no: PageNo, page_ref: &PageRef, probe: &Probe<'_>) -> Result<Found> {
        let found = Page::parse(self.pages.bytes(page_ref))
            .and_then(|page| in_slot(&page, page.search(probe.key, probe.snapshot)?));
        match found {
            Ok(Some(entry)) if entry.has_key(probe.key) => self.hit(no, page_ref, &entry, probe),
            Ok(_) => self.miss(no, page_ref),
            Err(error) => Err(self.not_an_entry(no, page_ref, error)),
        }
    }

    /// Rule 1: the entry's checksum is right, so it is one that was written, and its key is the
    /// key. It tells by itself whether it is the newest version that the snapshot sees.
    #[inline]
    fn hit(&self, no: PageNo, page_ref: &PageRef, entry: &Entry<'_>, probe: &Probe<'_>) -> Result<Found> {
        if let Err(error) = entry.verify() {
            return Err(self.not_an_entry(no, page_ref, error));
        }
        if !is_visible_newest(entry, probe.snapshot) {
            let error =
                FormatError::invalid("entry", entry.value_offset as u64, "not the version looked for");
            return Err(self.not_an_entry(no, page_ref, error));
        }
        let value = entry.value_offset..entry.value_offset + entry.value.len();
        Ok(match entry.kind {
            Kind::Put => Found::Value(self.pages.value(page_ref, value)),
            Kind::Delete => Found::Deleted,
        })
    }

    /// Rule 2: the page's checksum is right, and the sorted index names this page: the table does
    /// not have the key at this snapshot.
    fn miss(&self, no: PageNo, page_ref: &PageRef) -> Result<Found> {
        self.pages.check_page(no, page_ref)?;
        Ok(Found::Absent)
    }

    /// Rule 4: what stands there is no entry. Where the page's checksum is wrong too, that is
    /// what is reported.
    #[cold]
    fn not_an_entry(&self, no: PageNo, page_ref: &PageRef, error: FormatError) -> Error {
        match self.pages.check_page(no, page_ref) {
            Err(page_error) => page_error,
            Ok(()) => self.pages.damaged(no, error),
        }
    }

    /// The same rules where the page is a jumbo run; its head has been checked. The value is read
    /// only if it is the answer.
    fn look_at_jumbo(&self, no: PageNo, head: &PageRef, probe: &Probe<'_>) -> Result<Found> {
        let damaged = |error| self.pages.damaged(no, error);
        let jumbo = Jumbo::parse(self.pages.bytes(head), self.pages.salt(no)).map_err(damaged)?;
        if jumbo.key != probe.key || jumbo.seq() > probe.snapshot {
            return Ok(Found::Absent);
        }
        if jumbo.kind() == Kind::Delete {
            return self.hit(no, head, &jumbo.entry(&[]), probe);
        }
        let run = self.pages.whole_run(no, head)?;
        let bytes = self.pages.bytes(&run);
        let jumbo = Jumbo::parse(bytes, self.pages.salt(no)).map_err(damaged)?;
        let value = &bytes[jumbo.value_offset..jumbo.value_offset + jumbo.value_len as usize];
        self.hit(no, &run, &jumbo.entry(value), probe)
    }
}

/// The entry in a slot, if there is such a slot.
#[inline]
fn in_slot<'p>(page: &Page<'p>, slot: usize) -> std::result::Result<Option<Entry<'p>>, FormatError> {
    if slot < page.count() { page.entry(SlotNo(slot as u16)).map(Some) } else { Ok(None) }
}

/// Whether a page, which is whole, proves that its table does not have the key: the key would be
/// on it, and is not.
#[cold]
fn lacks(page: &Page<'_>, probe: &Probe<'_>) -> std::result::Result<bool, FormatError> {
    let slot = page.search(probe.key, SeqNo::MAX)?;
    if slot == 0 || slot == page.count() {
        // Before its first key, or after its last one.
        return Ok(false);
    }
    Ok(!page.entry(SlotNo(slot as u16))?.has_key(probe.key))
}

/// The snapshot sees this version and no newer one.
#[inline]
fn is_visible_newest(entry: &Entry<'_>, snapshot: SeqNo) -> bool {
    entry.seq <= snapshot && entry.newer.is_none_or(|newer| newer > snapshot)
}
