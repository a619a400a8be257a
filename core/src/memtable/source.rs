//! A cursor over a memtable that owns it.
//!
//! The skip list's own cursor borrows the list, and so cannot stand beside it in one struct.
//! This one takes entries out in runs: one after a seek, then more and more, so that a seek
//! costs one descent and a long scan a small part of one an entry. A run shares the entries'
//! buffers and copies none of them.

use std::ops::Bound;
use std::sync::Arc;

use kiban_formats::SeqNo;

use super::Memtable;
use super::entry::{Place, Stored};
use crate::error::Result;
use crate::source::{EntryRef, Source};
use crate::value::{Key, Value};

/// Entries of the longest run.
const RUN_MAX: usize = 64;
/// Each run is this many times longer than the one before.
const RUN_GROWTH: usize = 4;

/// A [`Source`] of a memtable. It never fails.
#[derive(Debug)]
pub(crate) struct MemtableSource {
    memtable: Arc<Memtable>,
    /// In the direction of travel; it stands on `run[at]`, or off the ends if there is none.
    run: Vec<Stored>,
    at: usize,
    forward: bool,
    run_len: usize,
}

impl MemtableSource {
    /// A cursor that stands nowhere yet.
    pub(crate) fn new(memtable: Arc<Memtable>) -> Self {
        Self { memtable, run: Vec::new(), at: 0, forward: true, run_len: 1 }
    }

    /// Takes a run of entries, ascending from a lower bound.
    fn ascend(&mut self, from: Bound<&dyn Place>) {
        self.start_run(true);
        let mut entry = self.memtable.entries.lower_bound(from);
        while let Some(here) = &mut entry {
            self.run.push(here.key().clone());
            if self.run.len() == self.run_len || !here.move_next() {
                break;
            }
        }
    }

    /// Takes a run of entries, descending from an upper bound.
    fn descend(&mut self, from: Bound<&dyn Place>) {
        self.start_run(false);
        let mut entry = self.memtable.entries.upper_bound(from);
        while let Some(here) = &mut entry {
            self.run.push(here.key().clone());
            if self.run.len() == self.run_len || !here.move_prev() {
                break;
            }
        }
    }

    fn start_run(&mut self, forward: bool) {
        self.run.clear();
        self.at = 0;
        self.forward = forward;
    }

    fn step(&mut self, forward: bool) {
        if forward == self.forward && self.at + 1 < self.run.len() {
            self.at += 1;
            return;
        }
        let here = self.here().clone();
        self.run_len =
            if forward == self.forward { (self.run_len * RUN_GROWTH).min(RUN_MAX) } else { RUN_GROWTH };
        match forward {
            true => self.ascend(Bound::Excluded(&here)),
            false => self.descend(Bound::Excluded(&here)),
        }
    }

    fn here(&self) -> &Stored {
        self.run.get(self.at).expect("a source is only stepped or read where it stands on an entry")
    }
}

impl Source for MemtableSource {
    fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.run_len = 1;
        self.ascend(Bound::Included(&(key, seq)));
        Ok(())
    }

    fn seek_before(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.run_len = 1;
        self.descend(Bound::Excluded(&(key, seq)));
        Ok(())
    }

    fn first(&mut self) -> Result<()> {
        self.run_len = 1;
        self.ascend(Bound::Unbounded);
        Ok(())
    }

    fn last(&mut self) -> Result<()> {
        self.run_len = 1;
        self.descend(Bound::Unbounded);
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.step(true);
        Ok(())
    }

    fn prev(&mut self) -> Result<()> {
        self.step(false);
        Ok(())
    }

    fn entry(&self) -> Option<EntryRef<'_>> {
        self.run.get(self.at).map(Stored::entry)
    }

    fn value(&self) -> Value {
        self.here().to_value()
    }

    fn key(&self) -> Key {
        self.here().to_key()
    }
}
