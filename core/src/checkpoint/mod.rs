//! Checkpoints: a store of its own in another directory, as this one is at one moment.
//!
//! Under the locks of manifest and log the state is taken and the log file is ended, so that no
//! file of what was taken is ever appended to again. Outside them its tables and logs are linked,
//! or copied where they cannot be, into a directory beside the target; a manifest and a pointer
//! are written there; then that directory is moved to the target. Tables stay because their
//! handles are held, logs because they are [held](held_logs).

mod held_logs;
mod site;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kiban_formats::manifest::{Change, LiveLogs, LogEnd, State};
use kiban_formats::{FileNo, SeqNo};

use crate::clear::stale_tables;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::files;
use crate::log::LiveLog;
use crate::manifest::ManifestStore;
use crate::sealed::Sealed;
use crate::store::Store;
use crate::sync::lock;
use crate::table::TableHandle;
use crate::transfer::{Counts, Transfer};

use held_logs::HeldLogs;
pub(crate) use held_logs::KeptLogs;
use site::Site;

/// What a checkpoint holds.
struct Cut<'s> {
    state: State,
    tables: Vec<Arc<TableHandle>>,
    /// Tables that so far only the log names.
    ingested: Vec<Arc<TableHandle>>,
    logs: Vec<LiveLog>,
    last: SeqNo,
    /// Above all numbers in use.
    next_file: FileNo,
    /// Until all are linked.
    _held: HeldLogs<'s>,
}

impl Store {
    /// Makes a store of `target` that holds all that was acknowledged before the call.
    pub(crate) fn checkpoint(&self, target: &Path) -> Result<()> {
        self.check_open()?;
        let (counts, last) = {
            // Also what closing waits for: the directory is not let go under a checkpoint.
            let _one_at_a_time = lock(&self.checkpoints);
            self.check_open()?;
            let site = Site::begin(self, target)?;
            let cut = self.cut()?;
            self.make_log_durable(&cut)?;
            let counts = self.fill(&site, &cut)?;
            site.publish()?;
            (counts, cut.last)
        };
        self.listener.tell(|| Event::Checkpoint {
            target: target.to_owned(),
            sequence: last.0,
            files: counts.files,
            linked_bytes: counts.linked_bytes,
            copied_bytes: counts.copied_bytes,
        });
        Ok(())
    }

    /// All there is at this moment.
    fn cut(&self) -> Result<Cut<'_>> {
        let manifest = lock(&self.manifest);
        self.check_open()?;
        let mut commit = lock(&self.commit);
        commit.check_halted()?;
        commit.journal.retire_active();
        let (logs, last) = (commit.journal.sealed().cloned().collect::<Vec<_>>(), commit.last_seq());
        let next_file = FileNo(self.next_file.load(Ordering::Relaxed));
        let mut state = manifest.state().clone();
        let (mut tables, mut ingested) = (Vec::new(), Vec::new());
        let mut changes = Vec::new();
        for space in self.spaces() {
            let view = space.view_owned();
            tables.extend(view.levels.tables().cloned());
            ingested.extend(view.sealed.iter().flat_map(Sealed::tables).cloned());
            // Those of a keyspace that is being cleared may go at any time, also those that so far
            // only the log names.
            changes.extend(stale_tables(&state, space.id, view.since()));
            changes.push(Change::Flushed { keyspace: space.id, seq: view.since() });
        }
        let live = LiveLogs {
            oldest: logs.first().map_or(next_file, |log| log.no),
            newest: logs.last().map_or(FileNo(0), |log| log.no),
        };
        let end = logs.last().map_or_else(LogEnd::default, |log| LogEnd { no: log.no, bytes: log.bytes });
        changes.extend([Change::LastSeq(last), Change::NextFile(next_file), Change::Logs(live)]);
        changes.push(Change::LogEnd(end));
        state.apply(&changes).map_err(|error| {
            let current = self.dir.join(files::manifest(manifest.current()));
            Error::format(&current, error)
        })?;
        Ok(Cut { state, tables, ingested, logs, last, next_file, _held: HeldLogs::hold(self) })
    }

    /// What is linked must be durable. A store that is only read has nothing to sync by itself:
    /// its links are synced one by one.
    fn make_log_durable(&self, cut: &Cut<'_>) -> Result<()> {
        if self.read_only { Ok(()) } else { self.sync_through(cut.last) }
    }

    /// Puts everything into the directory and makes it durable there.
    fn fill(&self, site: &Site<'_>, cut: &Cut<'_>) -> Result<Counts> {
        let mut transfer = Transfer::new(&*self.storage, &self.dir, site.dir());
        let named = cut.state.keyspaces.values().flat_map(|space| &space.tables);
        for table in named {
            debug_assert!(cut.tables.iter().any(|held| held.meta.no == table.no), "table {}", table.no);
            transfer.whole(&files::table(table.no), self.read_only)?;
        }
        for table in &cut.ingested {
            transfer.whole(&files::table(table.meta.no), self.read_only)?;
        }
        for log in &cut.logs {
            // What a crash left behind the last record is no part of the log.
            transfer.start_of(&files::log(log.no), log.bytes, self.read_only)?;
        }
        let mut manifest = ManifestStore::create(self.storage.clone(), site.dir(), self.id);
        // The last step of this syncs the directory.
        manifest.append(&cut.state.snapshot(), || cut.next_file)?;
        let pointer_and_manifest = 2;
        Ok(Counts { files: transfer.counts.files + pointer_and_manifest, ..transfer.counts })
    }
}
