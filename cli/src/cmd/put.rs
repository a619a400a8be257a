//! `kiban put`.

use std::io::{self, Read as _};

use clap::Args;
use kiban::{Durability, VALUE_BYTES_MAX};

use crate::args::{Bytes, Global, Operand, StoreArgs};
use crate::exit::{Exit, Failure};

/// Set a key to a value
///
/// Store and keyspace are made if they are missing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kiban put store CH/Bern/Bern '46.94809, 7.44744'
  kiban put store picture - < picture.png")]
pub(crate) struct PutArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// The key
    #[arg(value_name = "KEY", value_parser = Bytes::parser(), allow_negative_numbers = true)]
    key: Bytes,
    /// The value; `-` takes all bytes of standard input as they are
    #[arg(value_name = "VALUE", value_parser = Operand::parser(), allow_negative_numbers = true)]
    value: Operand,
    /// Return when the disk has it, not when the operating system has
    #[arg(long)]
    sync: bool,
}

impl PutArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        let value = match &self.value {
            Operand::Bytes(value) => value.clone(),
            Operand::Stdin => stdin()?,
        };
        let db = self.store.open_or_make(global)?;
        let keyspace = db.keyspace(self.store.keyspace_name())?;
        keyspace.put_with(&self.key.0, value, durability(self.sync))?;
        db.close()?;
        Ok(Exit::Done)
    }
}

/// What `--sync` asks for.
pub(super) fn durability(sync: bool) -> Durability {
    if sync { Durability::Sync } else { Durability::Buffered }
}

/// One byte more than a value may have is enough for the store to refuse it.
fn stdin() -> Result<Vec<u8>, Failure> {
    let mut value = Vec::new();
    let read = io::stdin().lock().take(VALUE_BYTES_MAX + 1).read_to_end(&mut value);
    read.map_err(|error| Failure::trouble(format!("cannot read standard input: {error}")))?;
    Ok(value)
}
