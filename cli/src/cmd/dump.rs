//! `kiban dump`.

use std::io::{self, IsTerminal as _};

use clap::Args;

use crate::args::{Global, StoreArgs};
use crate::dump::DumpWriter;
use crate::exit::{Exit, Failure};
use crate::output::Out;

/// Write all records to standard output, any bytes exactly
///
/// The format is `bin`: `kiban restore` and `kiban load --format bin` read it. It ends with the number of records and
/// a checksum, so that a dump that was cut is refused.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  kiban dump store | zstd > store.bin.zst")]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    store: StoreArgs,
}

impl DumpArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        if io::stdout().is_terminal() {
            return Err(Failure::usage("a dump is no text: send standard output to a file or a program"));
        }
        let (_db, keyspace) = self.store.open_for_reading(global)?;
        let mut out = Out::new();
        let written = |error: io::Error| Failure::stdout(&error);
        let mut dump = DumpWriter::new(out.stream()).map_err(written)?;
        for record in keyspace.iter() {
            let (key, value) = record?;
            dump.record(&key, &value).map_err(written)?;
        }
        let records = dump.finish().map_err(written)?;
        out.finish()?;
        if !global.quiet {
            eprintln!("kiban: {records} records dumped");
        }
        Ok(Exit::Done)
    }
}
