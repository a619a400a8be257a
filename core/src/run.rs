//! A sorted run: tables that are apart and in order, found by their boundary keys, and scanned as
//! one source.

use std::sync::Arc;

use kiban_formats::SeqNo;

use crate::error::{Error, Result};
use crate::source::{EntryRef, Source};
use crate::table::{TableContext, TableHandle, TableSource};
use crate::value::{Key, Value};

/// A sorted run.
#[derive(Debug, Default)]
pub(crate) struct Run {
    tables: Box<[Arc<TableHandle>]>,
    /// The head of each table's largest key: a search reads these, and keys only where heads
    /// are equal.
    ends: Box<[Head]>,
}

/// The first 16 bytes of a key as one number, zeros behind a shorter one. Heads never order two
/// keys the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Head(u128);

impl Head {
    #[inline]
    fn of(key: &[u8]) -> Self {
        if let Some(head) = key.first_chunk() {
            return Self(u128::from_be_bytes(*head));
        }
        let mut head = [0; size_of::<u128>()];
        head[..key.len()].copy_from_slice(key);
        Self(u128::from_be_bytes(head))
    }
}

impl Run {
    /// A run of these tables, in any order; they are apart.
    pub(crate) fn new(tables: impl IntoIterator<Item = Arc<TableHandle>>) -> Self {
        let mut tables: Box<[_]> = tables.into_iter().collect();
        tables.sort_unstable_by(|a: &Arc<TableHandle>, b| a.meta.smallest.cmp(&b.meta.smallest));
        let ends = tables.iter().map(|table| Head::of(&table.meta.largest)).collect();
        Self { tables, ends }
    }

    pub(crate) fn tables(&self) -> &[Arc<TableHandle>] {
        &self.tables
    }

    /// Whether some table has a part of `smallest..=largest` in its range.
    pub(crate) fn overlaps(&self, smallest: &[u8], largest: &[u8]) -> bool {
        let table = self.tables.get(self.at_or_after(smallest));
        table.is_some_and(|table| *table.meta.smallest <= *largest)
    }

    /// The ordinal of the first table that ends at or after the key.
    #[inline]
    fn at_or_after(&self, key: &[u8]) -> usize {
        if self.ends.is_empty() {
            return 0;
        }
        let head = Head::of(key);
        let first = self.ends.partition_point(|end| *end < head);
        match self.ends.get(first) {
            Some(end) if *end == head => self.at_or_after_among_equal(first, key),
            _ => first,
        }
    }

    /// The same where the ends of tables from `first` on have the key's head.
    fn at_or_after_among_equal(&self, first: usize, key: &[u8]) -> usize {
        let head = Head::of(key);
        let same = self.ends[first..].partition_point(|end| *end == head);
        first + self.tables[first..first + same].partition_point(|table| *table.meta.largest < *key)
    }

    /// The table whose range holds the key.
    #[inline]
    pub(crate) fn table_for(&self, key: &[u8]) -> Option<&Arc<TableHandle>> {
        self.tables.get(self.at_or_after(key)).filter(|table| *table.meta.smallest <= *key)
    }

    /// Its ordinal.
    pub(crate) fn ordinal_for(&self, key: &[u8]) -> Option<usize> {
        let ordinal = self.at_or_after(key);
        self.tables.get(ordinal).filter(|table| *table.meta.smallest <= *key).map(|_| ordinal)
    }

    /// Bytes of memory, tables apart.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (size_of::<Self>() + 2 * size_of::<usize>() + size_of_val(&*self.tables) + size_of_val(&*self.ends))
            as u64
    }
}

/// A cursor over the tables of a run, each opened when it is reached.
pub(crate) struct RunSource {
    context: TableContext,
    run: Arc<Run>,
    /// The table that the cursor is in.
    at: usize,
    source: Option<TableSource>,
    /// A table could not be opened or read: steps repeat it until a seek succeeds.
    failed: Option<Error>,
}

impl RunSource {
    pub(crate) fn new(context: TableContext, run: Arc<Run>) -> Self {
        Self { context, run, at: 0, source: None, failed: None }
    }

    /// Goes to a table; `None`, off the ends, if there is no such table.
    fn enter(&mut self, at: Option<usize>) -> Result<Option<&mut TableSource>> {
        let Some(at) = at.filter(|at| *at < self.run.tables.len()) else {
            self.source = None;
            return Ok(None);
        };
        if self.at != at || self.source.is_none() {
            self.source = None;
            self.source = Some(TableSource::new(self.run.tables[at].get(&self.context)?.into()));
            self.at = at;
        }
        Ok(self.source.as_mut())
    }

    /// To the first entry of the next table, if this one has no more.
    fn forward(&mut self) -> Result<()> {
        if self.source.as_ref().is_some_and(|source| source.entry().is_none()) {
            let next = self.at + 1;
            if let Some(source) = self.enter(Some(next))? {
                source.first()?;
            }
        }
        Ok(())
    }

    /// To the last entry of the table before, if this one has no more.
    fn backward(&mut self) -> Result<()> {
        if self.source.as_ref().is_some_and(|source| source.entry().is_none()) {
            let before = self.at.checked_sub(1);
            if let Some(source) = self.enter(before)? {
                source.last()?;
            }
        }
        Ok(())
    }
}

impl RunSource {
    /// Goes to a place, whatever was before.
    fn place(&mut self, go: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let placed = go(self);
        self.failed = placed.as_ref().err().cloned();
        placed
    }

    /// Steps, unless it stands nowhere because of an error.
    fn step(&mut self, go: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => self.place(go),
        }
    }
}

impl Source for RunSource {
    fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.place(|run| {
            let at = run.run.at_or_after(key);
            if let Some(source) = run.enter(Some(at))? {
                source.seek(key, seq)?;
            }
            run.forward()
        })
    }

    fn seek_before(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.place(|run| {
            // All versions of a key are in one table.
            let behind = run.run.tables.partition_point(|table| *table.meta.smallest <= *key);
            if let Some(source) = run.enter(behind.checked_sub(1))? {
                source.seek_before(key, seq)?;
            }
            run.backward()
        })
    }

    fn first(&mut self) -> Result<()> {
        self.place(|run| match run.enter(Some(0))? {
            Some(source) => source.first(),
            None => Ok(()),
        })
    }

    fn last(&mut self) -> Result<()> {
        self.place(|run| match run.enter(run.run.tables.len().checked_sub(1))? {
            Some(source) => source.last(),
            None => Ok(()),
        })
    }

    fn next(&mut self) -> Result<()> {
        self.step(|run| {
            if let Some(source) = &mut run.source {
                source.next()?;
            }
            run.forward()
        })
    }

    fn prev(&mut self) -> Result<()> {
        self.step(|run| {
            if let Some(source) = &mut run.source {
                source.prev()?;
            }
            run.backward()
        })
    }

    fn entry(&self) -> Option<EntryRef<'_>> {
        if self.failed.is_some() { None } else { self.source.as_ref()?.entry() }
    }

    fn key(&self) -> Key {
        match &self.source {
            Some(source) => source.key(),
            None => Key::copy(&[]),
        }
    }

    fn value(&self) -> Value {
        match &self.source {
            Some(source) => source.value(),
            None => Value::copy(&[]),
        }
    }
}
