//! `kiban levels`.

use std::collections::BTreeMap;

use clap::Args;
use kiban::{Keyspace, LevelStats, Residency, TableIndexReport};
use serde::Serialize;

use crate::args::{Global, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::output::{Table, TableFormat, print_report};

/// Print the levels of a store: tables, sizes, memory, indexes
///
/// A line a level that has tables, from 0 down; sizes are in bytes. Memory is that of this very command. Without
/// --keyspace all keyspaces are shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  kiban levels store --format markdown")]
pub(crate) struct LevelsArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: TableFormat,
}

/// A level of a keyspace.
#[derive(Debug, Serialize)]
struct Level {
    keyspace: String,
    #[serde(flatten)]
    stats: LevelStats,
    /// By name, the indexes that answer for its tables.
    accessors: BTreeMap<String, Active>,
}

/// Indexes of one format that answer for the tables of a level.
#[derive(Debug, Default, Serialize)]
struct Active {
    tables: u64,
    /// Of their files.
    bytes: u64,
    /// Of those in memory.
    resident_bytes: u64,
}

impl LevelsArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        let builder = self.store.builder(global).read_only(true);
        let db = builder.open().map_err(|error| Failure::store(&error))?;
        let mut levels = Vec::new();
        for keyspace in self.store.keyspaces(&db)? {
            let stats = db.stats().keyspaces.into_iter().find(|stats| stats.name == keyspace.name());
            let stats = stats.map_or(Vec::new(), |stats| stats.levels);
            levels.extend(self::levels(&keyspace, stats)?);
        }
        print_report(self.format, &levels, &table(&levels))?;
        Ok(Exit::Done)
    }
}

fn levels(keyspace: &Keyspace, stats: Vec<LevelStats>) -> Result<Vec<Level>, Failure> {
    let tables = keyspace.explain()?;
    let level = |stats: LevelStats| Level {
        keyspace: keyspace.name().to_owned(),
        accessors: active(tables.iter().filter(|table| table.level == stats.level)),
        stats,
    };
    Ok(stats.into_iter().filter(|level| level.tables > 0).map(level).collect())
}

fn active<'a>(tables: impl Iterator<Item = &'a TableIndexReport>) -> BTreeMap<String, Active> {
    let mut all: BTreeMap<String, Active> = BTreeMap::new();
    for table in tables {
        let active = all.entry(table.active.clone()).or_default();
        active.tables += 1;
        for sidecar in table.sidecars.iter().filter(|sidecar| sidecar.format == table.active) {
            active.bytes += sidecar.bytes;
            active.resident_bytes += if sidecar.residency == Residency::Resident { sidecar.bytes } else { 0 };
        }
    }
    all
}

fn table(levels: &[Level]) -> Table {
    let row = |level: &Level| {
        let stats = &level.stats;
        let numbers = [
            u64::from(stats.level),
            stats.tables,
            stats.bytes,
            stats.entries,
            stats.keys,
            stats.tombstones,
            stats.open_tables,
            stats.handle_bytes,
            stats.filter_bytes,
            stats.mapped_bytes,
            level.accessors.values().map(|active| active.resident_bytes).sum(),
        ];
        let accessors: Vec<String> =
            level.accessors.iter().map(|(name, active)| format!("{name} {}", active.tables)).collect();
        let numbers = numbers.map(|number| number.to_string());
        [level.keyspace.clone()].into_iter().chain(numbers).chain([accessors.join(", ")]).collect()
    };
    Table {
        columns: &[
            "keyspace",
            "level",
            "tables",
            "bytes",
            "entries",
            "keys",
            "tombstones",
            "open_tables",
            "handle_bytes",
            "filter_bytes",
            "mapped_bytes",
            "accessor_bytes",
            "accessors",
        ],
        rows: levels.iter().map(row).collect(),
    }
}
