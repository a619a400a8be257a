//! `kiban explain`.

use std::path::PathBuf;

use clap::Args;
use kiban::{Residency, SidecarReport, TableIndexReport};

use crate::args::{Global, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::output::{Table, TableFormat, print_report};
use crate::policy;

/// Largest cache in MiB: the engine refuses more.
const CACHE_MIB_MAX: u64 = kiban::defaults::BYTES_MAX >> 20;

/// Print which index each table has, and why
///
/// A line a table: the index that answers, what stands beside the table, the rule of the policy that matched, and
/// the reason in words and numbers. With --policy and --cache-mib it tells what another policy or budget would
/// choose, of the indexes that are there; nothing is changed. Without --keyspace all keyspaces are shown.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kiban explain store
  kiban explain store --policy policy.toml --cache-mib 32")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Decide by the policy in this file, not by those of the store
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Decide for a cache of so many MiB [default: 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=CACHE_MIB_MAX))]
    cache_mib: Option<u64>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: TableFormat,
}

impl ExplainArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        let mut builder = self.store.builder(global).read_only(true);
        if let Some(file) = &self.policy {
            builder = builder.index_policy_of_all(policy::read(file, global)?);
        }
        if let Some(mib) = self.cache_mib {
            builder = builder.cache_bytes(mib << 20);
        }
        let db = builder.open().map_err(|error| Failure::store(&error))?;
        let mut tables = Vec::new();
        for keyspace in self.store.keyspaces(&db)? {
            tables.extend(keyspace.explain()?);
        }
        print_report(self.format, &tables, &table(&tables))?;
        Ok(Exit::Done)
    }
}

fn table(tables: &[TableIndexReport]) -> Table {
    let row = |table: &TableIndexReport| {
        let sidecars: Vec<String> = table.sidecars.iter().map(sidecar).collect();
        vec![
            table.keyspace.clone(),
            table.level.to_string(),
            table.table.to_string(),
            table.bytes.to_string(),
            table.keys.to_string(),
            table.active.clone(),
            sidecars.join(", "),
            table.rule.clone(),
            table.reason.clone(),
        ]
    };
    let columns = &["keyspace", "level", "table", "bytes", "keys", "active", "sidecars", "rule", "reason"];
    Table { columns, rows: tables.iter().map(row).collect() }
}

/// As `ph4 active resident 4096`: name, state, where it is kept, bytes; what does not hold is left out.
fn sidecar(sidecar: &SidecarReport) -> String {
    let kept = match sidecar.residency {
        Residency::Resident => " resident",
        Residency::Mapped => " mapped",
        Residency::Auto | Residency::Off => "",
    };
    let bytes = if sidecar.bytes > 0 { format!(" {}", sidecar.bytes) } else { String::new() };
    format!("{} {}{kept}{bytes}", sidecar.format, sidecar.state)
}
