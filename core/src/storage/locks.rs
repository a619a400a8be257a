//! Directory locks of storages that live in memory. They vanish with the process, that is with
//! the table that holds them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::{Lock, LockMode};
use crate::sync::lock;

/// Who holds which lock.
#[derive(Clone, Debug, Default)]
pub(crate) struct LockTable(Arc<Mutex<BTreeMap<PathBuf, Holders>>>);

#[derive(Clone, Copy, Debug)]
enum Holders {
    Writer,
    Readers(usize),
}

impl LockTable {
    /// Takes the lock, or gives `WouldBlock`.
    pub(crate) fn acquire(&self, path: &Path, mode: LockMode) -> io::Result<Box<dyn Lock>> {
        let mut table = lock(&self.0);
        let holders = match (table.get(path), mode) {
            (None, LockMode::Exclusive) => Holders::Writer,
            (None, LockMode::Shared) => Holders::Readers(1),
            (Some(Holders::Readers(count)), LockMode::Shared) => Holders::Readers(count + 1),
            (Some(_), _) => return Err(io::ErrorKind::WouldBlock.into()),
        };
        table.insert(path.to_owned(), holders);
        Ok(Box::new(HeldLock { table: self.clone(), path: path.to_owned() }))
    }
}

/// A lock until it is dropped.
#[derive(Debug)]
struct HeldLock {
    table: LockTable,
    path: PathBuf,
}

impl Lock for HeldLock {}

impl Drop for HeldLock {
    fn drop(&mut self) {
        let mut table = lock(&self.table.0);
        match table.get_mut(&self.path) {
            Some(Holders::Readers(count)) if *count > 1 => *count -= 1,
            _ => {
                table.remove(&self.path);
            }
        }
    }
}
