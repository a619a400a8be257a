//! Compactions that a caller asks for.

use std::ops::Bound;
use std::sync::Arc;

use super::{Plan, range};
use crate::error::Result;
use crate::levels::Levels;
use crate::space::Space;
use crate::store::Store;
use crate::table::TableHandle;

impl Store {
    /// Flushes a keyspace, then rewrites all its tables that overlap the bounds into the deepest
    /// level there is, as one run: old versions and tombstones that no snapshot needs are gone.
    pub(crate) fn compact_range(
        &self,
        space: &Arc<Space>,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
    ) -> Result<()> {
        self.flush(std::slice::from_ref(space))?;
        let _alone = self.upkeep.stop_compactions_of(self, space)?;
        let levels = space.view().levels.clone();
        let inputs = closure(&levels, bounds);
        if inputs.is_empty() {
            return Ok(());
        }
        let is_whole = inputs.len() == levels.tables().count();
        let output = levels.deepest().max(1);
        let plan = Plan { space: space.clone(), inputs, output, levels, rewrite: true };
        let done = self.compact_plan(&plan);
        if is_whole && done.is_ok() {
            self.upkeep.cured(space);
        }
        // Level 0 is empty, and it may be that no job of the background follows.
        self.signal_room();
        done
    }
}

/// The tables that overlap the bounds, and those that overlap one of these, and so on: nothing of
/// a key stays above or beside what becomes its deepest version.
fn closure(levels: &Levels, (lower, upper): (Bound<&[u8]>, Bound<&[u8]>)) -> Vec<Arc<TableHandle>> {
    let above = |key: &[u8]| match lower {
        Bound::Included(bound) => key >= bound,
        Bound::Excluded(bound) => key > bound,
        Bound::Unbounded => true,
    };
    let below = |key: &[u8]| match upper {
        Bound::Included(bound) => key <= bound,
        Bound::Excluded(bound) => key < bound,
        Bound::Unbounded => true,
    };
    let tables: Vec<&Arc<TableHandle>> = levels.tables().collect();
    let mut taken: Vec<bool> =
        tables.iter().map(|table| above(&table.meta.largest) && below(&table.meta.smallest)).collect();
    loop {
        let inputs: Vec<_> = tables
            .iter()
            .zip(&taken)
            .filter(|(_, taken)| **taken)
            .map(|(table, _)| (*table).clone())
            .collect();
        let Some((smallest, largest)) = range(&inputs) else { return Vec::new() };
        let mut grew = false;
        for (table, taken) in tables.iter().zip(&mut taken) {
            if !*taken && table.overlaps(smallest, largest) {
                *taken = true;
                grew = true;
            }
        }
        if !grew {
            return inputs;
        }
    }
}
