//! `kiban repair`.

use clap::Args;
use kiban::{RepairLoss, RepairReport};

use crate::args::{DirArgs, Global};
use crate::exit::{Exit, Failure};
use crate::output::{Table, TableFormat, print_report};

/// Make a store that does not open one that does
///
/// Keeps all that can be read, and prints which files could not be used and why. They are moved to `lost` in the
/// store's directory. A store without a fault is left as it is. The exit code is 1 if anything could not be used.
/// Names of keyspaces that are lost become `recovered-` and a number.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  kiban repair store --format json")]
pub(crate) struct RepairArgs {
    #[command(flatten)]
    store: DirArgs,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: TableFormat,
}

impl RepairArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        let report = self.store.builder(global).repair().map_err(|error| Failure::store(&error))?;
        print_report(self.format, &report, &table(&report))?;
        if !global.quiet {
            eprintln!("kiban: {}", summary(&report));
        }
        let unused = !report.tables_lost.is_empty() || !report.damage.is_empty();
        Ok(if unused { Exit::Finding } else { Exit::Done })
    }
}

fn summary(report: &RepairReport) -> String {
    if report.healthy {
        return "nothing is wrong, and nothing was changed".to_owned();
    }
    let RepairReport { tables_kept, tables_lost, records_from_log, keyspaces, moved, .. } = report;
    let from = if report.rebuilt { "rebuilt from its tables" } else { "repaired" };
    format!(
        "{from}: {} keyspaces, {tables_kept} tables kept, {} damaged or missing, {records_from_log} records from the log, {} files moved to `lost`",
        keyspaces.len(),
        tables_lost.len(),
        moved.len()
    )
}

fn table(report: &RepairReport) -> Table {
    let row = |loss: &RepairLoss| vec![loss.file.clone(), loss.entries_saved.to_string(), loss.what.clone()];
    let losses = report.damage.iter().chain(&report.tables_lost);
    Table { columns: &["file", "entries_saved", "what"], rows: losses.map(row).collect() }
}
