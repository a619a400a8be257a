//! The level that ingested tables go to.

use super::target_bytes;
use crate::levels::{LEVELS_MAX, Levels};
use crate::run::Run;
use crate::settings::Settings;

/// The deepest level that they can go to, so that they need not be merged down: neither it nor one
/// above has a key in their ranges. Below the tables there are only as deep as they are large. No
/// compaction of the keyspace may run, and what is in memory must be younger.
pub(crate) fn level_of_ingested(levels: &Levels, ingested: &Run, settings: &Settings) -> usize {
    let is_free = |level: usize| {
        let mut tables = levels.level(level).iter();
        !tables.any(|table| ingested.overlaps(&table.meta.smallest, &table.meta.largest))
    };
    if !is_free(0) || !is_free(1) {
        return 0;
    }
    let bytes: u64 = ingested.tables().iter().map(|table| table.meta.bytes).sum();
    let goes_on = |level: usize| level < levels.deepest() || bytes as f64 > target_bytes(level, settings);
    let mut level = 1;
    while level + 1 < LEVELS_MAX && goes_on(level) && is_free(level + 1) {
        level += 1;
    }
    level
}
