//! The tables of a keyspace: level 0, whose tables may overlap, and sorted runs below it.

use std::sync::Arc;

use kiban_formats::FileNo;
use kiban_indexes::Probe;

use crate::error::Result;
use crate::multi_get::Batch;
use crate::run::{Run, RunSource};
use crate::source::{Found, Source, Wants};
use crate::stats::LevelStats;
use crate::table::{TableContext, TableHandle, TableSource};

/// Levels 0 to this one less.
pub(crate) const LEVELS_MAX: usize = 7;

/// The tables of a keyspace at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    level0: Level0,
    /// Levels 1, 2 and so on. No empty one at the end.
    runs: Vec<Arc<Run>>,
}

/// The tables of level 0.
#[derive(Clone, Debug, Default)]
struct Level0 {
    /// May overlap; newest first.
    tables: Vec<Arc<TableHandle>>,
    /// The smallest and the largest key of all of them.
    boundary: Option<KeyRange>,
    /// How many of them may have the same key: those of one ingest are apart.
    depth: usize,
}

/// A smallest and a largest key.
type KeyRange = (Box<[u8]>, Box<[u8]>);

/// A change of the tables of a keyspace.
#[derive(Clone, Debug, Default)]
pub(crate) struct LevelsChange {
    pub(crate) removed: Vec<FileNo>,
    pub(crate) added: Vec<Arc<TableHandle>>,
}

impl Levels {
    /// Puts tables in their levels. Of two tables of level 0 the later one in the list is newer.
    pub(crate) fn new(tables: impl IntoIterator<Item = Arc<TableHandle>>) -> Self {
        let added = tables.into_iter().collect();
        Self::default().changed(&LevelsChange { removed: Vec::new(), added })
    }

    /// With some tables in the place of others.
    pub(crate) fn changed(&self, change: &LevelsChange) -> Self {
        let level_of = |table: &Arc<TableHandle>| usize::from(table.meta.level.0);
        let deepest = change.added.iter().map(level_of).max().unwrap_or(0).max(self.deepest());
        let after = |level: usize| {
            let before = self.level(level);
            let stay = before.iter().filter(|table| !change.removed.contains(&table.meta.no)).cloned();
            let come = change.added.iter().filter(move |table| level_of(table) == level).cloned();
            let is_same = stay.clone().count() == before.len() && come.clone().next().is_none();
            (!is_same).then_some((stay, come))
        };
        let level0 = match after(0) {
            None => self.level0.clone(),
            Some((stay, come)) => Level0::new(come.rev().chain(stay).collect()),
        };
        let run = |level: usize| match after(level) {
            None => self.runs.get(level - 1).cloned().unwrap_or_default(),
            Some((stay, come)) => Arc::new(Run::new(stay.chain(come))),
        };
        let mut runs: Vec<Arc<Run>> = (1..=deepest).map(run).collect();
        while runs.last().is_some_and(|run| run.tables().is_empty()) {
            runs.pop();
        }
        Self { level0, runs }
    }

    /// The tables of a level; of level 0 newest first.
    pub(crate) fn level(&self, level: usize) -> &[Arc<TableHandle>] {
        match level.checked_sub(1) {
            None => &self.level0.tables,
            Some(run) => self.runs.get(run).map_or(&[], |run| run.tables()),
        }
    }

    /// How many tables of level 0 may have the same key. Every write asks.
    pub(crate) fn level0_depth(&self) -> usize {
        self.level0.depth
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
        self.level0.tables.iter().chain(self.runs.iter().flat_map(|run| run.tables()))
    }

    /// Searches level after level; the first answer other than [`Found::Absent`] is the answer.
    #[inline]
    pub(crate) fn get(&self, context: &TableContext, probe: &Probe<'_>, wants: Wants) -> Result<Found> {
        for table in self.level0.tables_for(probe.key) {
            match table.find(context, probe, wants)? {
                Found::Absent => {}
                found => return Ok(found),
            }
        }
        for run in &self.runs {
            let Some(table) = run.table_for(probe.key) else { continue };
            match table.find(context, probe, wants)? {
                Found::Absent => {}
                found => return Ok(found),
            }
        }
        Ok(Found::Absent)
    }

    /// The same for many keys at once.
    pub(crate) fn get_many(&self, context: &TableContext, batch: &mut Batch<'_>) -> Result<()> {
        self.level0.tables.iter().try_for_each(|table| batch.ask_table(context, table))?;
        for run in &self.runs {
            if batch.is_done() {
                break;
            }
            batch.ask_run(context, run)?;
        }
        Ok(())
    }

    /// A source for each table of level 0 and for each run, newest first.
    pub(crate) fn push_sources(
        &self,
        context: &TableContext,
        sources: &mut Vec<Box<dyn Source>>,
    ) -> Result<()> {
        for table in &self.level0.tables {
            sources.push(Box::new(TableSource::new(table.get(context)?.into())));
        }
        for run in self.runs.iter().filter(|run| !run.tables().is_empty()) {
            sources.push(Box::new(RunSource::new(context.clone(), run.clone())));
        }
        Ok(())
    }

    /// Bytes of memory of the list and of what it knows of its tables, open tables apart.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let level0 = self.level0.memory_bytes() + (self.runs.capacity() * size_of::<Arc<Run>>()) as u64;
        let runs: u64 = self.runs.iter().map(|run| run.memory_bytes()).sum();
        let tables: u64 = self.tables().map(|table| table.memory_bytes()).sum();
        level0 + runs + tables
    }

    /// Sizes, level by level; levels above the first one with tables are left out at the end only.
    pub(crate) fn stats(&self) -> Vec<LevelStats> {
        if self.tables().next().is_none() {
            return Vec::new();
        }
        (0..=self.deepest()).map(|level| level_stats(level, self.level(level))).collect()
    }
}

impl Level0 {
    fn new(tables: Vec<Arc<TableHandle>>) -> Self {
        let smallest = tables.iter().map(|table| &table.meta.smallest).min();
        let largest = tables.iter().map(|table| &table.meta.largest).max();
        let boundary = smallest.zip(largest).map(|(smallest, largest)| (smallest.clone(), largest.clone()));
        let depth = tables.chunk_by(|a, b| a.meta.max_seq == b.meta.max_seq).count();
        Self { tables, boundary, depth }
    }

    /// The tables whose range holds the key.
    #[inline]
    fn tables_for(&self, key: &[u8]) -> impl Iterator<Item = &Arc<TableHandle>> {
        let holds = |(smallest, largest): &KeyRange| **smallest <= *key && *key <= **largest;
        let tables = if self.boundary.as_ref().is_some_and(holds) { &*self.tables } else { &[] };
        tables.iter().filter(move |table| table.may_hold(key))
    }

    fn memory_bytes(&self) -> u64 {
        let keys = self.boundary.as_ref().map_or(0, |(smallest, largest)| smallest.len() + largest.len());
        (self.tables.capacity() * size_of::<Arc<TableHandle>>() + keys) as u64
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
        if let Some(open) = table.opened() {
            stats.open_tables += 1;
            stats.handle_bytes += open.handle_bytes();
            stats.filter_bytes += open.filter_bytes();
            stats.mapped_bytes += open.mapped_bytes();
        }
    }
    stats
}
