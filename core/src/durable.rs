//! Making the log durable, shared by all who wait for it.

use kiban_formats::SeqNo;

use crate::error::Result;
use crate::store::Store;
use crate::sync::lock;

/// How far the log is durable. Its lock is held during a sync, so that those who come
/// meanwhile find their writes covered by the next one.
#[derive(Debug, Default)]
pub(crate) struct Durable {
    /// All operations up to this sequence are durable.
    pub(crate) seq: SeqNo,
}

impl Store {
    /// Returns when all operations up to `seq` are durable in the log.
    ///
    /// # Errors
    /// After a failed sync nothing is known of what the disk holds: all writes are refused
    /// from then on.
    pub(crate) fn sync_through(&self, seq: SeqNo) -> Result<()> {
        let mut durable = lock(&self.durable);
        if durable.seq >= seq {
            return Ok(());
        }
        let (last, unsynced) = {
            let commit = lock(&self.commit);
            commit.check_halted()?;
            (commit.last_seq(), commit.journal.begin_sync())
        };
        if let Err(cause) = unsynced.sync(&*self.storage, &self.dir) {
            return Err(self.halt(&mut lock(&self.commit), &cause));
        }
        durable.seq = last;
        lock(&self.commit).journal.end_sync(&unsynced, last);
        Ok(())
    }

    /// Makes everything acknowledged so far durable.
    pub(crate) fn sync(&self) -> Result<()> {
        self.check_open()?;
        if self.read_only {
            return Ok(());
        }
        let last = lock(&self.commit).last_seq();
        self.sync_through(last)
    }
}
