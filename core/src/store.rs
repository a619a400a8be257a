//! The store behind all handles.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard};

use kiban_formats::manifest::Change;
use kiban_formats::{FileNo, KeyspaceId, SeqNo, StoreId};
use kiban_indexes::{Probe, key_hash};

use crate::checkpoint::KeptLogs;
use crate::commit::Commit;
use crate::durable::Durable;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Listener;
use crate::index::Indexing;
use crate::manifest::ManifestStore;
use crate::own_files::OwnFiles;
use crate::settings::Settings;
use crate::snapshot::Snapshots;
use crate::space::Space;
use crate::storage::{Lock, Storage};
use crate::sync::{lock, wait};
use crate::table::TableContext;
use crate::upkeep::Upkeep;

/// All of an open store. Lock order: `checkpoints`, `durable`, `manifest`, `commit`, `kept_logs`,
/// `cleared`, `snapshots`, `upkeep`, `files`; each is taken only while those before it are free or
/// held by the same thread.
pub(crate) struct Store {
    /// Tells the stores of one process apart.
    pub(crate) uid: u64,
    pub(crate) dir: PathBuf,
    pub(crate) storage: Arc<dyn Storage>,
    /// Through which files go that nothing names, at any time and from any thread.
    pub(crate) files: Arc<OwnFiles>,
    pub(crate) settings: Settings,
    pub(crate) read_only: bool,
    pub(crate) id: StoreId,
    pub(crate) hash_seed: u64,
    /// Held until the store is closed.
    pub(crate) directory_lock: Mutex<Option<Box<dyn Lock>>>,
    pub(crate) default_space: Arc<Space>,
    pub(crate) spaces: RwLock<HashMap<KeyspaceId, Arc<Space>>>,
    pub(crate) snapshots: Snapshots,
    /// Keyspaces with a view from before they were cleared or dropped, which a snapshot may read.
    pub(crate) cleared: Mutex<Vec<Arc<Space>>>,
    /// Held while a checkpoint is made.
    pub(crate) checkpoints: Mutex<()>,
    pub(crate) kept_logs: Mutex<KeptLogs>,
    pub(crate) commit: Mutex<Commit>,
    /// Signalled, with `commit`, when memtables have become smaller or never will.
    pub(crate) room: Condvar,
    pub(crate) durable: Mutex<Durable>,
    pub(crate) manifest: Mutex<ManifestStore>,
    /// Bytes of all memtables, active and sealed.
    pub(crate) memtable_bytes: AtomicU64,
    pub(crate) next_file: AtomicU64,
    pub(crate) tables: TableContext,
    pub(crate) indexing: Indexing,
    pub(crate) upkeep: Upkeep,
    pub(crate) listener: Listener,
    /// Everything up to this sequence is in memtables or tables.
    pub(crate) visible: AtomicU64,
    pub(crate) closed: AtomicBool,
    /// Held, before any other lock, while a caller writes files: the store is closed after that.
    pub(crate) writing: RwLock<()>,
    /// The directory was let go, after `closed`.
    pub(crate) let_go: LetGo,
}

/// Says that the directory was let go.
#[derive(Debug, Default)]
pub(crate) struct LetGo {
    done: Mutex<bool>,
    changed: Condvar,
}

impl LetGo {
    fn set(&self) {
        *lock(&self.done) = true;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let mut done = lock(&self.done);
        while !*done {
            done = wait(&self.changed, done);
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.closed.load(Ordering::Acquire) { "closed" } else { "open" };
        f.debug_struct("Store").field("dir", &self.dir).field("state", &state).finish_non_exhaustive()
    }
}

impl Store {
    /// The sequence that a read of now may see.
    #[inline]
    pub(crate) fn visible(&self) -> SeqNo {
        SeqNo(self.visible.load(Ordering::Acquire))
    }

    /// A probe for `key` as of now.
    pub(crate) fn probe<'k>(&self, key: &'k [u8]) -> Probe<'k> {
        Probe::new(key, key_hash(self.hash_seed, key), self.visible())
    }

    /// Refuses work on a closed store.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::new(ErrorKind::Closed, format!("store {} is closed", self.dir.display())));
        }
        Ok(())
    }

    /// Refuses writing on a closed store, or one that is open for reading only.
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        if self.read_only {
            let message = format!("store {} is open for reading only", self.dir.display());
            return Err(Error::new(ErrorKind::ReadOnly, message));
        }
        Ok(())
    }

    /// Refuses writing on a store that must be reopened.
    pub(crate) fn check_not_halted(&self) -> Result<()> {
        lock(&self.commit).check_halted()
    }

    /// Keeps the store from being closed while a caller writes files of its own; not to be held
    /// while the caller's code runs.
    pub(crate) fn begin_writing(&self) -> Result<RwLockReadGuard<'_, ()>> {
        let writing = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        self.check_open()?;
        Ok(writing)
    }

    /// A file number that was never used.
    pub(crate) fn new_file_no(&self) -> FileNo {
        FileNo(self.next_file.fetch_add(1, Ordering::Relaxed))
    }

    /// All keyspaces.
    pub(crate) fn spaces(&self) -> Vec<Arc<Space>> {
        let spaces = self.spaces.read().unwrap_or_else(PoisonError::into_inner);
        spaces.values().cloned().collect()
    }

    /// The keyspace with this id.
    pub(crate) fn space(&self, id: KeyspaceId) -> Option<Arc<Space>> {
        let spaces = self.spaces.read().unwrap_or_else(PoisonError::into_inner);
        spaces.get(&id).cloned()
    }

    /// Refuses new work, waits for writes that run, stops the background, syncs the log and
    /// lets the directory go. A second call does nothing, and returns when the first has let the
    /// directory go; only a thread that the first call waits for does not wait for it.
    pub(crate) fn close(&self) -> Result<()> {
        // Whoever holds the commit lock is done with its write before the flag is set.
        let no_write_runs = lock(&self.commit);
        let closes = !self.closed.swap(true, Ordering::AcqRel);
        drop(no_write_runs);
        if !closes {
            if !self.upkeep.is_waited_for() {
                self.let_go.wait();
            }
            return Ok(());
        }
        self.room.notify_all();
        drop(self.writing.write().unwrap_or_else(PoisonError::into_inner));
        self.upkeep.stop();
        drop(lock(&self.checkpoints));
        let synced = if self.read_only { Ok(()) } else { self.seal_log() };
        // Whoever is at the manifest is done with it first, and whoever comes later finds the
        // store closed: another opener may own the directory from here on.
        let no_edit_runs = lock(&self.manifest);
        self.files.let_go();
        *lock(&self.directory_lock) = None;
        drop(no_edit_runs);
        self.let_go.set();
        synced
    }

    /// Makes the whole log durable and marks its end, in it and in the manifest, so that the next
    /// open can tell damage from a torn tail everywhere in it.
    fn seal_log(&self) -> Result<()> {
        let last = lock(&self.commit).last_seq();
        // Of a halted store this is an error, unless all that was acknowledged is durable.
        self.sync_through(last)?;
        let mut manifest = lock(&self.manifest);
        let end = {
            let mut commit = lock(&self.commit);
            // Nothing is appended behind a broken record.
            if commit.check_halted().is_err() {
                return Ok(());
            }
            commit.journal.append_end()?
        };
        match end {
            Some(end) => manifest.append(&[Change::LogEnd(end)], || self.new_file_no()),
            None => Ok(()),
        }
    }
}
