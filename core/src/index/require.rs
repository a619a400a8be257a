//! Rules that require their indexes: no table is published, or opened, without them.

use std::sync::Arc;

use crate::error::Result;
use crate::space::Space;
use crate::store::Store;
use crate::table::TableHandle;

use super::work::shape_of;

impl Store {
    /// Gives tables that are about to be published the indexes that a rule requires. A format that
    /// declines a table, or panics, keeps nobody from having it: `explain` says so.
    ///
    /// # Errors
    /// The system's: such a table is not published, and the flush or compaction is tried again.
    pub(crate) fn index_required<'t>(
        &self,
        space: &Space,
        tables: impl IntoIterator<Item = &'t Arc<TableHandle>>,
    ) -> Result<()> {
        required(space, tables).try_for_each(|table| self.try_index_table(space, table))
    }

    /// Gives the tables of a store that is being opened the indexes that a rule requires. What cannot
    /// be built is an event: data is not kept from whoever must see to the disk.
    ///
    /// # Errors
    /// Only that the store was closed.
    pub(crate) fn index_required_at_open(&self) -> Result<()> {
        for space in self.spaces() {
            let view = space.view_owned();
            required(&space, view.tables()).try_for_each(|table| self.index_table(&space, table))?;
        }
        Ok(())
    }
}

fn required<'t>(
    space: &Space,
    tables: impl IntoIterator<Item = &'t Arc<TableHandle>>,
) -> impl Iterator<Item = &'t Arc<TableHandle>> {
    let policy = arc_swap::Guard::into_inner(space.policy());
    tables.into_iter().filter(move |table| policy.rules.wanted(&shape_of(&table.meta)).require)
}
