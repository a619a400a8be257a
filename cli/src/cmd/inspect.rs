//! `kiban inspect`.

use std::path::PathBuf;

use clap::Args;
use kiban::inspect::{InspectError, Options, inspect};

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::output::Out;

/// Print a file of a store: offset, bytes, meaning
///
/// Reads tables (`.sst`), logs (`.log`), manifests, the pointer file `CURRENT` and accessor files; what a file is,
/// its first bytes say. It needs no store around it and takes no lock. Of a table the sections and a line a
/// page are printed; --page and --entries show more.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kiban inspect store/CURRENT
  kiban inspect store/00000003.sst --page 0
  kiban inspect store/00000002.log --entries | less")]
pub(crate) struct InspectArgs {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only the data page that begins at unit N of 4 KiB, in full
    #[arg(long, value_name = "N")]
    page: Option<u32>,
    /// Every entry of a table, every operation of a log
    #[arg(long, conflicts_with = "page")]
    entries: bool,
}

impl InspectArgs {
    pub(crate) fn run(&self, _global: Global<'_>) -> Result<Exit, Failure> {
        let options = Options::new().page(self.page).entries(self.entries);
        let mut out = Out::new();
        match inspect(&self.file, options, out.stream()) {
            Ok(()) => {}
            Err(InspectError::Output(error)) => return Err(Failure::stdout(&error)),
            Err(InspectError::File(error)) => {
                // What could be read goes before the sentence that says what could not.
                out.finish()?;
                return Err(error.into());
            }
        }
        out.finish()?;
        Ok(Exit::Done)
    }
}
