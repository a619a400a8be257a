//! Which tables are open: at most so many files, and so many bytes of what is kept of them.
//!
//! A queue of open tables, and a clock: when there are too many, the oldest that was not read
//! since it was last looked at goes. A table that somebody reads just then stays.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};

use super::handle::{Opened as OpenedTable, TableFile};
use crate::sync::lock;

/// The open tables of a store.
#[derive(Debug)]
pub(crate) struct OpenTables {
    files_max: usize,
    bytes_max: u64,
    queue: Mutex<Queue>,
}

/// Those that were opened, oldest first; some may be gone meanwhile.
#[derive(Debug, Default)]
struct Queue {
    opened: VecDeque<Opened>,
    bytes: u64,
}

#[derive(Debug)]
struct Opened {
    file: Weak<TableFile>,
    /// What [`Table::handle_bytes`] said.
    bytes: u64,
}

impl OpenTables {
    pub(super) fn new(files_max: usize, bytes_max: u64) -> Self {
        Self { files_max, bytes_max, queue: Mutex::default() }
    }

    /// A table was opened; others may have to go.
    pub(super) fn opened(&self, file: &Arc<TableFile>, bytes: u64) {
        let mut queue = lock(&self.queue);
        queue.push(Opened { file: Arc::downgrade(file), bytes });
        let mut gone: Vec<Arc<OpenedTable>> = Vec::new();
        // The first round finds those that were not read; what is left after the second is being
        // read.
        for _ in 0..2 * queue.opened.len() {
            let is_too_much = queue.opened.len() > self.files_max || queue.bytes > self.bytes_max;
            if !is_too_much || queue.opened.len() == 1 {
                break;
            }
            let Some(oldest) = queue.pop() else { break };
            let Some(file) = oldest.file.upgrade().filter(|file| file.is_open()) else { continue };
            match if file.was_read() { None } else { file.let_go() } {
                Some(opened) => gone.push(opened),
                None => queue.push(oldest),
            }
        }
        drop(queue);
        // Files are closed, and maps taken down, with no lock held.
        drop(gone);
    }

    /// Bytes of the queue.
    pub(super) fn memory_bytes(&self) -> u64 {
        (lock(&self.queue).opened.capacity() * size_of::<Opened>()) as u64
    }
}

impl Queue {
    fn push(&mut self, opened: Opened) {
        self.bytes += opened.bytes;
        self.opened.push_back(opened);
    }

    fn pop(&mut self) -> Option<Opened> {
        let oldest = self.opened.pop_front()?;
        self.bytes -= oldest.bytes;
        Some(oldest)
    }
}
