//! Removing files of a store's directory, for as long as it is this store's.
//!
//! Iterators outlive a closed store, and so may an ingest. What they hold on to is garbage, but
//! once the directory was let go its names are another opener's: a store that was made anew in
//! the same place has files of the same numbers. What stays is removed by the next open.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use crate::storage::Storage;

/// Who may remove files. The lock is the last of all: nothing else is locked under it.
#[derive(Debug)]
pub(crate) struct OwnFiles {
    storage: Arc<dyn Storage>,
    are_ours: RwLock<bool>,
}

impl OwnFiles {
    pub(crate) fn new(storage: Arc<dyn Storage>) -> Arc<Self> {
        Arc::new(Self { storage, are_ours: RwLock::new(true) })
    }

    /// Removes a file that nothing names. One that cannot be removed now goes at the next open.
    pub(crate) fn remove(&self, path: &Path) {
        let are_ours = self.are_ours.read().unwrap_or_else(PoisonError::into_inner);
        if *are_ours {
            let _ = self.storage.remove(path);
        }
    }

    /// Removes nothing from here on. Whoever is removing a file is done with it first.
    pub(crate) fn let_go(&self) {
        *self.are_ours.write().unwrap_or_else(PoisonError::into_inner) = false;
    }
}
