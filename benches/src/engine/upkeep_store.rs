//! Kiban, where nothing is flushed or compacted that is not asked for.

use std::path::Path;

use kiban::defaults::BYTES_MAX;
use kiban::{Db, IndexPolicy, Residency, Settings};

use super::kiban_store::{KibanStore, load_into, read_settings, write_batch};
use super::{Accessor, Engine as _, Load, Opening, Store};

/// More tables of level 0 than any run makes.
const LEVEL0_TABLES: u32 = 10_000;

/// An open store.
#[derive(Debug)]
pub(crate) struct UpkeepStore(KibanStore);

/// How one is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpkeepOpening {
    pub(crate) opening: Opening,
    pub(crate) background_threads: u32,
}

impl UpkeepOpening {
    fn settings(self) -> Settings {
        Settings {
            background_threads: self.background_threads,
            memtable_bytes: BYTES_MAX,
            memtables_total_bytes: BYTES_MAX,
            log_bytes_max: BYTES_MAX,
            level0_tables: LEVEL0_TABLES,
            level0_stall_tables: LEVEL0_TABLES,
            ..read_settings(self.opening)
        }
    }
}

impl UpkeepStore {
    /// Loads records into tables of level 0 of a new store without accessors, and closes it.
    pub(crate) fn build_level0(dir: &Path, load: &Load<'_>, opening: UpkeepOpening) -> kiban::Result<()> {
        let db = Db::builder(dir).settings(opening.settings()).index_policy(IndexPolicy::sorted_only());
        let db = db.open()?;
        load_into(&db, load)?;
        db.flush()?;
        db.close()
    }

    /// Makes a second store of links to the tables and accessors of another one.
    pub(crate) fn link(data: &Path, dir: &Path) -> kiban::Result<()> {
        let db = Db::builder(data).read_only(true).open()?;
        db.checkpoint(dir)?;
        db.close()
    }

    /// Opens a store; a new one if there is none. Its tables have their accessors when it returns.
    pub(crate) fn open(dir: &Path, accessor: &Accessor, opening: UpkeepOpening) -> kiban::Result<Self> {
        let builder = accessor.builder(dir, Residency::Auto)?.settings(opening.settings());
        Ok(Self(KibanStore::open(builder, accessor, opening.opening.durability)?))
    }

    /// Puts records into the memtable; the log is synced when it returns.
    pub(crate) fn fill(&self, load: &Load<'_>) -> kiban::Result<()> {
        load.in_batches(|batch| write_batch(self.0.db(), batch))?;
        self.0.db().sync()
    }

    pub(crate) fn flush(&self) -> kiban::Result<()> {
        self.0.db().flush()
    }

    pub(crate) fn compact(&self) -> kiban::Result<()> {
        self.0.db().default_keyspace().compact()
    }

    pub(crate) fn wait_idle(&self) -> kiban::Result<()> {
        self.0.db().wait_idle()
    }

    pub(crate) fn heap_bytes(&self) -> u64 {
        self.0.db().stats().memory.heap_bytes()
    }

    /// Entries in memtables, tables of level 0, and tables below it.
    pub(crate) fn places(&self) -> (u64, u64, u64) {
        let stats = self.0.db().stats();
        let levels = || stats.keyspaces.iter().flat_map(|keyspace| &keyspace.levels);
        let tables = |is_top: bool| {
            let levels = levels().filter(|level| (level.level == 0) == is_top);
            levels.map(|level| level.tables).sum()
        };
        let entries = stats.keyspaces.iter().map(|keyspace| keyspace.memtable_entries).sum();
        (entries, tables(true), tables(false))
    }

    /// What is wrong if some table is read by another index than the accessor's.
    pub(crate) fn unready(&self) -> Option<String> {
        self.0.unready()
    }

    /// To read from.
    pub(crate) fn store(&mut self) -> &mut dyn Store {
        &mut self.0
    }

    pub(crate) fn close(&self) -> kiban::Result<()> {
        self.0.db().close()
    }
}
