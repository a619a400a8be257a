//! `kiban man`.

use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory as _};

use crate::args::{Cli, Global};
use crate::exit::{Exit, Failure};

/// Write man pages, one a command
///
/// The directory is made if it is missing; pages of the same name are overwritten.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  kiban man man1 && man man1/kiban-load.1")]
pub(crate) struct ManArgs {
    /// Where they go
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

impl ManArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        let failed = |error| Failure::io("write man pages to", &self.dir, &error);
        fs::create_dir_all(&self.dir).map_err(failed)?;
        clap_mangen::generate_to(Cli::command(), &self.dir).map_err(failed)?;
        if !global.quiet {
            eprintln!("kiban: man pages written to {}", self.dir.display());
        }
        Ok(Exit::Done)
    }
}
