//! `kiban get`.

use clap::Args;

use super::keys::Keys;
use crate::args::{Global, Operand, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::output::Out;
use crate::text::shown;

/// Print the values of keys
///
/// Of one key the value and a line end are printed; of several, or of keys from standard input, `key TAB value`
/// a line. Absent keys are named on standard error, and the exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kiban get store CH/Bern/Bern
  kiban get store hex:00ff --raw > value.bin
  cut -f 1 places.tsv | kiban get store -")]
pub(crate) struct GetArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// The keys; `-` reads them from standard input, a line each
    #[arg(value_name = "KEY", required = true, value_parser = Operand::parser(), allow_negative_numbers = true)]
    pub(crate) keys: Vec<Operand>,
    /// Print hex whatever the bytes are
    #[arg(long, conflicts_with = "raw")]
    hex: bool,
    /// Print the value of one key as it is, without a line end
    #[arg(long)]
    raw: bool,
}

impl GetArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        match &self.keys[..] {
            [Operand::Bytes(key)] => self.one(global, key),
            _ if self.raw => {
                Err(Failure::usage("--raw is for one key: several values could not be told apart"))
            }
            keys => self.several(global, Keys::new(keys)?),
        }
    }

    fn one(&self, global: Global<'_>, key: &[u8]) -> Result<Exit, Failure> {
        let (_db, keyspace) = self.store.open_for_reading(global)?;
        let Some(value) = keyspace.get(key)? else {
            return Err(Failure::finding(self.absent(key)));
        };
        let mut out = Out::new();
        if self.raw {
            out.raw(&value)?;
        } else {
            out.fields(&[&value], self.hex)?;
        }
        out.finish()?;
        Ok(Exit::Done)
    }

    fn several(&self, global: Global<'_>, mut keys: Keys) -> Result<Exit, Failure> {
        let (_db, keyspace) = self.store.open_for_reading(global)?;
        let mut out = Out::new();
        let mut exit = Exit::Done;
        while let Some(chunk) = keys.next_chunk()? {
            for (key, value) in chunk.iter().zip(keyspace.multi_get(&chunk)?) {
                match value {
                    Some(value) => out.fields(&[key, &value], self.hex)?,
                    None => {
                        eprintln!("kiban: {}", self.absent(key));
                        exit = Exit::Finding;
                    }
                }
            }
        }
        out.finish()?;
        Ok(exit)
    }

    fn absent(&self, key: &[u8]) -> String {
        format!("key `{}` is absent from keyspace `{}`", shown(key), self.store.keyspace_name())
    }
}
