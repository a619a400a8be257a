//! From a sealed memtable to a table of level 0.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kiban_formats::manifest::Change;
use kiban_formats::{FileNo, KeyspaceId, Level, SeqNo};
use kiban_indexes::TableShape;

use crate::clear::stale_tables;
use crate::error::Result;
use crate::event::Event;
use crate::files;
use crate::log::Journal;
use crate::memtable::Memtable;
use crate::output::{NewTable, Output};
use crate::retention::Retention;
use crate::sealed::Sealed;
use crate::source::Source;
use crate::space::Space;
use crate::store::Store;
use crate::sync::lock;
use crate::table::TableHandle;
use crate::upkeep::Scope;

impl Store {
    /// Seals the active memtables of these keyspaces and waits until they are tables.
    pub(crate) fn flush(&self, spaces: &[Arc<Space>]) -> Result<()> {
        self.check_writable()?;
        let targets: Vec<(Arc<Space>, SeqNo)> = {
            let mut commit = lock(&self.commit);
            commit.check_halted()?;
            let targets = spaces.iter().map(|space| {
                if !space.view().active.is_empty() {
                    space.seal();
                }
                let newest = space.view().sealed.first().and_then(Sealed::greatest_seq);
                (space.clone(), newest.unwrap_or_default())
            });
            let targets = targets.collect();
            commit.journal.retire_active();
            targets
        };
        targets.iter().for_each(|(space, _)| self.upkeep.wake_for(space));
        let ids: Vec<KeyspaceId> = targets.iter().map(|(space, _)| space.id).collect();
        self.upkeep.wait_until(self, Scope::Of(&ids), || {
            targets.iter().all(|(space, seq)| space.flushed() >= *seq || space.is_dropped())
        })?;
        self.release_logs()
    }

    /// Where the logs have become too long: seals the memtables that keep the oldest one. Under
    /// the commit lock.
    pub(crate) fn seal_what_keeps_logs(&self, journal: &Journal) {
        if journal.bytes() <= self.settings.log_bytes_max {
            return;
        }
        let Some(oldest) = journal.oldest_sealed() else { return };
        for (id, last) in &oldest.keyspaces {
            let Some(space) = self.space(*id) else { continue };
            let least = space.view().active.seq_range().map(|(least, _)| least);
            if least.is_some_and(|least| least <= *last) {
                space.seal();
                self.upkeep.wake_for(&space);
            }
        }
    }

    /// Lets the oldest of what is sealed join the levels. One caller a keyspace at a time.
    pub(crate) fn flush_oldest(&self, space: &Space) -> Result<()> {
        let oldest = space.view().sealed.last().cloned();
        match oldest {
            None => Ok(()),
            Some(Sealed::Memtable(memtable)) => self.flush_memtable(space, memtable),
            Some(Sealed::Ingested(run)) => self.publish_ingested(space, run),
        }
    }

    /// Makes a table of a memtable, the oldest that is sealed.
    fn flush_memtable(&self, space: &Space, memtable: Arc<Memtable>) -> Result<()> {
        let sealed = Sealed::Memtable(memtable.clone());
        let Some(greatest) = sealed.greatest_seq() else {
            self.replace_sealed(space, &sealed, Vec::new());
            return Ok(());
        };
        // Log before table: a power cut must not keep a part of a batch, or this and not what
        // was written before it.
        self.sync_through(greatest)?;
        lock(&self.manifest).mend(|| self.new_file_no())?;
        let Some(table) = self.write_table(space, &memtable)? else { return Ok(()) };
        let table = TableHandle::written(table, self.files.clone());
        self.index_required(space, [&table]).inspect_err(|_| table.make_obsolete())?;
        if !self.publish_sealed(space, &sealed, vec![table.clone()], greatest)? {
            table.make_obsolete();
            return Ok(());
        }
        self.listener.tell(|| Event::Flush {
            keyspace: space.name.clone(),
            table: table.meta.no.0,
            bytes: table.meta.bytes,
            entries: table.meta.entries,
        });
        Ok(())
    }

    /// Writes a table that no manifest names yet.
    fn write_table(&self, space: &Space, memtable: &Arc<Memtable>) -> Result<Option<NewTable>> {
        let mut expected = TableShape::default();
        (expected.table_bytes, expected.entries) = (memtable.bytes(), memtable.len() as u64);
        expected.keys = expected.entries;
        let output = Output::new(self.output_site(space), space.id, Level(0));
        let mut output = output.collecting(self.collecting(space, expected));
        let mut retention = Retention::new(self.snapshots.list());
        let mut source = memtable.source();
        source.first()?;
        while let Some(entry) = source.entry() {
            if retention.keeps(entry.key, entry.seq) {
                output.add(entry)?;
            }
            source.next()?;
        }
        Ok(output.finish()?.pop())
    }

    /// Names the tables in the manifest and puts them in the place of what was sealed, of which
    /// `greatest` is the greatest sequence; `false` if that was cleared or dropped meanwhile.
    pub(crate) fn publish_sealed(
        &self,
        space: &Space,
        sealed: &Sealed,
        tables: Vec<Arc<TableHandle>>,
        greatest: SeqNo,
    ) -> Result<bool> {
        let mut manifest = lock(&self.manifest);
        let view = space.view_owned();
        if space.is_dropped() || !view.has_sealed(sealed) {
            return Ok(false);
        }
        let (next_file, live) = {
            let commit = lock(&self.commit);
            // Under the lock that new logs are numbered under: above all of them.
            let next_file = FileNo(self.next_file.load(Ordering::Relaxed));
            let is_flushed = |id, last| self.is_flushed((space.id, greatest), id, last);
            (next_file, commit.journal.needed(next_file, is_flushed))
        };
        let mut changes = stale_tables(manifest.state(), space.id, view.since());
        let added = tables.iter().map(|table| table.meta.clone());
        changes.extend(added.map(|table| Change::AddTable { keyspace: space.id, table }));
        changes.extend([
            Change::Flushed { keyspace: space.id, seq: greatest },
            Change::LastSeq(greatest),
            Change::NextFile(next_file),
            Change::Logs(live),
        ]);
        if let Err(error) = manifest.append(&changes, || self.new_file_no()) {
            // The next try makes another table of a memtable. Of an ingest there is only this one.
            if sealed.memtable().is_some() {
                manifest.abandon(tables.iter().flat_map(|table| table.paths()));
            }
            return Err(error);
        }
        let replaced = self.replace_sealed(space, sealed, tables.clone());
        space.set_flushed(greatest);
        let released = lock(&self.commit).journal.release(live);
        drop(manifest);
        self.remove_logs(&released);
        if !replaced {
            self.forget_late(space, &tables)?;
        }
        Ok(replaced)
    }

    /// Lets go of logs of which no operation is needed any more, where no flush did it: what was in
    /// them was cleared or dropped, or flushed before they were retired.
    pub(crate) fn release_logs(&self) -> Result<()> {
        let mut manifest = lock(&self.manifest);
        self.check_open()?;
        let (next_file, live, last) = {
            let journal = &mut lock(&self.commit).journal;
            let next_file = FileNo(self.next_file.load(Ordering::Relaxed));
            // Nothing that is being flushed counts.
            let none = (KeyspaceId(u32::MAX), SeqNo(0));
            let is_flushed = |id, last| self.is_flushed(none, id, last);
            journal.retire_unneeded(is_flushed);
            let live = journal.needed(next_file, is_flushed);
            (next_file, live, journal.releasable(live))
        };
        let Some(last) = last else { return Ok(()) };
        let changes = [Change::LastSeq(last), Change::NextFile(next_file), Change::Logs(live)];
        manifest.append(&changes, || self.new_file_no())?;
        let released = lock(&self.commit).journal.release(live);
        drop(manifest);
        self.remove_logs(&released);
        Ok(())
    }

    /// Removes logs that the manifest needs no more. The manifest's lock is free.
    fn remove_logs(&self, released: &[FileNo]) {
        // A sync that began before may still be about to open them; one that begins now is not.
        drop(lock(&self.durable));
        if !lock(&self.kept_logs).take(released) {
            self.remove_log_files(released);
        }
    }

    /// Removes logs that nobody is about to open.
    pub(crate) fn remove_log_files(&self, released: &[FileNo]) {
        for no in released {
            self.files.remove(&self.dir.join(files::log(*no)));
        }
    }

    /// Whether all operations of keyspace `id` up to `last` are in tables, or are no longer
    /// wanted, once those of one keyspace are up to some sequence.
    fn is_flushed(&self, flushed: (KeyspaceId, SeqNo), id: KeyspaceId, last: SeqNo) -> bool {
        let seq = match self.space(id) {
            Some(_) if id == flushed.0 => flushed.1,
            Some(space) => space.flushed(),
            None => return true,
        };
        seq >= last
    }

    /// Takes what was sealed out of the view, and the tables in, as one. Whether it was there.
    fn replace_sealed(&self, space: &Space, sealed: &Sealed, tables: Vec<Arc<TableHandle>>) -> bool {
        let replaced = space.replace_sealed(sealed, tables);
        if replaced {
            self.memtable_bytes.fetch_sub(sealed.memtable_bytes(), Ordering::Relaxed);
        }
        replaced
    }
}
