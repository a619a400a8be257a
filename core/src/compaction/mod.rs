//! Leveled compaction: what is merged when, and into which level.
//!
//! Level 0 is compacted when it has `level0_tables` tables, all of them at once, into level 1. A
//! deeper level is compacted when it has more bytes than its target; of its tables the one is
//! taken that overlaps the least of the next level. Level 1 may have as many bytes as make up a
//! full level 0, each further level `level_ratio` times more, the last one any number. Tables
//! that overlap nothing move as they are.

mod manual;
mod merge;
mod place;
#[cfg(test)]
mod tests;

pub(crate) use place::level_of_ingested;

use std::collections::HashSet;
use std::sync::Arc;

use kiban_formats::FileNo;

use crate::levels::{LEVELS_MAX, Levels};
use crate::settings::Settings;
use crate::space::Space;
use crate::table::TableHandle;

/// A compaction to be done.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) space: Arc<Space>,
    /// The tables to merge, newer ones before older ones.
    pub(crate) inputs: Vec<Arc<TableHandle>>,
    /// The level that the result goes to.
    pub(crate) output: usize,
    /// The tables of the keyspace when it was planned.
    pub(crate) levels: Arc<Levels>,
    /// Tables are written anew even where they could move as they are.
    pub(crate) rewrite: bool,
}

impl Plan {
    /// Nothing has to be merged: no two inputs overlap, and none is in the output level.
    pub(crate) fn is_move(&self) -> bool {
        let above = self.inputs.iter().all(|table| usize::from(table.meta.level.0) < self.output);
        !self.rewrite && above && are_apart(&self.inputs)
    }

    /// The numbers of the tables to merge.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = FileNo> {
        self.inputs.iter().map(|table| table.meta.no)
    }
}

fn are_apart(tables: &[Arc<TableHandle>]) -> bool {
    let mut sorted: Vec<&Arc<TableHandle>> = tables.iter().collect();
    sorted.sort_by(|a, b| a.meta.smallest.cmp(&b.meta.smallest));
    sorted.windows(2).all(|pair| pair[0].meta.largest < pair[1].meta.smallest)
}

/// The compaction that a keyspace needs most and that touches no busy table.
pub(crate) fn pick(space: &Arc<Space>, settings: &Settings, busy: &HashSet<FileNo>) -> Option<Plan> {
    let levels = space.view().levels.clone();
    let mut scores: Vec<(f64, usize)> = (0..LEVELS_MAX - 1)
        .map(|level| (score(&levels, level, settings), level))
        .filter(|(score, _)| *score >= 1.0)
        .collect();
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    let inputs = scores.iter().find_map(|(_, level)| {
        let inputs = if *level == 0 { all_of_level0(&levels) } else { least_overlap(&levels, *level, busy) };
        let free = inputs.iter().all(|table| !busy.contains(&table.meta.no));
        (free && !inputs.is_empty()).then_some((inputs, level + 1))
    });
    inputs.map(|(inputs, output)| Plan { space: space.clone(), inputs, output, levels, rewrite: false })
}

/// How full a level is; 1 and above: to be compacted.
fn score(levels: &Levels, level: usize, settings: &Settings) -> f64 {
    let tables = levels.level(level);
    if level == 0 {
        return tables.len() as f64 / f64::from(settings.level0_tables);
    }
    let bytes: u64 = tables.iter().map(|table| table.meta.bytes).sum();
    bytes as f64 / target_bytes(level, settings)
}

fn target_bytes(level: usize, settings: &Settings) -> f64 {
    let level0 = settings.memtable_seal_bytes() as f64 * f64::from(settings.level0_tables);
    let base = level0.max(settings.table_bytes as f64);
    base * f64::from(settings.level_ratio).powi(level as i32 - 1)
}

fn all_of_level0(levels: &Levels) -> Vec<Arc<TableHandle>> {
    let mut inputs = levels.level(0).to_vec();
    let overlapped: Vec<_> = match range(&inputs) {
        Some((smallest, largest)) => overlapping(levels.level(1), smallest, largest).cloned().collect(),
        None => Vec::new(),
    };
    inputs.extend(overlapped);
    inputs
}

fn least_overlap(levels: &Levels, level: usize, busy: &HashSet<FileNo>) -> Vec<Arc<TableHandle>> {
    let with_overlap = |table: &Arc<TableHandle>| {
        let (smallest, largest) = (&table.meta.smallest, &table.meta.largest);
        let next: Vec<_> = overlapping(levels.level(level + 1), smallest, largest).cloned().collect();
        let bytes: u64 = next.iter().map(|table| table.meta.bytes).sum();
        let ratio = bytes as f64 / table.meta.bytes as f64;
        let inputs: Vec<_> = std::iter::once(table.clone()).chain(next).collect();
        let free = inputs.iter().all(|table| !busy.contains(&table.meta.no));
        free.then_some((ratio, inputs))
    };
    let choices = levels.level(level).iter().filter_map(with_overlap);
    choices.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, inputs)| inputs).unwrap_or_default()
}

/// The smallest and the largest key of some tables.
fn range(tables: &[Arc<TableHandle>]) -> Option<(&[u8], &[u8])> {
    let smallest = tables.iter().map(|table| &*table.meta.smallest).min()?;
    let largest = tables.iter().map(|table| &*table.meta.largest).max()?;
    Some((smallest, largest))
}

fn overlapping<'a>(
    tables: &'a [Arc<TableHandle>],
    smallest: &'a [u8],
    largest: &'a [u8],
) -> impl Iterator<Item = &'a Arc<TableHandle>> {
    tables.iter().filter(move |table| table.overlaps(smallest, largest))
}
