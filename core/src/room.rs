//! Room for a write: memtables below their limit, and level 0 of the keyspaces below its own.
//! Who finds none waits until the background made some, or is told why it will not.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use crate::commit::Commit;
use crate::error::Result;
use crate::event::{Event, Listener};
use crate::space::Space;
use crate::store::Store;
use crate::sync::{lock, wait};

impl Store {
    /// The commit lock, with room in the memtables and in level 0, and a log that works.
    ///
    /// # Errors
    /// The store is closed, writes are halted, or there is no room and the background fails to
    /// make some. It goes on trying; a later write may find room.
    pub(crate) fn lock_for_write(&self, spaces: &[Arc<Space>]) -> Result<MutexGuard<'_, Commit>> {
        loop {
            let commit = self.lock_for_log()?;
            // A listener that writes holds up the thread that it is called from, which may be the one
            // that makes room: it goes on without.
            if self.has_room(spaces)? || Listener::is_being_told() {
                return Ok(commit);
            }
            drop(commit);
            self.stall(spaces)?;
        }
    }

    /// The commit lock, with a log that works, for what takes no room.
    ///
    /// # Errors
    /// The store is closed, writes are halted, or the manifest cannot be made durable.
    pub(crate) fn lock_for_log(&self) -> Result<MutexGuard<'_, Commit>> {
        loop {
            let commit = lock(&self.commit);
            self.check_open()?;
            commit.check_halted()?;
            if commit.grounded {
                return Ok(commit);
            }
            // The manifest's lock comes before the commit lock.
            drop(commit);
            self.ground()?;
        }
    }

    /// Makes the manifest durable, so that log records may rest on it.
    fn ground(&self) -> Result<()> {
        let mut manifest = lock(&self.manifest);
        self.check_open()?;
        manifest.make_durable(|| self.new_file_no())?;
        // Under the lock of the manifest: an edit that fails meanwhile takes it back.
        lock(&self.commit).grounded = true;
        Ok(())
    }

    /// Whether there is room to write to these keyspaces. Under the commit lock.
    ///
    /// # Errors
    /// Why there is none and nobody makes some.
    fn has_room(&self, spaces: &[Arc<Space>]) -> Result<bool> {
        let memtables_full = self.are_memtables_full();
        let level0_full = spaces.iter().find(|space| self.is_level0_full(space));
        if !memtables_full && level0_full.is_none() {
            return Ok(true);
        }
        match self.upkeep.trouble(memtables_full, level0_full.map(|space| space.id)) {
            Some(error) => Err(error),
            None => Ok(false),
        }
    }

    fn are_memtables_full(&self) -> bool {
        self.memtable_bytes.load(Ordering::Relaxed) >= self.settings.memtables_total_bytes
    }

    fn is_level0_full(&self, space: &Space) -> bool {
        space.view().levels.level0_depth() >= self.settings.level0_stall_tables as usize
    }

    /// Waits for room, and tells listeners, with no lock held.
    fn stall(&self, spaces: &[Arc<Space>]) -> Result<()> {
        let memtable_bytes = self.memtable_bytes.load(Ordering::Relaxed);
        self.listener.tell(|| Event::WriteStall { memtable_bytes });
        let began = self.storage.now();
        let waited = self.wait_for_room(spaces);
        let micros = self.storage.now().saturating_sub(began).as_micros();
        let micros = u64::try_from(micros).unwrap_or(u64::MAX);
        self.listener.tell(|| Event::WriteStallEnded { micros });
        waited
    }

    fn wait_for_room(&self, spaces: &[Arc<Space>]) -> Result<()> {
        let mut commit = lock(&self.commit);
        loop {
            self.check_open()?;
            commit.check_halted()?;
            if self.has_room(spaces)? {
                return Ok(());
            }
            if self.are_memtables_full() {
                self.seal_largest_if_none_is_sealed();
            }
            commit = wait(&self.room, commit);
        }
    }

    /// Writers wait and nothing is being made smaller: seals the largest active memtable. Under
    /// the commit lock.
    fn seal_largest_if_none_is_sealed(&self) {
        let spaces = self.spaces();
        if spaces.iter().any(|space| !space.view().sealed.is_empty()) {
            return;
        }
        // All may be empty: what was sealed is in a table, and its bytes are about to be taken off.
        let with_entries = spaces.iter().filter(|space| !space.view().active.is_empty());
        if let Some(largest) = with_entries.max_by_key(|space| space.view().active.bytes()) {
            largest.seal();
            self.upkeep.wake_for(largest);
        }
    }

    /// Tells writers that memtables became smaller, or that they will not.
    pub(crate) fn signal_room(&self) {
        let _commit = lock(&self.commit);
        self.room.notify_all();
    }
}
