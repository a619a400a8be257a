//! A cursor over a table.
//!
//! Every page is checked before it is believed, also a page of a map, and every entry before it
//! is shown: scans promise that nothing between two entries is missing, so a damaged page is an
//! error and never an end.

use std::ops::Range;
use std::sync::Arc;

use kiban_formats::fence::{FenceNode, Target};
use kiban_formats::page::{Entry, Jumbo, Page};
use kiban_formats::{Kind, PageNo, SeqNo, SlotNo};

use super::pages::{DataPage, PageRef};
use super::reader::Table;
use crate::error::{Error, Result};
use crate::source::{EntryRef, Source};
use crate::value::Value;

/// A [`Source`] of a table.
#[derive(Debug)]
pub(crate) struct TableSource {
    table: Arc<Table>,
    place: Option<Place>,
    leaf: Option<Leaf>,
    /// The entry it stands on.
    entry: Option<Standing>,
    key: Vec<u8>,
    /// Why it stands on none, if that is not an end.
    failed: Option<Error>,
}

/// A data page, as a way down from the top tier.
#[derive(Debug)]
struct Place {
    /// The fence page's ordinal in the top tier.
    fence: usize,
    fence_no: PageNo,
    fence_ref: PageRef,
    /// The data page's ordinal on the fence page.
    child: usize,
}

/// A data page that has been checked.
#[derive(Debug)]
struct Leaf {
    no: PageNo,
    page: PageRef,
    is_jumbo: bool,
    /// Entries on it.
    count: usize,
}

#[derive(Clone, Debug)]
struct Standing {
    slot: usize,
    seq: SeqNo,
    kind: Kind,
    value: Range<usize>,
    payload_crc: u32,
}

/// Which entry of a page to stand on.
#[derive(Clone, Copy, Debug)]
enum Slot {
    At(usize),
    Last,
}

impl TableSource {
    /// A cursor that stands nowhere yet.
    pub(crate) fn new(table: Arc<Table>) -> Self {
        Self { table, place: None, leaf: None, entry: None, key: Vec::new(), failed: None }
    }

    /// Does a move; after an error it stands nowhere and says so again until it is moved to a
    /// place by a seek.
    fn attempt(&mut self, run: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.failed = None;
        let result = run(self);
        if let Err(error) = &result {
            self.entry = None;
            self.failed = Some(error.clone());
        }
        result
    }

    /// Steps, unless it stands nowhere because of an error.
    fn step(&mut self, run: impl FnOnce(&mut Self, usize) -> Result<()>) -> Result<()> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        match self.entry.as_ref().map(|entry| entry.slot) {
            Some(slot) => self.attempt(|source| run(source, slot)),
            None => Ok(()),
        }
    }

    /// Whether an ingested table, which has one version of each key, has it above this sequence.
    fn is_newer_than(&self, seq: SeqNo) -> bool {
        self.table.assigned().is_some_and(|assigned| seq < assigned)
    }

    /// Goes to the first entry at or after (key, stored sequence).
    fn go_to(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        let table = self.table.clone();
        self.descend(table.top.target(key, seq))?;
        let slot = self.search(key, seq)?;
        self.stand_from(slot)
    }

    /// Whether it stands on an entry of this key, and on which slot.
    fn slot_of(&self, key: &[u8]) -> Option<usize> {
        self.entry.as_ref().filter(|_| self.key == key).map(|entry| entry.slot)
    }

    /// Goes down to the data page of the target.
    fn descend(&mut self, target: Target<'_>) -> Result<()> {
        let table = self.table.clone();
        let top = table.top.node();
        let fence = target.find_in(&top).map_err(|error| Error::format(table.pages.path(), error))?;
        self.enter_fence(fence, |node| target.find_in(node))
    }

    /// Goes to a child of a fence page.
    fn enter_fence(
        &mut self,
        fence: usize,
        child: impl FnOnce(&FenceNode<'_>) -> Result<usize, kiban_formats::FormatError>,
    ) -> Result<()> {
        let pages = &self.table.pages;
        let in_top = |error| Error::format(pages.path(), error);
        let fence_no = self.table.top.node().child(fence).map_err(in_top)?;
        let fence_ref = pages.fence_page(fence_no)?;
        let child = FenceNode::parse(pages.bytes(&fence_ref))
            .and_then(|node| child(&node))
            .map_err(|error| pages.damaged(fence_no, error))?;
        self.place = Some(Place { fence, fence_no, fence_ref, child });
        self.enter_leaf()
    }

    /// Reads and checks the data page of the place.
    fn enter_leaf(&mut self) -> Result<()> {
        self.leaf = None;
        let pages = &self.table.pages;
        let Some(place) = &self.place else { return Ok(()) };
        let no = FenceNode::parse(pages.bytes(&place.fence_ref))
            .and_then(|node| node.child(place.child))
            .map_err(|error| pages.damaged(place.fence_no, error))?;
        let leaf = match pages.data_page(no)? {
            DataPage::Page(page) => {
                pages.check_page(no, &page)?;
                let count =
                    Page::parse(pages.bytes(&page)).map_err(|error| pages.damaged(no, error))?.count();
                Leaf { no, page, is_jumbo: false, count }
            }
            DataPage::Jumbo(head) => Leaf { no, page: pages.whole_run(no, &head)?, is_jumbo: true, count: 1 },
        };
        self.leaf = Some(leaf);
        Ok(())
    }

    /// Goes to the next data page; `false` at the end.
    fn next_leaf(&mut self) -> Result<bool> {
        let Some(place) = &mut self.place else { return Ok(false) };
        let node = FenceNode::parse(self.table.pages.bytes(&place.fence_ref))
            .map_err(|error| self.table.pages.damaged(place.fence_no, error))?;
        if place.child + 1 < node.count() {
            place.child += 1;
            self.enter_leaf()?;
        } else if place.fence + 1 < self.table.top.node().count() {
            let fence = place.fence + 1;
            self.enter_fence(fence, |_| Ok(0))?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Goes to the data page before; `false` at the start.
    fn prev_leaf(&mut self) -> Result<bool> {
        let Some(place) = &mut self.place else { return Ok(false) };
        if place.child > 0 {
            place.child -= 1;
            self.enter_leaf()?;
        } else if place.fence > 0 {
            let fence = place.fence - 1;
            self.enter_fence(fence, |node| Ok(node.count() - 1))?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// The slot of the first entry of the page at or after (key, sequence); the number of entries
    /// if there is none.
    fn search(&self, key: &[u8], seq: SeqNo) -> Result<usize> {
        let Some(leaf) = &self.leaf else { return Ok(0) };
        let pages = &self.table.pages;
        let bytes = pages.bytes(&leaf.page);
        let slot = if leaf.is_jumbo {
            Jumbo::parse(bytes, pages.salt(leaf.no))
                .map(|jumbo| usize::from(jumbo.key.cmp(key).then(seq.cmp(&jumbo.seq())).is_lt()))
        } else {
            Page::parse(bytes).and_then(|page| page.search(key, seq))
        };
        slot.map_err(|error| pages.damaged(leaf.no, error))
    }

    /// Stands on an entry of the page, after its checksum has been compared.
    fn stand(&mut self, slot: Slot) -> Result<()> {
        self.entry = None;
        let Some(leaf) = &self.leaf else { return Ok(()) };
        let pages = &self.table.pages;
        let bytes = pages.bytes(&leaf.page);
        let slot = match slot {
            Slot::At(slot) => slot,
            Slot::Last => leaf.count - 1,
        };
        let entry: Result<Entry<'_>, _> = if leaf.is_jumbo {
            Jumbo::parse(bytes, pages.salt(leaf.no)).map(|jumbo| {
                let end = jumbo.value_offset + jumbo.value_len as usize;
                jumbo.entry(&bytes[jumbo.value_offset..end])
            })
        } else {
            Page::parse(bytes).and_then(|page| page.entry(SlotNo(slot as u16)))
        };
        let entry = entry
            .and_then(|entry| entry.verify().map(|()| entry))
            .map_err(|error| pages.damaged(leaf.no, error))?;
        self.key.clear();
        self.key.extend_from_slice(entry.prefix);
        self.key.extend_from_slice(entry.suffix);
        self.entry = Some(Standing {
            slot,
            seq: entry.seq,
            kind: entry.kind,
            value: entry.value_offset..entry.value_offset + entry.value.len(),
            payload_crc: entry.payload_crc(),
        });
        Ok(())
    }

    /// Stands on the entry of this slot, or on the first of the next page.
    fn stand_from(&mut self, slot: usize) -> Result<()> {
        let on_page = self.leaf.as_ref().is_some_and(|leaf| slot < leaf.count);
        if on_page {
            return self.stand(Slot::At(slot));
        }
        self.entry = None;
        match self.next_leaf()? {
            true => self.stand(Slot::At(0)),
            false => Ok(()),
        }
    }

    /// Stands on the entry before this slot, or on the last of the page before.
    fn stand_before(&mut self, slot: usize) -> Result<()> {
        if slot > 0 {
            return self.stand(Slot::At(slot - 1));
        }
        self.entry = None;
        match self.prev_leaf()? {
            true => self.stand(Slot::Last),
            false => Ok(()),
        }
    }
}

impl Source for TableSource {
    fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.attempt(|source| {
            source.go_to(key, seq)?;
            match source.slot_of(key).filter(|_| source.is_newer_than(seq)) {
                Some(slot) => source.stand_from(slot + 1),
                None => Ok(()),
            }
        })
    }

    fn seek_before(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.attempt(|source| {
            if source.is_newer_than(seq) {
                source.go_to(key, seq)?;
                if source.slot_of(key).is_some() {
                    return Ok(());
                }
            }
            let table = source.table.clone();
            source.descend(table.top.target(key, seq))?;
            let slot = source.search(key, seq)?;
            source.stand_before(slot)
        })
    }

    fn first(&mut self) -> Result<()> {
        self.attempt(|source| {
            source.descend(Target::First)?;
            source.stand(Slot::At(0))
        })
    }

    fn last(&mut self) -> Result<()> {
        self.attempt(|source| {
            source.descend(Target::Last)?;
            source.stand(Slot::Last)
        })
    }

    fn next(&mut self) -> Result<()> {
        self.step(|source, slot| source.stand_from(slot + 1))
    }

    fn prev(&mut self) -> Result<()> {
        self.step(|source, slot| source.stand_before(slot))
    }

    fn entry(&self) -> Option<EntryRef<'_>> {
        let (entry, leaf) = (self.entry.as_ref()?, self.leaf.as_ref()?);
        Some(EntryRef {
            key: &self.key,
            seq: self.table.assigned().unwrap_or(entry.seq),
            kind: entry.kind,
            value: &self.table.pages.bytes(&leaf.page)[entry.value.clone()],
            payload_crc: entry.payload_crc,
        })
    }

    fn value(&self) -> Value {
        match (&self.entry, &self.leaf) {
            (Some(entry), Some(leaf)) => self.table.pages.value(&leaf.page, entry.value.clone()),
            _ => Value::copy(&[]),
        }
    }
}
