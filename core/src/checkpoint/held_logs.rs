//! Logs that are no longer needed, but must stay until a checkpoint has linked them.

use kiban_formats::FileNo;

use crate::store::Store;
use crate::sync::lock;

/// Which logs are to go once no checkpoint is being made.
#[derive(Debug, Default)]
pub(crate) struct KeptLogs {
    held: bool,
    released: Vec<FileNo>,
}

/// No log file is removed while this is there. At most one a store at a time.
#[derive(Debug)]
pub(super) struct HeldLogs<'s>(&'s Store);

impl<'s> HeldLogs<'s> {
    /// Under the commit lock, so that all files the journal names are still there.
    pub(super) fn hold(store: &'s Store) -> Self {
        lock(&store.kept_logs).held = true;
        Self(store)
    }
}

impl Drop for HeldLogs<'_> {
    fn drop(&mut self) {
        let released = {
            let mut kept = lock(&self.0.kept_logs);
            kept.held = false;
            std::mem::take(&mut kept.released)
        };
        self.0.remove_log_files(&released);
    }
}

impl KeptLogs {
    /// Takes charge of logs that are to be removed. Whether it did; else they may go now.
    pub(crate) fn take(&mut self, released: &[FileNo]) -> bool {
        if self.held {
            self.released.extend_from_slice(released);
        }
        self.held
    }
}
