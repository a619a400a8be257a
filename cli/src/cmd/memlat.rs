//! `kiban memlat`.

use std::path::PathBuf;

use clap::Args;
use kiban_benches::memlat::{Latency, MemlatOptions, measure};

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::output::{Table, TableFormat, print_report};

/// Measure what this machine takes for a dependent load and for a read of 4 KiB
///
/// A lookup of an index is some loads, each of which waits for the one before: its time over a load's says how
/// many. Loads are of random lines of a working set; reads are at random places of a file of 64 MiB, which is
/// removed afterwards. Nanoseconds; the median of five rounds, the least and the greatest.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  kiban memlat --dir /srv/data --format json")]
pub(crate) struct MemlatArgs {
    /// Where the file is that is read [default: the directory for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The largest working set
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=16_384))]
    memory_mib: u32,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: TableFormat,
}

impl MemlatArgs {
    pub(crate) fn run(&self, _: Global<'_>) -> Result<Exit, Failure> {
        let mut options = MemlatOptions::default();
        options.memory_bytes_max = u64::from(self.memory_mib) << 20;
        if let Some(dir) = &self.dir {
            options.dir.clone_from(dir);
        }
        let all = measure(&options).map_err(|error| Failure::io("measure in", &options.dir, &error))?;
        print_report(self.format, &all, &table(&all))?;
        Ok(Exit::Done)
    }
}

fn table(all: &[Latency]) -> Table {
    let ns = |ns: Option<f64>| ns.map_or(String::new(), |ns| format!("{ns:.1}"));
    let row = |one: &Latency| {
        let bytes = one.working_set_bytes.to_string();
        let note = one.note.clone().unwrap_or_default();
        vec![one.step.to_owned(), bytes, ns(one.median_ns), ns(one.min_ns), ns(one.max_ns), note]
    };
    let columns = &["step", "working_set_bytes", "median_ns", "min_ns", "max_ns", "note"];
    Table { columns, rows: all.iter().map(row).collect() }
}
