//! What a store holds and has done.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::index::{Attached, IndexCounts};
use crate::options::KeyspaceOptions;
use crate::store::Store;
use crate::sync::lock;

/// What a store holds and has done since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// One element a keyspace, by name.
    pub keyspaces: Vec<KeyspaceStats>,
    /// Bytes in memory.
    pub memory: MemoryStats,
    /// Pages that reads touched.
    pub pages: PageStats,
    /// What came of the answers of indexes, by format.
    pub accessors: BTreeMap<String, IndexCounts>,
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
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KeyspaceStats {
    /// Its name.
    pub name: String,
    /// Its options, as they are stored.
    pub options: KeyspaceOptions,
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
    /// Tables that are open.
    pub open_tables: u64,
    /// Bytes of memory of their handles.
    pub handle_bytes: u64,
    /// Bytes of memory of their filters.
    pub filter_bytes: u64,
    /// Bytes of their files that are mapped.
    pub mapped_bytes: u64,
}

/// Bytes in memory, by what they are for. All but `mapped_bytes` are heap, counted as they were
/// asked for; what the allocator adds to each allocation is not in them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MemoryStats {
    /// The budget: [`Settings::cache_bytes`](crate::Settings::cache_bytes). What of pages, handles
    /// and filters is above it is at most 1 MiB of handles, with a budget too small for them.
    pub budget_bytes: u64,
    /// In the budget: pages read by `pread`, and the places they stand in.
    pub page_bytes: u64,
    /// In the budget: handles of open tables, with their footers, top tiers and verification bits.
    pub handle_bytes: u64,
    /// In the budget: filters of open tables.
    pub filter_bytes: u64,
    /// In the budget: resident indexes.
    pub accessor_bytes: u64,
    /// Bytes that were asked of the budget and refused, since the store was opened.
    pub denied_bytes: u64,
    /// Memtables, active and sealed.
    pub memtable_bytes: u64,
    /// What is known of all tables, open or not: ranges, counts, names.
    pub version_bytes: u64,
    /// Buffers of tables that are being written.
    pub compaction_bytes: u64,
    /// Indexes that are being built.
    pub build_bytes: u64,
    /// Pages that values and iterators hold and that are no longer in the budget, and tables that
    /// only they and snapshots still read.
    pub pinned_bytes: u64,
    /// Counters, locks and buffers, whatever the store holds.
    pub fixed_bytes: u64,
    /// Mapped bytes of tables and indexes: address space, not heap.
    pub mapped_bytes: u64,
}

impl MemoryStats {
    /// All heap bytes.
    pub fn heap_bytes(&self) -> u64 {
        self.page_bytes
            + self.handle_bytes
            + self.filter_bytes
            + self.accessor_bytes
            + self.memtable_bytes
            + self.version_bytes
            + self.compaction_bytes
            + self.build_bytes
            + self.pinned_bytes
            + self.fixed_bytes
    }
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
    /// Tables whose filter is damaged, of those that were read.
    pub filters_refused: u64,
}

impl Store {
    pub(crate) fn stats(&self) -> Stats {
        self.index_all_if_read_only();
        let mut keyspaces: Vec<KeyspaceStats> = self
            .spaces()
            .iter()
            .map(|space| {
                let view = space.view();
                KeyspaceStats {
                    name: space.name.clone(),
                    options: space.options(),
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
        let memory = self.memory_stats(&keyspaces);
        Stats {
            keyspaces,
            memory,
            pages: self.tables.page_stats(),
            accessors: self.accessor_stats(),
            log_bytes,
            log_files,
            open_snapshots: self.snapshots.count() as u64,
            last_sequence: self.visible().0,
        }
    }

    fn accessor_stats(&self) -> BTreeMap<String, IndexCounts> {
        let counted = self.indexing.counted().map(|(name, counters)| (name.to_owned(), counters.sum()));
        let mut accessors: BTreeMap<String, IndexCounts> = counted.collect();
        for space in self.spaces() {
            for table in space.view_owned().tables() {
                if let Some(Attached::Index(index)) = table.index().attached().as_deref()
                    && let Some(counts) = accessors.get_mut(index.name())
                {
                    counts.tables += 1;
                    counts.resident_bytes += index.resident_bytes();
                    counts.mapped_bytes += index.mapped_bytes();
                }
            }
        }
        accessors
    }

    fn memory_stats(&self, keyspaces: &[KeyspaceStats]) -> MemoryStats {
        let levels = || keyspaces.iter().flat_map(|space| &space.levels);
        let version_bytes: u64 = self.spaces().iter().map(|space| space.view().levels.memory_bytes()).sum();
        let (budget, frames) = (&self.tables.budget, self.tables.budget.frames());
        let open = budget.reserved_bytes();
        let handle_bytes: u64 = levels().map(|level| level.handle_bytes).sum();
        let filter_bytes: u64 = levels().map(|level| level.filter_bytes).sum();
        let accessors = self.accessor_stats();
        let accessor_bytes: u64 = accessors.values().map(|counts| counts.resident_bytes).sum();
        let mapped_indexes: u64 = accessors.values().map(|counts| counts.mapped_bytes).sum();
        MemoryStats {
            budget_bytes: budget.limit(),
            page_bytes: frames.bytes(),
            handle_bytes,
            filter_bytes,
            accessor_bytes,
            denied_bytes: budget.denied_bytes(),
            memtable_bytes: keyspaces.iter().map(|space| space.memtable_bytes).sum(),
            version_bytes: version_bytes + lock(&self.manifest).memory_bytes(),
            compaction_bytes: self.tables.writing.bytes(),
            build_bytes: self.tables.building.bytes() + self.tables.collecting.bytes(),
            pinned_bytes: frames.pinned_bytes()
                + open.saturating_sub(handle_bytes + filter_bytes + accessor_bytes),
            fixed_bytes: self.fixed_bytes(),
            mapped_bytes: levels().map(|level| level.mapped_bytes).sum::<u64>() + mapped_indexes,
        }
    }

    fn fixed_bytes(&self) -> u64 {
        let journal = lock(&self.commit).journal.memory_bytes();
        size_of::<Self>() as u64 + journal + self.tables.fixed_bytes() + self.indexing.memory_bytes()
    }
}
