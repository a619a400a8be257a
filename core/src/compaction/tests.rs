//! Picking, on tables that are names only.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use kiban_formats::{FileNo, KeyspaceId, Level, SeqNo, TableId, TableMeta};

use super::*;
use crate::own_files::OwnFiles;
use crate::storage::MemStorage;
use crate::view::View;

fn table(no: u64, level: u8, range: (&str, &str), bytes: u64) -> Arc<TableHandle> {
    let meta = TableMeta {
        no: FileNo(no),
        level: Level(level),
        id: TableId([0; 16]),
        bytes,
        entries: 1,
        keys: 1,
        tombstones: 0,
        min_seq: SeqNo(1),
        max_seq: SeqNo(1),
        smallest: range.0.as_bytes().into(),
        largest: range.1.as_bytes().into(),
    };
    let files = OwnFiles::new(Arc::new(MemStorage::new(1)));
    Arc::new(TableHandle::new(meta, PathBuf::from("/none"), files))
}

fn space(tables: &[Arc<TableHandle>]) -> Arc<Space> {
    let levels = Levels::new(tables.iter().cloned());
    Arc::new(Space::new(1, KeyspaceId(0), "default".to_owned(), View::new(levels), SeqNo(0)))
}

fn settings() -> Settings {
    Settings { table_bytes: 100 << 10, memtable_bytes: 10 << 10, level0_tables: 4, ..Settings::default() }
}

fn picked(tables: &[Arc<TableHandle>], busy: &[u64]) -> Option<(Vec<u64>, usize, bool)> {
    let busy: HashSet<FileNo> = busy.iter().copied().map(FileNo).collect();
    let plan = pick(&space(tables), &settings(), &busy)?;
    Some((plan.numbers().map(|no| no.0).collect(), plan.output, plan.is_move()))
}

#[test]
fn level_0_is_merged_whole_with_what_it_overlaps() {
    let mut tables = vec![
        table(1, 1, ("a", "c"), 10),
        table(2, 1, ("x", "z"), 10),
        table(3, 0, ("b", "d"), 10),
        table(4, 0, ("e", "f"), 10),
        table(5, 0, ("d", "g"), 10),
    ];
    assert_eq!(picked(&tables, &[]), None);
    tables.push(table(6, 0, ("c", "h"), 10));
    assert_eq!(picked(&tables, &[]), Some((vec![6, 5, 4, 3, 1], 1, false)));
    assert_eq!(picked(&tables, &[1]), None);
    assert!(picked(&tables, &[2]).is_some());
}

#[test]
fn tables_of_level_0_that_overlap_nothing_move() {
    let tables: Vec<_> = [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")]
        .iter()
        .zip(1..)
        .map(|(range, no)| table(no, 0, *range, 10))
        .collect();
    assert_eq!(picked(&tables, &[]), Some((vec![4, 3, 2, 1], 1, true)));
}

#[test]
fn a_full_level_gives_the_table_that_overlaps_least() {
    let tables = [
        table(1, 1, ("a", "c"), 60 << 10),
        table(2, 1, ("d", "f"), 60 << 10),
        table(3, 2, ("a", "b"), 50 << 10),
        table(4, 2, ("e", "e"), 20 << 10),
    ];
    assert_eq!(picked(&tables, &[]), Some((vec![2, 4], 2, false)));
    assert_eq!(picked(&tables, &[4]), Some((vec![1, 3], 2, false)));
    assert_eq!(picked(&tables[..2], &[]).map(|(_, output, is_move)| (output, is_move)), Some((2, true)));
}
