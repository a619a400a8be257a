//! Levels for tables of which only ranges of keys and sequences are known.
//!
//! Tables are grouped so that no key is in two groups. A table alone can be in level 1. Where of
//! any two tables of a group that share keys all of one is newer than all of the other, they are in
//! level 0, in that order. Else the group is merged into level 1: no order of the tables would be
//! right for all keys.

use std::sync::Arc;

use kiban_formats::{KeyspaceId, Kind, Level, TableMeta};

use crate::error::Result;
use crate::files;
use crate::iter::merged;
use crate::output::{Output, OutputSite};
use crate::retention::Retention;
use crate::source::Source;
use crate::table::{Table, TableContext, TableSource};

/// Puts the tables of a keyspace into levels.
pub(super) struct Placer<'a> {
    pub(super) site: OutputSite<'a>,
    pub(super) context: &'a TableContext,
    pub(super) keyspace: KeyspaceId,
}

impl Placer<'_> {
    /// In the order of a manifest: of two tables of level 0 the later one is newer.
    pub(super) fn place(&self, tables: Vec<TableMeta>) -> Result<Vec<TableMeta>> {
        let mut placed = Vec::new();
        for mut group in groups(tables) {
            group.sort_by_key(|table| (table.min_seq, table.max_seq, table.no));
            if group.len() > 1 && !is_ordered(&group) {
                placed.extend(self.merge(&group)?);
                continue;
            }
            let level = Level(u8::from(group.len() == 1));
            placed.extend(group.into_iter().map(|table| TableMeta { level, ..table }));
        }
        Ok(placed)
    }

    /// The newest version of each key. All there is of these keys is in the group, so tombstones
    /// have nothing left to hide.
    fn merge(&self, group: &[TableMeta]) -> Result<Vec<TableMeta>> {
        let mut sources: Vec<Box<dyn Source>> = Vec::new();
        for table in group.iter().rev() {
            let path = self.site.dir.join(files::table(table.no));
            sources.push(Box::new(TableSource::new(Arc::new(Table::open(self.context, &path, table)?))));
        }
        let mut output = Output::new(self.site, self.keyspace, Level(1));
        let mut retention = Retention::new(Vec::new());
        let mut merge = merged(sources);
        merge.first()?;
        while let Some(entry) = merge.entry() {
            if retention.keeps(entry.key, entry.seq) && entry.kind == Kind::Put {
                output.add(entry)?;
            }
            merge.next()?;
        }
        Ok(output.finish()?.into_iter().map(|table| table.meta).collect())
    }
}

/// Tables that share keys, also by way of others, are in one group.
fn groups(mut tables: Vec<TableMeta>) -> Vec<Vec<TableMeta>> {
    tables.sort_by(|a, b| a.smallest.cmp(&b.smallest));
    let mut groups: Vec<Vec<TableMeta>> = Vec::new();
    let mut largest: Box<[u8]> = Box::default();
    for table in tables {
        let shares = table.smallest <= largest;
        largest = if shares { largest.max(table.largest.clone()) } else { table.largest.clone() };
        match groups.last_mut().filter(|_| shares) {
            Some(group) => group.push(table),
            None => {
                largest = table.largest.clone();
                groups.push(vec![table]);
            }
        }
    }
    groups
}

/// Whether the order by sequence is right for every key.
fn is_ordered(group: &[TableMeta]) -> bool {
    let share = |a: &TableMeta, b: &TableMeta| a.smallest <= b.largest && b.smallest <= a.largest;
    group.iter().enumerate().all(|(no, older)| {
        group[no + 1..].iter().all(|newer| !share(older, newer) || older.max_seq < newer.min_seq)
    })
}
