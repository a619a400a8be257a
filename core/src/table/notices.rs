//! What tables found out about themselves and listeners have to be told, but not while a lock is
//! held that a listener may want.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use kiban_formats::{FileNo, FormatError};

use crate::event::{Event, Listener};
use crate::sync::lock;

/// Notices that wait until nobody holds them back.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    listener: Listener,
    waiting: Mutex<Waiting>,
    held: AtomicUsize,
}

#[derive(Debug, Default)]
struct Waiting {
    events: Vec<Event>,
    /// Tables that are opened again and again are told of once.
    filters_refused: HashSet<FileNo>,
}

/// Whoever has this reads tables with a lock held. It goes after the lock.
#[derive(Debug)]
pub(crate) struct HeldBack<'n>(&'n Notices);

impl Drop for HeldBack<'_> {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::SeqCst);
        self.0.tell();
    }
}

impl Notices {
    pub(super) fn new(listener: Listener) -> Self {
        Self { listener, ..Self::default() }
    }

    /// Holds back what reads from here on, of any thread, have to tell.
    pub(crate) fn hold_back(&self) -> HeldBack<'_> {
        self.held.fetch_add(1, Ordering::SeqCst);
        HeldBack(self)
    }

    /// Tells what is waiting, unless somebody holds it back, who then does it later.
    pub(super) fn tell(&self) {
        if self.held.load(Ordering::SeqCst) > 0 {
            return;
        }
        let events = std::mem::take(&mut lock(&self.waiting).events);
        events.into_iter().for_each(|event| self.listener.tell(|| event));
    }

    /// A table's filter is damaged: the table is read without it.
    pub(super) fn filter_refused(&self, no: FileNo, path: &Path, reason: &FormatError) {
        let mut waiting = lock(&self.waiting);
        if waiting.filters_refused.insert(no) {
            waiting.events.push(Event::FilterRefused { file: path.to_owned(), reason: reason.to_string() });
        }
    }

    /// How many tables have a damaged filter, as far as they were opened.
    pub(super) fn filters_refused(&self) -> u64 {
        lock(&self.waiting).filters_refused.len() as u64
    }
}
