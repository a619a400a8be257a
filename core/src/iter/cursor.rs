//! The public cursor.

use std::sync::Arc;

use super::visible::Visible;
use super::{Bounds, ReadView};
use crate::error::{Error, Result};
use crate::value::{Key, Value};

/// Walks the keys of a keyspace, or of a range of it, in byte order, both ways.
///
/// It starts off: on a fresh cursor [`next`](Self::next) is [`first`](Self::first) and
/// [`prev`](Self::prev) is [`last`](Self::last). Each mover gives `Ok(true)` when it stands on a
/// key inside the range, else `Ok(false)`. Seeks outside the range go to its nearest end. Having
/// run off an end, a step back returns to the last or the first key.
///
/// After an error it stands off, and steps repeat the error; `seek`, `seek_for_prev`, `seek_lt`,
/// `first` and `last` try again. A clean end is never shown in place of an error.
///
/// It reads the snapshot it was made with, and keeps that snapshot's files.
pub struct Cursor {
    state: State,
}

enum State {
    /// Nothing is read before the first move. If that failed, the error is what steps give.
    New(Arc<dyn ReadView>, Bounds, Option<Error>),
    Open(Arc<dyn ReadView>, Box<Visible>),
    /// It can never be opened.
    Refused(Error),
}

/// Whether a mover depends on where the cursor stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mover {
    Seek,
    Step,
}

impl Cursor {
    /// A cursor over the keys of `view` inside `bounds`.
    pub(crate) fn new(view: Arc<dyn ReadView>, bounds: Bounds) -> Self {
        Self { state: State::New(view, bounds, None) }
    }

    /// A cursor whose movers all give this error.
    pub(crate) fn failed(error: Error) -> Self {
        Self { state: State::Refused(error) }
    }

    /// To the first key at or after `key`.
    ///
    /// # Errors
    /// What reading gives: `Corruption`, `Io`; `Closed`. So do all movers.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.moving(Mover::Seek, |visible| visible.seek(key.as_ref()))
    }

    /// To the last key at or before `key`.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn seek_for_prev(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.moving(Mover::Seek, |visible| visible.seek_for_prev(key.as_ref()))
    }

    /// To the last key before `key`.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn seek_lt(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.moving(Mover::Seek, |visible| visible.seek_lt(key.as_ref()))
    }

    /// To the first key.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn first(&mut self) -> Result<bool> {
        self.moving(Mover::Seek, Visible::first)
    }

    /// To the last key.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn last(&mut self) -> Result<bool> {
        self.moving(Mover::Seek, Visible::last)
    }

    /// One key on.
    ///
    /// # Errors
    /// As [`seek`](Self::seek), and the error of the mover before, again.
    #[expect(clippy::should_implement_trait, reason = "a mover that gives no item; `Iter` is the iterator")]
    pub fn next(&mut self) -> Result<bool> {
        self.moving(Mover::Step, Visible::next)
    }

    /// One key back.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn prev(&mut self) -> Result<bool> {
        self.moving(Mover::Step, Visible::prev)
    }

    /// Whether it stands on a key.
    pub fn valid(&self) -> bool {
        self.open().is_some_and(Visible::valid)
    }

    /// The key it stands on.
    ///
    /// # Panics
    /// If it stands on none: see [`valid`](Self::valid).
    pub fn key(&self) -> &[u8] {
        self.open().and_then(Visible::key).expect(STANDS_ON_NONE)
    }

    /// The value it stands on.
    ///
    /// # Panics
    /// If it stands on no key: see [`valid`](Self::valid).
    pub fn value(&self) -> &[u8] {
        self.open().and_then(Visible::value).expect(STANDS_ON_NONE)
    }

    /// The key and the value it stands on, to keep.
    ///
    /// # Panics
    /// If it stands on no key: see [`valid`](Self::valid).
    pub fn to_owned(&self) -> (Key, Value) {
        self.open().and_then(Visible::item).expect(STANDS_ON_NONE)
    }

    fn open(&self) -> Option<&Visible> {
        match &self.state {
            State::Open(_, visible) => Some(visible),
            State::New(..) | State::Refused(_) => None,
        }
    }

    fn moving(&mut self, mover: Mover, go: impl FnOnce(&mut Visible) -> Result<bool>) -> Result<bool> {
        if let State::New(view, bounds, failed) = &mut self.state {
            if let Some(error) = failed.as_ref().filter(|_| mover == Mover::Step) {
                return Err(error.clone());
            }
            let opened = view.check_open().and_then(|()| Visible::open(&**view, bounds.clone()));
            let visible = opened.inspect_err(|error| *failed = Some(error.clone()))?;
            self.state = State::Open(Arc::clone(view), Box::new(visible));
        }
        match &mut self.state {
            State::Open(view, visible) => match view.check_open() {
                Ok(()) => go(visible),
                Err(error) => visible.fail(error),
            },
            State::Refused(error) => Err(error.clone()),
            State::New(..) => unreachable!("it was opened above"),
        }
    }
}

const STANDS_ON_NONE: &str = "the cursor stands on no key: ask `valid()` first";

impl std::fmt::Debug for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = self.open().and_then(Visible::key).map(<[u8]>::escape_ascii);
        f.debug_struct("Cursor").field("key", &key.map(|key| key.to_string())).finish_non_exhaustive()
    }
}
