//! The handle of a store, and how it is opened.

mod builder;
mod directory;
mod keyspaces;
pub(crate) mod open;
mod orphans;
mod verify;

use std::path::Path;
use std::sync::Arc;

use crate::batch::WriteBatch;
use crate::error::Result;
use crate::keyspace::Keyspace;
use crate::repair::RepairReport;
use crate::settings::Durability;
use crate::snapshot::Snapshot;
use crate::stats::Stats;
use crate::store::Store;

pub use builder::DbBuilder;
pub use verify::{VerifyProblem, VerifyReport};

/// What all handles of a store share. Dropping the last one closes the store.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) store: Arc<Store>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Nobody is left to be told; `Db::close` tells.
        let _ = self.store.close();
    }
}

/// An open store. Cheap to clone; the store is closed when the last of its handles (this,
/// keyspaces, snapshots, iterators) is dropped, or by [`Db::close`].
#[derive(Clone, Debug)]
pub struct Db {
    handle: Arc<Handle>,
}

impl Db {
    /// Opens the store in `path` with the defaults, and makes it if there is none.
    ///
    /// # Errors
    /// Those of [`DbBuilder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder(path).open()
    }

    /// Settings before opening.
    pub fn builder(path: impl AsRef<Path>) -> DbBuilder {
        DbBuilder::new(path.as_ref())
    }

    /// Makes a store that does not open one that does, and keeps all that can be read.
    ///
    /// Where the manifest is whole, what is missing or damaged is taken out of it; of a damaged
    /// table all pages that can be read are kept. Where it is not, it is made anew from the tables,
    /// which say whose they are and what is in them; names of keyspaces that are lost become
    /// `recovered-<id>`, and what was deleted or cleared may be back if its file had not been
    /// removed yet. Then the log is read up to the first damage. What cannot be used is moved to
    /// `lost` in the store's directory; the report says what that is. A store without a fault is
    /// left as it is. Every byte of the store is read.
    ///
    /// # Errors
    /// `NotFound` and `InvalidArgument` where there is no store, `Locked`, `Unsupported` for a newer
    /// format, `Io`; the store is then as it was.
    pub fn repair(path: impl AsRef<Path>) -> Result<RepairReport> {
        Self::builder(path).repair()
    }

    fn new(store: Arc<Store>) -> Self {
        Self { handle: Arc::new(Handle { store }) }
    }

    fn store(&self) -> &Store {
        &self.handle.store
    }

    /// The keyspace `default`, which every store has.
    pub fn default_keyspace(&self) -> Keyspace {
        Keyspace::new(self.handle.clone(), self.store().default_space.clone())
    }

    /// Writes a batch with the store's default durability: all or nothing, also across
    /// keyspaces. An empty batch is Ok.
    ///
    /// # Errors
    /// Those of [`Db::write_with`].
    pub fn write(&self, batch: WriteBatch) -> Result<()> {
        self.write_with(batch, self.store().settings.durability)
    }

    /// Writes a batch: all or nothing, also across keyspaces.
    ///
    /// # Errors
    /// Those of [`Keyspace::put_with`]; `InvalidArgument` also for too many operations or bytes and
    /// for a keyspace of another store; `Closed` for a keyspace that was dropped; `Conflict` if an
    /// expectation does not hold. But for `WritesHalted` nothing was written.
    pub fn write_with(&self, batch: WriteBatch, durability: Durability) -> Result<()> {
        self.store().write_batch(&batch, durability)
    }

    /// Makes everything acknowledged so far durable.
    ///
    /// # Errors
    /// `Closed`, `WritesHalted`.
    pub fn sync(&self) -> Result<()> {
        self.store().sync()
    }

    /// All keyspaces at this moment.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.handle.clone())
    }

    /// Writes what is in memory into tables; returns when it is there.
    ///
    /// # Errors
    /// `Closed`, and those of [`Keyspace::flush`], of any keyspace.
    pub fn flush(&self) -> Result<()> {
        self.store().flush(&self.store().spaces())
    }

    /// Waits until no flush, no compaction and no build of an index is running or due.
    ///
    /// # Errors
    /// `Closed`, and the failure of a flush or compaction.
    pub fn wait_idle(&self) -> Result<()> {
        self.store().check_open()?;
        if self.store().read_only {
            return Ok(());
        }
        self.store().upkeep.wait_idle(self.store())
    }

    /// Makes a store in `target`, durable when this returns, that holds everything acknowledged
    /// before the call, unflushed writes included, as of one moment. Files are hard links where the
    /// file system has them, else copies; nobody changes them later, so the two stores are
    /// independent. Writes, flushes and compactions go on meanwhile. All or nothing: what a crash
    /// leaves beside the target (`*.checkpoint.tmp`) is replaced by the next call.
    ///
    /// # Errors
    /// `InvalidArgument` if `target` exists, even empty, or is inside this store's directory;
    /// `Locked` if another store is making one there; `WritesHalted`; `Io`, and nothing is left.
    pub fn checkpoint(&self, target: impl AsRef<Path>) -> Result<()> {
        self.store().checkpoint(target.as_ref())
    }

    /// What the store holds and has done since it was opened.
    pub fn stats(&self) -> Stats {
        self.store().stats()
    }

    /// Refuses new operations, waits for running writes, stops background work, syncs the log
    /// and lets the directory go, even if handles live on. Memtables are not flushed; the next
    /// open replays the log. A second call is Ok.
    ///
    /// # Errors
    /// The log could not be synced or its end could not be marked. The store is closed all the same.
    pub fn close(&self) -> Result<()> {
        self.store().close()
    }
}
