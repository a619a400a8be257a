//! `kiban verify`.

use clap::Args;
use kiban::{VerifyProblem, VerifyReport};

use crate::args::{DirArgs, Global};
use crate::exit::{Exit, Failure};
use crate::output::{Table, TableFormat, print_report};

/// Check every byte of a store
///
/// Reads every file, checks every checksum and every invariant, and prints what is wrong: file, section, byte
/// offset. The exit code is 3 if anything is.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  kiban verify store && kiban checkpoint store backup")]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    store: DirArgs,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: TableFormat,
}

impl VerifyArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        let report = self.store.open_for_reading(global)?.verify()?;
        print_report(self.format, &report, &table(&report))?;
        if !global.quiet {
            let VerifyReport { files, bytes, problems, .. } = &report;
            eprintln!("kiban: {files} files, {bytes} bytes, {} problems", problems.len());
        }
        Ok(if report.is_clean() { Exit::Done } else { Exit::Trouble })
    }
}

fn table(report: &VerifyReport) -> Table {
    let row = |problem: &VerifyProblem| {
        let VerifyProblem { file, section, offset, what, .. } = problem.clone();
        vec![file, section, offset.to_string(), what]
    };
    Table { columns: &["file", "section", "offset", "what"], rows: report.problems.iter().map(row).collect() }
}
