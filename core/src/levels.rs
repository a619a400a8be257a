//! The tables of a keyspace: level 0, whose tables may overlap, and sorted runs below it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use kiban_formats::{FileNo, Level, TableMeta};
use kiban_indexes::Probe;

use crate::error::Result;
use crate::run::RunSource;
use crate::source::{Found, Source};
use crate::stats::LevelStats;
use crate::storage::Storage;
use crate::table::{Table, TableContext, TableSource};

/// Levels 0 to this one less.
pub(crate) const LEVELS_MAX: usize = 7;

/// The tables of a keyspace at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    /// May overlap; newest first.
    level0: Vec<Arc<TableHandle>>,
    /// Levels 1, 2 and so on; the tables of each are apart and in order. No empty one at the end.
    runs: Vec<Vec<Arc<TableHandle>>>,
}

/// A change of the tables of a keyspace.
#[derive(Clone, Debug, Default)]
pub(crate) struct LevelsChange {
    pub(crate) removed: Vec<FileNo>,
    pub(crate) added: Vec<Arc<TableHandle>>,
}

impl Levels {
    /// Puts tables in their levels. Of two tables of level 0 the later one in the list is newer.
    pub(crate) fn new(tables: impl IntoIterator<Item = Arc<TableHandle>>) -> Self {
        let mut levels = Self::default();
        for table in tables {
            levels.add(table);
        }
        levels
    }

    fn add(&mut self, table: Arc<TableHandle>) {
        let Some(run) = usize::from(table.meta.level.0).checked_sub(1) else {
            self.level0.insert(0, table);
            return;
        };
        if self.runs.len() <= run {
            self.runs.resize_with(run + 1, Vec::new);
        }
        let run = &mut self.runs[run];
        let place = run.partition_point(|other| other.meta.smallest < table.meta.smallest);
        run.insert(place, table);
    }

    /// With some tables in the place of others.
    pub(crate) fn changed(&self, change: &LevelsChange) -> Self {
        let mut levels = self.clone();
        let stays = |table: &Arc<TableHandle>| !change.removed.contains(&table.meta.no);
        levels.level0.retain(stays);
        levels.runs.iter_mut().for_each(|run| run.retain(stays));
        for table in &change.added {
            levels.add(table.clone());
        }
        while levels.runs.last().is_some_and(Vec::is_empty) {
            levels.runs.pop();
        }
        levels
    }

    /// The tables of a level; of level 0 newest first.
    pub(crate) fn level(&self, level: usize) -> &[Arc<TableHandle>] {
        match level.checked_sub(1) {
            None => &self.level0,
            Some(run) => self.runs.get(run).map_or(&[], Vec::as_slice),
        }
    }

    /// The deepest level that has tables; 0 if there is none.
    pub(crate) fn deepest(&self) -> usize {
        self.runs.len()
    }

    /// Whether a table is among them.
    pub(crate) fn has(&self, no: FileNo) -> bool {
        self.tables().any(|table| table.meta.no == no)
    }

    /// All tables, newer ones before older ones.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &Arc<TableHandle>> {
        self.level0.iter().chain(self.runs.iter().flatten())
    }

    /// Searches level after level; the first answer other than [`Found::Absent`] is the answer.
    #[inline]
    pub(crate) fn get(&self, context: &TableContext, probe: &Probe<'_>) -> Result<Found> {
        let level0 = self.level0.iter().filter(|table| table.may_hold(probe.key));
        let runs = self.runs.iter().filter_map(|run| table_for(run, probe.key));
        for table in level0.chain(runs) {
            match table.get(context)?.get(probe)? {
                Found::Absent => {}
                found => return Ok(found),
            }
        }
        Ok(Found::Absent)
    }

    /// A source for each table of level 0 and for each run, newest first.
    pub(crate) fn push_sources(
        &self,
        context: &TableContext,
        sources: &mut Vec<Box<dyn Source>>,
    ) -> Result<()> {
        for table in &self.level0 {
            sources.push(Box::new(TableSource::new(table.get(context)?.clone())));
        }
        for run in self.runs.iter().filter(|run| !run.is_empty()) {
            sources.push(Box::new(RunSource::new(context.clone(), run.clone())));
        }
        Ok(())
    }

    /// Sizes, level by level; levels above the first one with tables are left out at the end only.
    pub(crate) fn stats(&self) -> Vec<LevelStats> {
        if self.tables().next().is_none() {
            return Vec::new();
        }
        (0..=self.deepest()).map(|level| level_stats(level, self.level(level))).collect()
    }
}

fn level_stats(level: usize, tables: &[Arc<TableHandle>]) -> LevelStats {
    let mut stats = LevelStats { level: level as u32, ..LevelStats::default() };
    for table in tables {
        stats.tables += 1;
        stats.bytes += table.meta.bytes;
        stats.entries += table.meta.entries;
        stats.keys += table.meta.keys;
        stats.tombstones += table.meta.tombstones;
    }
    stats
}

/// The table of a run whose range holds the key.
#[inline]
fn table_for<'a>(run: &'a [Arc<TableHandle>], key: &[u8]) -> Option<&'a Arc<TableHandle>> {
    let place = run.partition_point(|table| *table.meta.largest < *key);
    run.get(place).filter(|table| *table.meta.smallest <= *key)
}

/// A table in its level.
#[derive(Debug)]
pub(crate) struct TableHandle {
    pub(crate) meta: TableMeta,
    file: Arc<TableFile>,
}

/// A table's file, which is opened at first use: opening a store opens no table. Once it is
/// obsolete it goes with the last reader.
#[derive(Debug)]
struct TableFile {
    path: PathBuf,
    storage: Arc<dyn Storage>,
    table: OnceLock<Arc<Table>>,
    obsolete: AtomicBool,
}

impl TableHandle {
    pub(crate) fn new(meta: TableMeta, path: PathBuf, storage: Arc<dyn Storage>) -> Self {
        let file = TableFile { path, storage, table: OnceLock::new(), obsolete: AtomicBool::new(false) };
        Self { meta, file: Arc::new(file) }
    }

    /// The same file in another level.
    pub(crate) fn moved(&self, level: Level) -> Self {
        Self { meta: TableMeta { level, ..self.meta.clone() }, file: self.file.clone() }
    }

    #[inline]
    fn may_hold(&self, key: &[u8]) -> bool {
        *self.meta.smallest <= *key && *key <= *self.meta.largest
    }

    /// Whether some key of `smallest..=largest` may be in it.
    pub(crate) fn overlaps(&self, smallest: &[u8], largest: &[u8]) -> bool {
        *self.meta.smallest <= *largest && *smallest <= *self.meta.largest
    }

    /// The table, opened if it is not yet. A failed open is tried again by the next reader.
    #[inline]
    pub(crate) fn get(&self, context: &TableContext) -> Result<&Arc<Table>> {
        match self.file.table.get() {
            Some(table) => Ok(table),
            None => self.open(context),
        }
    }

    #[cold]
    fn open(&self, context: &TableContext) -> Result<&Arc<Table>> {
        let table = Arc::new(Table::open(context, &self.file.path, &self.meta)?);
        Ok(self.file.table.get_or_init(|| table))
    }

    /// The table if it is open.
    pub(crate) fn opened(&self) -> Option<&Arc<Table>> {
        self.file.table.get()
    }

    /// No manifest names the file any more: it goes when nobody reads it.
    pub(crate) fn make_obsolete(&self) {
        self.file.obsolete.store(true, Ordering::Release);
    }
}

impl Drop for TableFile {
    fn drop(&mut self) {
        if *self.obsolete.get_mut() {
            // What cannot be removed now is removed by the next open.
            let _ = self.storage.remove(&self.path);
        }
    }
}
