//! `kiban restore`.

use std::path::PathBuf;

use clap::Args;

use super::load::LoadArgs;
use crate::args::{Global, StoreArgs};
use crate::exit::{Exit, Failure};

/// Load what `kiban dump` has written
///
/// A file is read twice: a dump that was cut or damaged changes nothing. Standard input is read once; what came before
/// the damage stays loaded. Records that are there already stay, with the dump's values where the keys are the same.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  kiban restore copy store.bin.zst")]
pub(crate) struct RestoreArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// The dump, plain, gzip or zstd; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Each batch is on the disk before the next one is written
    #[arg(long)]
    sync: bool,
}

impl RestoreArgs {
    pub(crate) fn run(self, global: Global<'_>) -> Result<Exit, Failure> {
        LoadArgs::of_dump(self.store, self.file, self.sync).run(global)
    }
}
