//! Several sources as one.
//!
//! A binary heap of source numbers by the entry each source stands on. When the top source
//! moves, its number sinks to its place; where one source holds most of the data, as the
//! deepest level does, it mostly stays at the top, which costs two comparisons. One source is
//! read by itself, without a heap.

use std::cmp::Ordering;

use kiban_formats::SeqNo;

use crate::error::{Error, Result};
use crate::source::{EntryRef, Source};
use crate::value::{Key, Value};

/// A [`Source`] of all entries of its sources, in order. An entry that stands in two sources
/// with the same key and sequence, as after a repeated replay, is shown once.
///
/// An error of any source is an error of the merge: steps repeat it until a mover that does not
/// depend on the place (`seek`, `seek_before`, `first`, `last`) succeeds.
pub(super) struct Merge {
    sources: Vec<Box<dyn Source>>,
    /// Numbers of the sources that stand on an entry; the first is the current one.
    heap: Vec<usize>,
    forward: bool,
    error: Option<Error>,
}

/// All entries of these sources, in order.
pub(crate) fn merged(mut sources: Vec<Box<dyn Source>>) -> Box<dyn Source> {
    match sources.pop() {
        Some(only) if sources.is_empty() => only,
        last => {
            sources.extend(last);
            Box::new(Merge::new(sources))
        }
    }
}

impl Merge {
    /// A merge of these sources, in any order. It stands nowhere.
    pub(super) fn new(sources: Vec<Box<dyn Source>>) -> Self {
        Self { sources, heap: Vec::new(), forward: true, error: None }
    }

    /// Moves every source by `mover` and orders them anew.
    fn place(&mut self, forward: bool, mut mover: impl FnMut(&mut dyn Source) -> Result<()>) -> Result<()> {
        self.heap.clear();
        self.forward = forward;
        self.error = None;
        for number in 0..self.sources.len() {
            let moved = mover(&mut *self.sources[number]);
            self.keep(moved)?;
        }
        self.heap.extend((0..self.sources.len()).filter(|&number| self.sources[number].entry().is_some()));
        for at in (0..self.heap.len() / 2).rev() {
            self.sink(at);
        }
        Ok(())
    }

    /// One entry on in this direction.
    fn step(&mut self, forward: bool) -> Result<()> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        assert!(!self.heap.is_empty(), "a merge is only stepped where it stands on an entry");
        if forward != self.forward {
            return self.turn(forward);
        }
        while let Some(at) = self.twin() {
            self.advance(at)?;
        }
        self.advance(0)
    }

    /// One entry on, the other way round. Every source seeks: some may have been past an end, and
    /// a memtable may have grown meanwhile.
    fn turn(&mut self, forward: bool) -> Result<()> {
        let pivot = self.standing(0);
        let (key, seq) = (pivot.key.to_vec(), pivot.seq);
        self.place(forward, |source| match forward {
            true => {
                source.seek(&key, seq)?;
                let same = source.entry().is_some_and(|entry| entry.seq == seq && entry.key == key);
                if same { source.next() } else { Ok(()) }
            }
            false => source.seek_before(&key, seq),
        })
    }

    /// The heap place of another source that stands on the current entry too. It can only be
    /// right below the top.
    fn twin(&self) -> Option<usize> {
        let top = self.standing(0);
        (1..self.heap.len().min(3)).find(|&at| {
            let other = self.standing(at);
            other.seq == top.seq && other.key == top.key
        })
    }

    /// Moves the source at this place of the heap, and restores the order.
    fn advance(&mut self, at: usize) -> Result<()> {
        let source = &mut self.sources[self.heap[at]];
        let moved = if self.forward { source.next() } else { source.prev() };
        let ended = moved.is_ok() && source.entry().is_none();
        self.keep(moved)?;
        if ended {
            self.heap.swap_remove(at);
        }
        self.sink(at);
        Ok(())
    }

    /// Keeps an error for the steps to come. The merge then stands nowhere.
    fn keep(&mut self, moved: Result<()>) -> Result<()> {
        if let Err(error) = &moved {
            self.heap.clear();
            self.error = Some(error.clone());
        }
        moved
    }

    /// Lets the number at this place sink below all that come before it.
    fn sink(&mut self, mut at: usize) {
        loop {
            let mut first = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.compare(child, first).is_lt() {
                    first = child;
                }
            }
            if first == at {
                return;
            }
            self.heap.swap(at, first);
            at = first;
        }
    }

    /// Which of two places of the heap comes first in the direction of travel.
    fn compare(&self, a: usize, b: usize) -> Ordering {
        let (left, right) = (self.standing(a), self.standing(b));
        let order = left.key.cmp(right.key).then(right.seq.cmp(&left.seq));
        if self.forward { order } else { order.reverse() }
    }

    fn standing(&self, at: usize) -> EntryRef<'_> {
        self.sources[self.heap[at]].entry().expect("sources in the heap stand on an entry")
    }

    fn current(&self) -> &dyn Source {
        let number = self.heap.first().expect("a merge is only read where it stands on an entry");
        &*self.sources[*number]
    }
}

impl Source for Merge {
    fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.place(true, |source| source.seek(key, seq))
    }

    fn seek_before(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        self.place(false, |source| source.seek_before(key, seq))
    }

    fn first(&mut self) -> Result<()> {
        self.place(true, |source| source.first())
    }

    fn last(&mut self) -> Result<()> {
        self.place(false, |source| source.last())
    }

    fn next(&mut self) -> Result<()> {
        self.step(true)
    }

    fn prev(&mut self) -> Result<()> {
        self.step(false)
    }

    fn entry(&self) -> Option<EntryRef<'_>> {
        self.sources[*self.heap.first()?].entry()
    }

    fn value(&self) -> Value {
        self.current().value()
    }

    fn key(&self) -> Key {
        self.current().key()
    }
}
