//! From versions to keys: the newest version of each key that the snapshot sees, tombstones left
//! out, inside the bounds.
//!
//! Forward, versions of a key come newest first: the first one that the snapshot sees is the
//! answer, and the merge stands on it. Backward they come oldest first: the answer is known only
//! when the merge has passed it, so its value is held.
//!
//! Neither way walks through many versions of one key: after a few steps it seeks past them.
//! Neither way looks further than the first entry outside the bounds.

use kiban_formats::{Kind, SeqNo};

use super::{Bounds, ReadView, merged};
use crate::error::{Error, Result};
use crate::source::Source;
use crate::value::{Key, Value};

/// Steps among the versions of one key before it seeks instead.
const STEPS_MAX: u32 = 8;

/// Where a [`Visible`] stands.
enum Place {
    /// Not moved yet.
    Fresh,
    /// On the entry that the merge stands on.
    Merge,
    /// On `key`, with this value; the merge has passed it on its way back. If it failed on that
    /// way, the error is what the next step back gives.
    Held(Value, Option<Error>),
    /// Before the first key.
    Start,
    /// After the last key.
    End,
    /// Off, after an error.
    Failed(Error),
}

/// The movers of [`Cursor`](super::Cursor), over a merge. Each says whether it stands on a key.
pub(crate) struct Visible {
    merge: Box<dyn Source>,
    snapshot: SeqNo,
    bounds: Bounds,
    place: Place,
    /// The key whose versions are walked through, and where it stands on one, that key.
    key: Vec<u8>,
    /// A seek target.
    target: Vec<u8>,
}

impl Visible {
    /// Over the sources of `view`. It has not moved yet.
    pub(crate) fn open(view: &dyn ReadView, bounds: Bounds) -> Result<Self> {
        let (merge, snapshot) = (merged(view.sources()?), view.snapshot());
        let (key, target) = (Vec::new(), Vec::new());
        Ok(Self { merge, snapshot, bounds, place: Place::Fresh, key, target })
    }

    /// To the first key.
    pub(crate) fn first(&mut self) -> Result<bool> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        if self.bounds.is_empty() {
            return self.off(Place::End);
        }
        let moved = match &self.bounds.lower {
            Unbounded => self.merge.first(),
            Included(lower) => self.merge.seek(lower, SeqNo::MAX),
            Excluded(lower) => self.merge.seek(successor(&mut self.target, lower), SeqNo::MAX),
        };
        self.land_forward(moved)
    }

    /// To the last key.
    pub(crate) fn last(&mut self) -> Result<bool> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        if self.bounds.is_empty() {
            return self.off(Place::Start);
        }
        let moved = match &self.bounds.upper {
            Unbounded => self.merge.last(),
            Included(upper) => self.merge.seek_before(successor(&mut self.target, upper), SeqNo::MAX),
            Excluded(upper) => self.merge.seek_before(upper, SeqNo::MAX),
        };
        self.land_backward(moved)
    }

    /// To the first key at or after this one.
    pub(crate) fn seek(&mut self, key: &[u8]) -> Result<bool> {
        if self.bounds.starts_after(key) {
            return self.first();
        }
        if self.bounds.is_empty() || self.bounds.ends_before(key) {
            return self.off(Place::End);
        }
        let moved = self.merge.seek(key, SeqNo::MAX);
        self.land_forward(moved)
    }

    /// To the last key at or before this one.
    pub(crate) fn seek_for_prev(&mut self, key: &[u8]) -> Result<bool> {
        if self.bounds.ends_before(key) {
            return self.last();
        }
        if self.bounds.is_empty() || self.bounds.starts_after(key) {
            return self.off(Place::Start);
        }
        let moved = self.merge.seek_before(successor(&mut self.target, key), SeqNo::MAX);
        self.land_backward(moved)
    }

    /// To the last key before this one.
    pub(crate) fn seek_lt(&mut self, key: &[u8]) -> Result<bool> {
        if self.bounds.ends_before(key) {
            return self.last();
        }
        if self.bounds.is_empty() || self.bounds.starts_after(key) {
            return self.off(Place::Start);
        }
        let moved = self.merge.seek_before(key, SeqNo::MAX);
        self.land_backward(moved)
    }

    /// One key on.
    pub(crate) fn next(&mut self) -> Result<bool> {
        match &self.place {
            Place::Fresh | Place::Start => self.first(),
            Place::End => Ok(false),
            Place::Failed(error) => Err(error.clone()),
            Place::Merge => {
                let walked = self.merge.next().and_then(|()| self.walk_forward(true));
                self.arrive(walked)
            }
            Place::Held(..) => {
                let moved = self.merge.seek(successor(&mut self.target, &self.key), SeqNo::MAX);
                self.land_forward(moved)
            }
        }
    }

    /// One key back.
    pub(crate) fn prev(&mut self) -> Result<bool> {
        match &self.place {
            Place::Fresh | Place::End => self.last(),
            Place::Start => Ok(false),
            Place::Failed(error) => Err(error.clone()),
            Place::Merge => {
                let moved = self.merge.seek_before(&self.key, SeqNo::MAX);
                self.land_backward(moved)
            }
            Place::Held(_, Some(error)) => {
                let error = error.clone();
                self.arrive(Err(error))
            }
            Place::Held(_, None) => self.land_backward(Ok(())),
        }
    }

    /// Whether it stands on a key.
    pub(crate) fn valid(&self) -> bool {
        matches!(self.place, Place::Merge | Place::Held(..))
    }

    /// The key it stands on.
    pub(crate) fn key(&self) -> Option<&[u8]> {
        self.valid().then_some(&self.key)
    }

    /// The value it stands on.
    pub(crate) fn value(&self) -> Option<&[u8]> {
        match &self.place {
            Place::Merge => self.merge.entry().map(|entry| entry.value),
            Place::Held(value, _) => Some(value),
            _ => None,
        }
    }

    /// Key and value it stands on, to keep.
    pub(crate) fn item(&self) -> Option<(Key, Value)> {
        match &self.place {
            Place::Merge => Some((self.merge.key(), self.merge.value())),
            Place::Held(value, _) => Some((Key::copy(&self.key), value.clone())),
            _ => None,
        }
    }

    /// Leaves out `key` and all that follow. It must stand on none of these.
    pub(crate) fn cut_from(&mut self, key: &[u8]) {
        self.bounds.cut_from(key);
    }

    /// Leaves out `key` and all before it. It must stand on none of these.
    pub(crate) fn cut_through(&mut self, key: &[u8]) {
        self.bounds.cut_through(key);
    }

    /// Makes it stand off, after an error from elsewhere.
    pub(crate) fn fail(&mut self, error: Error) -> Result<bool> {
        self.arrive(Err(error))
    }

    fn off(&mut self, place: Place) -> Result<bool> {
        self.arrive(Ok(place))
    }

    fn land_forward(&mut self, moved: Result<()>) -> Result<bool> {
        let walked = moved.and_then(|()| self.walk_forward(false));
        self.arrive(walked)
    }

    fn land_backward(&mut self, moved: Result<()>) -> Result<bool> {
        let walked = moved.and_then(|()| self.walk_backward());
        self.arrive(walked)
    }

    fn arrive(&mut self, walked: Result<Place>) -> Result<bool> {
        match walked {
            Ok(place) => {
                self.place = place;
                Ok(self.valid())
            }
            Err(error) => {
                self.place = Place::Failed(error.clone());
                Err(error)
            }
        }
    }

    /// From the entry the merge stands on to the first one that is shown. `done` says that it
    /// stands among the versions of `key` and that those have been dealt with.
    fn walk_forward(&mut self, mut done: bool) -> Result<Place> {
        let mut same_key = done;
        let mut steps = 0;
        loop {
            let Some(entry) = self.merge.entry() else { return Ok(Place::End) };
            if !(same_key && entry.key == self.key) {
                if self.bounds.ends_before(entry.key) {
                    return Ok(Place::End);
                }
                copy_to(&mut self.key, entry.key);
                (same_key, done, steps) = (true, false, 0);
            }
            if !done && entry.seq <= self.snapshot {
                match entry.kind {
                    Kind::Put => return Ok(Place::Merge),
                    Kind::Delete => done = true,
                }
            }
            steps += 1;
            if steps < STEPS_MAX {
                self.merge.next()?;
                continue;
            }
            steps = 0;
            match done {
                true => self.merge.seek(successor(&mut self.target, &self.key), SeqNo::MAX)?,
                false => self.merge.seek(&self.key, self.snapshot)?,
            }
        }
    }

    /// From the entry the merge stands on, the oldest version of its key, back to the first key
    /// that is shown.
    fn walk_backward(&mut self) -> Result<Place> {
        loop {
            let Some(entry) = self.merge.entry() else { return Ok(Place::Start) };
            if self.bounds.starts_after(entry.key) {
                return Ok(Place::Start);
            }
            copy_to(&mut self.key, entry.key);
            let mut newest = None;
            let trouble = match self.pass_key(&mut newest) {
                Ok(()) => None,
                // The version that could not be read may be a newer one of this very key.
                Err(error) => {
                    if newest.is_some() {
                        newest = self.newest_of_key()?;
                    }
                    Some(error)
                }
            };
            match (newest.flatten(), trouble) {
                (Some(value), trouble) => return Ok(Place::Held(value, trouble)),
                (None, Some(error)) => return Err(error),
                (None, None) => {}
            }
        }
    }

    /// Moves the merge back past all versions of `key`, from its oldest. `newest` becomes the
    /// newest version that the snapshot sees, if there is one: its value, or `None` if it is a tombstone.
    fn pass_key(&mut self, newest: &mut Option<Option<Value>>) -> Result<()> {
        for _ in 0..STEPS_MAX {
            match self.merge.entry() {
                Some(entry) if entry.key == self.key => {
                    if entry.seq <= self.snapshot {
                        *newest = Some((entry.kind == Kind::Put).then(|| self.merge.value()));
                    }
                }
                _ => return Ok(()),
            }
            self.merge.prev()?;
        }
        *newest = self.newest_of_key()?;
        self.merge.seek_before(&self.key, SeqNo::MAX)
    }

    /// Seeks the newest version of `key` that the snapshot sees.
    fn newest_of_key(&mut self) -> Result<Option<Option<Value>>> {
        self.merge.seek(&self.key, self.snapshot)?;
        let entry = self.merge.entry().filter(|entry| entry.key == self.key);
        Ok(entry.map(|entry| (entry.kind == Kind::Put).then(|| self.merge.value())))
    }
}

fn copy_to(buffer: &mut Vec<u8>, bytes: &[u8]) {
    buffer.clear();
    buffer.extend_from_slice(bytes);
}

/// The least key greater than `key`.
fn successor<'a>(buffer: &'a mut Vec<u8>, key: &[u8]) -> &'a [u8] {
    copy_to(buffer, key);
    buffer.push(0);
    buffer
}
