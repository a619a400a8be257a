//! Clearing and dropping keyspaces.
//!
//! A cleared keyspace gets an empty view; what was in it stays behind that view for snapshots
//! from before, and goes with the last of them. The log says that it was cleared, then the
//! manifest forgets the tables; a crash between the two is made good by the replay.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use kiban_formats::manifest::{Change, State};
use kiban_formats::{FileNo, KeyspaceId, SeqNo};

use crate::error::Result;
use crate::space::Space;
use crate::store::Store;
use crate::sync::lock;
use crate::table::TableHandle;
use crate::view::View;

impl Store {
    /// Removes all keys of a keyspace, durably.
    pub(crate) fn clear(&self, space: &Arc<Space>) -> Result<()> {
        self.check_writable()?;
        self.check_space(space)?;
        let (seq, old) = {
            let mut commit = self.lock_for_log()?;
            self.check_space(space)?;
            let seq = commit.next_seq;
            self.log(&mut commit, 1, std::slice::from_ref(space), |journal| {
                journal.append_clear(seq, space.id)
            })?;
            let old = self.replace_view(space, seq);
            commit.next_seq = SeqNo(seq.0 + 1);
            self.visible.store(seq.0, Ordering::Release);
            (seq, old)
        };
        self.signal_room();
        // Whoever waits for a flush of what is gone need not.
        self.upkeep.wake_for(space);
        self.sync_through(seq)?;
        self.forget_tables(space, &old, seq)
    }

    /// What [`Store::clear`] did before a crash, at recovery.
    pub(crate) fn clear_again(&self, space: &Arc<Space>, seq: SeqNo) -> Result<()> {
        let old = self.replace_view(space, seq);
        if self.read_only {
            return Ok(());
        }
        self.sync_through(seq)?;
        self.forget_tables(space, &old, seq)
    }

    /// Removes a keyspace and all that is in it, durably.
    pub(crate) fn drop_space(&self, space: &Arc<Space>) -> Result<()> {
        let last = {
            let commit = lock(&self.commit);
            self.check_space(space)?;
            commit.check_halted()?;
            space.set_dropped(true);
            commit.last_seq()
        };
        // Nothing that was written before may be lost while this is kept.
        let dropped = self.sync_through(last).and_then(|()| {
            let mut manifest = lock(&self.manifest);
            self.check_open()?;
            let next_file = FileNo(self.next_file.load(Ordering::Relaxed));
            // A log that goes because only this keyspace is in it must not leave a gap.
            let changes =
                [Change::DropKeyspace(space.id), Change::LastSeq(last), Change::NextFile(next_file)];
            if let Err(error) = manifest.append(&changes, || self.new_file_no()) {
                // The record may be there all the same. No write of the keyspace may rest on a
                // manifest that does not have it.
                lock(&self.commit).grounded = false;
                return Err(error);
            }
            self.spaces.write().unwrap_or_else(PoisonError::into_inner).remove(&space.id);
            Ok(())
        });
        if dropped.is_err() {
            space.set_dropped(false);
            return dropped;
        }
        let old = self.replace_view(space, SeqNo(last.0 + 1));
        old.tables().for_each(|table| table.make_obsolete());
        drop(old);
        self.prune_views();
        self.upkeep.emptied(space);
        self.signal_room();
        // The keyspace is gone whether or not they go now. Later flushes try again.
        let _ = self.release_logs();
        Ok(())
    }

    /// Puts an empty view in place, and remembers that there is one behind it.
    fn replace_view(&self, space: &Arc<Space>, since: SeqNo) -> Arc<View> {
        let old = space.clear(since);
        let bytes = old.memtables().map(|memtable| memtable.bytes()).sum();
        self.memtable_bytes.fetch_sub(bytes, Ordering::Relaxed);
        lock(&self.cleared).push(space.clone());
        old
    }

    /// Takes the tables of a cleared keyspace out of the manifest.
    fn forget_tables(&self, space: &Arc<Space>, old: &View, seq: SeqNo) -> Result<()> {
        let mut manifest = lock(&self.manifest);
        self.check_open()?;
        if !space.is_dropped() {
            let mut changes = stale_tables(manifest.state(), space.id, seq);
            changes.extend([
                Change::Flushed { keyspace: space.id, seq },
                Change::LastSeq(seq),
                Change::NextFile(FileNo(self.next_file.load(Ordering::Relaxed))),
            ]);
            manifest.append(&changes, || self.new_file_no())?;
            space.set_flushed(seq);
        }
        drop(manifest);
        old.tables().for_each(|table| table.make_obsolete());
        self.prune_views();
        self.upkeep.emptied(space);
        self.release_logs()
    }

    /// Takes tables out of the manifest that were put in while their keyspace was being cleared.
    pub(crate) fn forget_late(&self, space: &Space, tables: &[Arc<TableHandle>]) -> Result<()> {
        // The log must say that the keyspace was cleared before the manifest forgets.
        let since = space.view().since();
        self.sync_through(since)?;
        let mut manifest = lock(&self.manifest);
        if !space.is_dropped() {
            let changes = stale_tables(manifest.state(), space.id, since);
            manifest.append(&changes, || self.new_file_no())?;
        }
        drop(manifest);
        tables.iter().for_each(|table| table.make_obsolete());
        Ok(())
    }

    /// Lets go of what no open snapshot can read any more.
    pub(crate) fn prune_views(&self) {
        let mut cleared = lock(&self.cleared);
        if cleared.is_empty() {
            return;
        }
        self.snapshots.with_oldest(|oldest| {
            cleared.retain(|space| space.prune(oldest.unwrap_or(SeqNo::MAX)));
        });
    }
}

/// The changes that take tables from before a clear at `since` out of the manifest. The log must
/// be durable through that sequence.
pub(crate) fn stale_tables(state: &State, keyspace: KeyspaceId, since: SeqNo) -> Vec<Change> {
    let tables = state.keyspaces.get(&keyspace).map_or(&[][..], |space| &space.tables);
    let stale = tables.iter().filter(|table| table.max_seq < since);
    stale.map(|table| Change::RemoveTable { keyspace, no: table.no }).collect()
}
