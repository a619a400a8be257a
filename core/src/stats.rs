//! What a store holds and has done.

use serde::Serialize;

use crate::store::Store;
use crate::sync::lock;

/// What a store holds and has done since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// One element a keyspace, by name.
    pub keyspaces: Vec<KeyspaceStats>,
    /// Bytes in memory.
    pub memory: MemoryStats,
    /// Pages that reads touched.
    pub pages: PageStats,
    /// Bytes of the log files.
    pub log_bytes: u64,
    /// Log files that are still needed.
    pub log_files: u64,
    /// Snapshots that are open.
    pub open_snapshots: u64,
    /// The sequence of the last operation.
    pub last_sequence: u64,
}

/// A keyspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeyspaceStats {
    /// Its name.
    pub name: String,
    /// Bytes in its memtables.
    pub memtable_bytes: u64,
    /// Entries in its memtables, versions and tombstones included.
    pub memtable_entries: u64,
    /// Its levels, from 0 down.
    pub levels: Vec<LevelStats>,
}

/// A level of a keyspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LevelStats {
    /// Its number.
    pub level: u32,
    /// Tables.
    pub tables: u64,
    /// Bytes of the table files.
    pub bytes: u64,
    /// Entries, versions and tombstones included.
    pub entries: u64,
    /// Distinct keys, summed over the tables.
    pub keys: u64,
    /// Tombstones.
    pub tombstones: u64,
}

/// Bytes in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MemoryStats {
    /// Memtables, active and sealed.
    pub memtable_bytes: u64,
    /// Pages in the cache.
    pub cache_bytes: u64,
    /// Filters, top tiers and footers of open tables.
    pub table_bytes: u64,
}

/// Pages that reads touched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PageStats {
    /// Data pages, from the cache, the map or the file.
    pub data_reads: u64,
    /// Index pages.
    pub index_reads: u64,
    /// Pages that came from the file by a read call.
    pub file_reads: u64,
    /// Lookups that a filter answered.
    pub filtered: u64,
    /// Tables that could not be mapped, and so are read by read calls.
    pub maps_refused: u64,
}

impl Store {
    pub(crate) fn stats(&self) -> Stats {
        let mut keyspaces: Vec<KeyspaceStats> = self
            .spaces()
            .iter()
            .map(|space| {
                let view = space.view();
                KeyspaceStats {
                    name: space.name.clone(),
                    memtable_bytes: view.memtables().map(|memtable| memtable.bytes()).sum(),
                    memtable_entries: view.memtables().map(|memtable| memtable.len() as u64).sum(),
                    levels: view.levels.stats(),
                }
            })
            .collect();
        keyspaces.sort_by(|a, b| a.name.cmp(&b.name));
        let (log_bytes, log_files) = {
            let commit = lock(&self.commit);
            (commit.journal.bytes(), commit.journal.file_count() as u64)
        };
        let memory = MemoryStats {
            memtable_bytes: keyspaces.iter().map(|space| space.memtable_bytes).sum(),
            cache_bytes: self.tables.cached_bytes(),
            table_bytes: self.table_bytes(),
        };
        Stats {
            keyspaces,
            memory,
            pages: self.tables.page_stats(),
            log_bytes,
            log_files,
            open_snapshots: self.snapshots.count() as u64,
            last_sequence: self.visible().0,
        }
    }

    fn table_bytes(&self) -> u64 {
        let views: Vec<_> = self.spaces().iter().map(|space| space.view_owned()).collect();
        let tables = views.iter().flat_map(|view| view.levels.tables());
        tables.filter_map(|table| table.opened()).map(|table| table.resident_bytes()).sum()
    }
}
