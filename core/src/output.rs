//! Writing tables that no manifest names yet.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kiban_formats::{FileNo, KeyspaceId, Level, SeqNo, StoreId, TableId, TableMeta};

use crate::error::{Error, Result};
use crate::files;
use crate::index::{Collecting, Collection};
use crate::memory::{Gauge, Share};
use crate::own_files::OwnFiles;
use crate::source::EntryRef;
use crate::space::Space;
use crate::storage::{Storage, random_id};
use crate::store::Store;
use crate::table::{TableOptions, TableWriter};

/// A table whose file has its name and is durable, for the manifest to name.
#[derive(Debug)]
pub(crate) struct NewTable {
    pub(crate) meta: TableMeta,
    pub(crate) path: PathBuf,
    /// For its indexes.
    pub(crate) collected: Option<Collection>,
}

/// Where a store's tables are written, and what all of them are made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputSite<'s> {
    pub(crate) dir: &'s Path,
    pub(crate) storage: &'s Arc<dyn Storage>,
    /// What is not finished goes through these.
    pub(crate) files: &'s OwnFiles,
    /// Of tables below level 0.
    pub(crate) table_bytes: u64,
    pub(crate) filter_bits_per_key: u32,
    /// Where a memtable is full.
    pub(crate) seal_bytes: u64,
    pub(crate) store_id: StoreId,
    pub(crate) hash_seed: u64,
    /// Numbers from this one on were never used.
    pub(crate) next_file: &'s AtomicU64,
    /// Counts the buffers.
    pub(crate) writing: &'s Gauge,
}

impl Store {
    pub(crate) fn output_site(&self, space: &Space) -> OutputSite<'_> {
        let settings = space.settings();
        OutputSite {
            dir: &self.dir,
            storage: &self.storage,
            files: &self.files,
            table_bytes: settings.table_bytes,
            filter_bits_per_key: settings.filter_bits_per_key,
            seal_bytes: settings.memtable_seal_bytes(),
            store_id: self.id,
            hash_seed: self.hash_seed,
            next_file: &self.next_file,
            writing: &self.tables.writing,
        }
    }
}

/// Writes entries to one table after the other, each about `table_bytes` long. All versions of a
/// key go to the same one. What is not finished is removed when it is dropped.
#[derive(Debug)]
pub(crate) struct Output<'s> {
    site: OutputSite<'s>,
    keyspace: KeyspaceId,
    level: Level,
    /// Where the next table begins; `None`: never.
    table_bytes: Option<u64>,
    /// Of an ingest: the least sequence that its entries may get.
    base_seq: SeqNo,
    writer: Option<(TableWriter, PathBuf)>,
    /// The key of the entry before.
    key: Vec<u8>,
    tables: Vec<NewTable>,
    /// What the writer takes.
    memory: Share,
    /// For indexes; `None`: tables are scanned.
    collecting: Option<Collecting<'s>>,
}

impl<'s> Output<'s> {
    /// Tables of this level. A table of level 0 is as long as its memtable.
    pub(crate) fn new(site: OutputSite<'s>, keyspace: KeyspaceId, level: Level) -> Self {
        let table_bytes = (level.0 > 0).then_some(site.table_bytes);
        let memory = site.writing.share();
        Self {
            site,
            keyspace,
            level,
            table_bytes,
            base_seq: SeqNo(0),
            writer: None,
            key: Vec::new(),
            tables: Vec::new(),
            memory,
            collecting: None,
        }
    }

    /// The same, and what indexes need of the entries is collected.
    pub(crate) fn collecting(mut self, collecting: Option<Collecting<'s>>) -> Self {
        self.collecting = collecting;
        self
    }

    /// Tables of an ingest, of one version of each key, all with sequence 0.
    pub(crate) fn of_ingest(site: OutputSite<'s>, keyspace: KeyspaceId, base_seq: SeqNo) -> Self {
        let mut output = Self::new(site, keyspace, Level(0));
        output.table_bytes = Some(site.table_bytes);
        output.base_seq = base_seq;
        output
    }

    /// The key of the entry added last.
    pub(crate) fn last_key(&self) -> Option<&[u8]> {
        (self.writer.is_some() || !self.tables.is_empty()).then_some(&self.key)
    }

    /// The tables that are finished.
    pub(crate) fn tables(&self) -> &[NewTable] {
        &self.tables
    }

    /// Adds an entry, in the order (key ascending, sequence descending).
    pub(crate) fn add(&mut self, entry: EntryRef<'_>) -> Result<()> {
        let full = |(writer, _): &(TableWriter, PathBuf)| {
            self.table_bytes.is_some_and(|bytes| writer.estimated_bytes() >= bytes) && self.key != entry.key
        };
        if self.writer.as_ref().is_some_and(full) {
            self.finish_table()?;
        }
        if self.writer.is_none() {
            self.writer = Some(self.begin_table()?);
        }
        if let Some((writer, _)) = &mut self.writer {
            writer.add(entry)?;
            self.memory.set(writer.memory_bytes());
        }
        self.key.clear();
        self.key.extend_from_slice(entry.key);
        Ok(())
    }

    fn begin_table(&self) -> Result<(TableWriter, PathBuf)> {
        let site = self.site;
        let no = FileNo(site.next_file.fetch_add(1, Ordering::Relaxed));
        let path = site.dir.join(files::table(no));
        let options = TableOptions {
            no,
            level: self.level,
            keyspace: self.keyspace,
            store_id: site.store_id,
            table_id: TableId(random_id(&**site.storage)),
            hash_seed: site.hash_seed,
            filter_bits_per_key: site.filter_bits_per_key,
            base_seq: self.base_seq,
        };
        let temporary = files::temporary(&path);
        let created = TableWriter::create(site.storage, &temporary, options);
        if created.is_err() {
            site.files.remove(&temporary);
        }
        let mut writer = created?;
        if let Some(collection) = self.collecting.as_ref().and_then(|all| all.begin(options.table_id)) {
            writer.collect(collection);
        }
        Ok((writer, path))
    }

    fn finish_table(&mut self) -> Result<()> {
        let Some((writer, path)) = self.writer.take() else { return Ok(()) };
        self.memory.set(0);
        let temporary = files::temporary(&path);
        let finished = writer.finish().and_then(|finished| {
            let renamed = self.site.storage.rename(&temporary, &path);
            renamed.map_err(|source| Error::io("rename", &temporary, source))?;
            Ok(finished)
        });
        match finished {
            Ok((meta, collected)) => {
                self.tables.push(NewTable { meta, path, collected });
                Ok(())
            }
            Err(error) => {
                self.site.files.remove(&temporary);
                Err(error)
            }
        }
    }

    /// Finishes the last table and makes the names of all of them durable.
    pub(crate) fn finish(mut self) -> Result<Vec<NewTable>> {
        self.sync()?;
        Ok(self.keep())
    }

    /// The same, but the tables still go with it.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.finish_table()?;
        if !self.tables.is_empty() {
            let synced = self.site.storage.sync_dir(self.site.dir);
            synced.map_err(|source| Error::io("sync", self.site.dir, source))?;
        }
        Ok(())
    }

    /// The finished tables, which stay when this is dropped.
    pub(crate) fn keep(&mut self) -> Vec<NewTable> {
        std::mem::take(&mut self.tables)
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        // On a full disk it must go now; what stays goes at the next open.
        if let Some((_, path)) = &self.writer {
            self.site.files.remove(&files::temporary(path));
        }
        for table in &self.tables {
            self.site.files.remove(&table.path);
        }
    }
}
