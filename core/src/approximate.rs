//! Sizes without reading data pages: from the manifest's counts, the fences and the memtables.

use std::sync::Arc;

use kiban_formats::TableMeta;

use crate::error::Result;
use crate::iter::Bounds;
use crate::levels::Levels;
use crate::memtable::{KeyCounts, share};
use crate::sealed::Sealed;
use crate::space::Space;
use crate::store::Store;
use crate::table::TableHandle;

impl Store {
    /// Keys with a value, about.
    pub(crate) fn approximate_len(&self, space: &Space) -> u64 {
        let view = space.view();
        let Some(view) = view.at(self.visible()) else { return 0 };
        let tables = runs(&view.levels).map(|run| run.iter().map(|table| table_counts(&table.meta)).sum());
        let sealed = view.sealed.iter().map(|sealed| match sealed {
            Sealed::Memtable(memtable) => memtable.key_counts(),
            Sealed::Ingested(run) => run.tables().iter().map(|table| table_counts(&table.meta)).sum(),
        });
        let memtables = std::iter::once(view.active.key_counts()).chain(sealed);
        let newest_first: Vec<KeyCounts> = memtables.chain(tables).collect();
        // Each tombstone is taken to hide one key of what is older; in what is oldest it hides
        // nothing.
        newest_first.iter().rfold(0, |older: u64, counts| older.saturating_sub(counts.deleted) + counts.live)
    }

    /// Bytes of table files and memtables for the keys inside the bounds, about.
    pub(crate) fn approximate_bytes(&self, space: &Space, bounds: &Bounds) -> Result<u64> {
        let view = space.view();
        let Some(view) = view.at(self.visible()).filter(|_| !bounds.is_empty()) else { return Ok(0) };
        let memtables = view.memtables().map(|memtable| memtable.bytes_in(bounds)).sum::<u64>();
        view.tables().try_fold(memtables, |sum, table| Ok(sum + self.table_bytes_in(table, bounds)?))
    }

    fn table_bytes_in(&self, table: &TableHandle, bounds: &Bounds) -> Result<u64> {
        let TableMeta { smallest, largest, bytes, .. } = &table.meta;
        if bounds.starts_after(largest) || bounds.ends_before(smallest) {
            return Ok(0);
        }
        if !bounds.starts_after(smallest) && !bounds.ends_before(largest) {
            return Ok(*bytes);
        }
        let (part, parts) = table.get(&self.tables)?.share_of(bounds)?;
        Ok(share(*bytes, part, parts))
    }
}

/// Sorted runs, newest first: each table of level 0, then level after level.
fn runs(levels: &Levels) -> impl Iterator<Item = &[Arc<TableHandle>]> {
    levels.level(0).chunks(1).chain((1..=levels.deepest()).map(|level| levels.level(level)))
}

fn table_counts(meta: &TableMeta) -> KeyCounts {
    let deleted = meta.tombstones.min(meta.keys);
    KeyCounts { live: meta.keys - deleted, deleted }
}

impl std::iter::Sum for KeyCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |sum, counts| Self {
            live: sum.live + counts.live,
            deleted: sum.deleted + counts.deleted,
        })
    }
}
