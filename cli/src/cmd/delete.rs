//! `kiban delete`.

use clap::Args;
use kiban::WriteBatch;

use super::keys::Keys;
use super::put::durability;
use crate::args::{Global, Operand, StoreArgs};
use crate::exit::{Exit, Failure};

/// Remove keys
///
/// Removing a key that is absent is no error. Keys of the command line are removed all or none; of standard
/// input 1,000 at a time.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kiban delete store CH/Bern/Bern
  cut -f 1 places.tsv | kiban delete store -")]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// The keys; `-` reads them from standard input, a line each
    #[arg(value_name = "KEY", required = true, value_parser = Operand::parser(), allow_negative_numbers = true)]
    keys: Vec<Operand>,
    /// Return when the disk has it, not when the operating system has
    #[arg(long)]
    sync: bool,
}

impl DeleteArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        let mut keys = Keys::new(&self.keys)?;
        // Before the store is opened, so that refused keys change nothing, and so that a short
        // `kiban scan` of this store at the other end of the pipe has ended.
        let mut chunk = keys.next_chunk()?;
        let (db, keyspace) = self.store.open_for_writing(global)?;
        while let Some(keys_now) = chunk {
            let mut batch = WriteBatch::new();
            keys_now.iter().for_each(|key| batch.delete(&keyspace, key));
            db.write_with(batch, durability(self.sync))?;
            chunk = keys.next_chunk()?;
        }
        db.close()?;
        Ok(Exit::Done)
    }
}
