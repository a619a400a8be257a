//! Doing a compaction: merge, write, publish.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kiban_formats::manifest::Change;
use kiban_formats::{FileNo, Kind, Level, SeqNo};

use super::{Plan, overlapping};
use crate::error::Result;
use crate::event::Event;
use crate::index::expected_shape;
use crate::iter::merged;
use crate::levels::{Levels, LevelsChange};
use crate::output::{NewTable, Output};
use crate::retention::Retention;
use crate::run::{Run, RunSource};
use crate::source::{EntryRef, Source};
use crate::store::Store;
use crate::sync::lock;
use crate::table::TableHandle;
use crate::table::TableSource;

/// Entries between two looks at whether the store is being closed.
const ENTRIES_A_LOOK: u32 = 1024;

impl Store {
    /// Does a compaction.
    ///
    /// # Errors
    /// The tables are as they were before.
    pub(crate) fn compact_plan(&self, plan: &Plan) -> Result<()> {
        lock(&self.manifest).mend(|| self.new_file_no())?;
        let change = if plan.is_move() { moved(plan) } else { self.merge(plan)? };
        self.index_required(&plan.space, &change.added).inspect_err(|_| discard(plan, &change))?;
        let changes = manifest_changes(plan, &change, FileNo(self.next_file.load(Ordering::Relaxed)));
        let mut manifest = lock(&self.manifest);
        let is_there = |table: &Arc<TableHandle>| plan.space.view().levels.has(table.meta.no);
        if plan.space.is_dropped() || !plan.inputs.iter().all(is_there) {
            // Cleared or dropped meanwhile.
            drop(manifest);
            discard(plan, &change);
            return Ok(());
        }
        if let Err(error) = manifest.append(&changes, || self.new_file_no()) {
            if !plan.is_move() {
                manifest.abandon(change.added.iter().flat_map(|table| table.paths()));
            }
            return Err(error);
        }
        let replaced = plan.space.replace_tables(&change);
        drop(manifest);
        if !replaced {
            return self.forget_late(&plan.space, &change.added);
        }
        if !plan.is_move() {
            plan.inputs.iter().for_each(|table| table.make_obsolete());
        }
        self.listener.tell(|| Event::Compaction {
            keyspace: plan.space.name.clone(),
            inputs: plan.numbers().map(|no| no.0).collect(),
            outputs: change.added.iter().map(|table| table.meta.no.0).collect(),
            level: plan.output as u32,
        });
        Ok(())
    }

    fn merge(&self, plan: &Plan) -> Result<LevelsChange> {
        let (site, level) = (self.output_site(&plan.space), Level(plan.output as u8));
        let metas = plan.inputs.iter().map(|table| &table.meta);
        let expected = expected_shape(metas, level, site.table_bytes);
        let output = Output::new(site, plan.space.id, level);
        let mut output = output.collecting(self.collecting(&plan.space, expected));
        self.merge_into(plan, &mut output)?;
        let handle = |table: NewTable| TableHandle::written(table, self.files.clone());
        let added = output.finish()?.into_iter().map(handle).collect();
        Ok(LevelsChange { removed: plan.numbers().collect(), added })
    }

    fn merge_into(&self, plan: &Plan, output: &mut Output<'_>) -> Result<()> {
        let snapshots = self.snapshots.list();
        let oldest = snapshots.first().copied().unwrap_or(SeqNo::MAX);
        let mut retention = Retention::new(snapshots);
        let mut below = Below::new(&plan.levels, plan.output);
        let mut merge = merged(self.merge_sources(plan)?);
        merge.first()?;
        let mut until_look = ENTRIES_A_LOOK;
        while let Some(entry) = merge.entry() {
            let keep = retention.keeps(entry.key, entry.seq) && !is_spent(&entry, oldest, &mut below);
            if keep {
                output.add(entry)?;
            }
            until_look -= 1;
            if until_look == 0 {
                self.check_open()?;
                until_look = ENTRIES_A_LOOK;
            }
            merge.next()?;
        }
        Ok(())
    }

    /// A source for each input of level 0, and one for each run.
    fn merge_sources(&self, plan: &Plan) -> Result<Vec<Box<dyn Source>>> {
        let mut sources: Vec<Box<dyn Source>> = Vec::new();
        let of_level = |level: usize| {
            let inputs = plan.inputs.iter().filter(move |table| usize::from(table.meta.level.0) == level);
            inputs.cloned().collect::<Vec<_>>()
        };
        for table in of_level(0) {
            sources.push(Box::new(TableSource::new(table.get(&self.tables)?.into())));
        }
        for level in 1..=plan.levels.deepest().max(plan.output) {
            let run = of_level(level);
            if !run.is_empty() {
                sources.push(Box::new(RunSource::new(self.tables.clone(), Arc::new(Run::new(run)))));
            }
        }
        Ok(sources)
    }
}

/// Lets go of tables that no manifest names.
fn discard(plan: &Plan, change: &LevelsChange) {
    if !plan.is_move() {
        change.added.iter().for_each(|table| table.make_obsolete());
    }
}

fn moved(plan: &Plan) -> LevelsChange {
    let to = |table: &Arc<TableHandle>| Arc::new(table.moved(Level(plan.output as u8)));
    LevelsChange { removed: plan.numbers().collect(), added: plan.inputs.iter().map(to).collect() }
}

fn manifest_changes(plan: &Plan, change: &LevelsChange, next_file: FileNo) -> Vec<Change> {
    let keyspace = plan.space.id;
    if plan.is_move() {
        let level = Level(plan.output as u8);
        return plan.numbers().map(|no| Change::MoveTable { keyspace, no, level }).collect();
    }
    let removed = change.removed.iter().map(|no| Change::RemoveTable { keyspace, no: *no });
    let added = change.added.iter().map(|table| Change::AddTable { keyspace, table: table.meta.clone() });
    removed.chain(added).chain([Change::NextFile(next_file)]).collect()
}

/// A tombstone has nothing left to hide: every snapshot sees it, so no older version in the merge
/// is kept, and no deeper table can have the key.
fn is_spent(entry: &EntryRef<'_>, oldest_snapshot: SeqNo, below: &mut Below<'_>) -> bool {
    entry.kind == Kind::Delete && entry.seq <= oldest_snapshot && !below.may_hold(entry.key)
}

/// The levels below the output. All of them count, also one that is empty now and filled later:
/// the tables of a deeper level cannot become older ones of this key while the inputs are busy.
struct Below<'a> {
    /// The tables of each level that are not behind the last key asked for.
    runs: Vec<&'a [Arc<TableHandle>]>,
}

impl<'a> Below<'a> {
    fn new(levels: &'a Levels, output: usize) -> Self {
        Self { runs: (output + 1..=levels.deepest()).map(|level| levels.level(level)).collect() }
    }

    /// Whether some table has the key in its range. Keys rise from call to call.
    fn may_hold(&mut self, key: &[u8]) -> bool {
        self.runs.iter_mut().any(|run| {
            while run.first().is_some_and(|table| *table.meta.largest < *key) {
                *run = &run[1..];
            }
            overlapping(&run[..run.len().min(1)], key, key).next().is_some()
        })
    }
}
