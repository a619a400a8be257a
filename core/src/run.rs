//! A sorted run as one source: its tables one after the other, each opened when it is reached.

use std::sync::Arc;

use kiban_formats::SeqNo;

use crate::error::Result;
use crate::levels::TableHandle;
use crate::source::{EntryRef, Source};
use crate::table::{TableContext, TableSource};
use crate::value::{Key, Value};

/// A cursor over the tables of a run.
pub(crate) struct RunSource {
    context: TableContext,
    tables: Vec<Arc<TableHandle>>,
    /// The table that the cursor is in.
    at: usize,
    source: Option<TableSource>,
}

impl RunSource {
    /// Over tables that are apart and in order.
    pub(crate) fn new(context: TableContext, tables: Vec<Arc<TableHandle>>) -> Self {
        Self { context, tables, at: 0, source: None }
    }

    /// Goes to a table; `None`, off the ends, if there is no such table.
    fn enter(&mut self, at: Option<usize>) -> Result<Option<&mut TableSource>> {
        let Some(at) = at.filter(|at| *at < self.tables.len()) else {
            self.source = None;
            return Ok(None);
        };
        if self.at != at || self.source.is_none() {
            self.source = None;
            self.source = Some(TableSource::new(self.tables[at].get(&self.context)?.clone()));
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

impl Source for RunSource {
    fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        let at = self.tables.partition_point(|table| *table.meta.largest < *key);
        if let Some(source) = self.enter(Some(at))? {
            source.seek(key, seq)?;
        }
        self.forward()
    }

    fn seek_before(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        // All versions of a key are in one table.
        let behind = self.tables.partition_point(|table| *table.meta.smallest <= *key);
        if let Some(source) = self.enter(behind.checked_sub(1))? {
            source.seek_before(key, seq)?;
        }
        self.backward()
    }

    fn first(&mut self) -> Result<()> {
        if let Some(source) = self.enter(Some(0))? {
            source.first()?;
        }
        Ok(())
    }

    fn last(&mut self) -> Result<()> {
        if let Some(source) = self.enter(self.tables.len().checked_sub(1))? {
            source.last()?;
        }
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        if let Some(source) = &mut self.source {
            source.next()?;
        }
        self.forward()
    }

    fn prev(&mut self) -> Result<()> {
        if let Some(source) = &mut self.source {
            source.prev()?;
        }
        self.backward()
    }

    fn entry(&self) -> Option<EntryRef<'_>> {
        self.source.as_ref()?.entry()
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
