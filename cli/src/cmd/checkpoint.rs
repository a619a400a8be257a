//! `kiban checkpoint`.

use std::path::PathBuf;

use clap::Args;

use crate::args::{DirArgs, Global};
use crate::exit::{Exit, Failure};

/// Make a second store that shares this one's files
///
/// It holds all records that this one holds; indexes are not taken, its first opening for writing builds them. Files are hard links where the file system has them, else copies; neither
/// store changes what they share. DIR must not exist.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  kiban checkpoint store backup/monday")]
pub(crate) struct CheckpointArgs {
    #[command(flatten)]
    store: DirArgs,
    /// The directory to make
    #[arg(value_name = "DIR")]
    target: PathBuf,
}

impl CheckpointArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        self.store.open_for_reading(global)?.checkpoint(&self.target)?;
        Ok(Exit::Done)
    }
}
