//! The public iterator: two cursors that meet.

use std::iter::FusedIterator;
use std::sync::Arc;

use super::visible::Visible;
use super::{Bounds, ReadView};
use crate::error::{Error, Result};
use crate::value::{Key, Value};

/// The keys and values of a keyspace, or of a range of it, in byte order, from both ends.
///
/// It owns its snapshot and outlives every handle. Each key is given once, wherever front and
/// back meet. After an error it gives that error for ever, at both ends, and never a clean end.
/// Nothing is read before the first item is asked for.
pub struct Iter {
    state: State,
}

enum State {
    Reading(Ends),
    Failed(Error),
    Done,
}

struct Ends {
    view: Arc<dyn ReadView>,
    /// Of an end that has not been used yet.
    bounds: Bounds,
    front: Option<Box<Visible>>,
    back: Option<Box<Visible>>,
}

#[derive(Clone, Copy)]
enum End {
    Front,
    Back,
}

impl Iter {
    /// The keys of `view` inside `bounds`.
    pub(crate) fn new(view: Arc<dyn ReadView>, bounds: Bounds) -> Self {
        Self { state: State::Reading(Ends { view, bounds, front: None, back: None }) }
    }

    /// An iterator that gives nothing but this error.
    pub(crate) fn failed(error: Error) -> Self {
        Self { state: State::Failed(error) }
    }

    fn take(&mut self, end: End) -> Option<Result<(Key, Value)>> {
        let taken = match &mut self.state {
            State::Reading(ends) => ends.take(end),
            State::Failed(error) => return Some(Err(error.clone())),
            State::Done => return None,
        };
        match &taken {
            Some(Ok(_)) => {}
            // What it held on to is let go at once.
            Some(Err(error)) => self.state = State::Failed(error.clone()),
            None => self.state = State::Done,
        }
        taken
    }
}

impl Ends {
    /// The next item at this end. The other end is told, so that it stops short of it.
    fn take(&mut self, end: End) -> Option<Result<(Key, Value)>> {
        match self.step(end) {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(error)),
        }
        let (here, other) = match end {
            End::Front => (&self.front, &mut self.back),
            End::Back => (&self.back, &mut self.front),
        };
        let here = here.as_ref()?;
        let key = here.key()?;
        match (end, other) {
            (End::Front, Some(back)) => back.cut_through(key),
            (End::Back, Some(front)) => front.cut_from(key),
            (_, None) => {}
        }
        here.item().map(Ok)
    }

    fn step(&mut self, end: End) -> Result<bool> {
        self.view.check_open()?;
        match end {
            End::Front => self.front()?.next(),
            End::Back => self.back()?.prev(),
        }
    }

    fn front(&mut self) -> Result<&mut Visible> {
        if self.front.is_none() {
            let mut bounds = self.bounds.clone();
            if let Some(key) = self.back.as_ref().and_then(|back| back.key()) {
                bounds.cut_from(key);
            }
            self.front = Some(Box::new(Visible::open(&*self.view, bounds)?));
        }
        Ok(self.front.as_mut().expect("it was opened above"))
    }

    fn back(&mut self) -> Result<&mut Visible> {
        if self.back.is_none() {
            let mut bounds = self.bounds.clone();
            if let Some(key) = self.front.as_ref().and_then(|front| front.key()) {
                bounds.cut_through(key);
            }
            self.back = Some(Box::new(Visible::open(&*self.view, bounds)?));
        }
        Ok(self.back.as_mut().expect("it was opened above"))
    }
}

impl Iterator for Iter {
    type Item = Result<(Key, Value)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.take(End::Front)
    }
}

impl DoubleEndedIterator for Iter {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.take(End::Back)
    }
}

impl FusedIterator for Iter {}

impl std::fmt::Debug for Iter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match &self.state {
            State::Reading(_) => "reading",
            State::Failed(_) => "failed",
            State::Done => "done",
        };
        f.debug_struct("Iter").field("state", &state).finish_non_exhaustive()
    }
}
