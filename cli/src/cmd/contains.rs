//! `kiban contains`.

use clap::Args;

use super::keys::Keys;
use crate::args::{Global, Operand, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::output::Out;

/// Say whether keys are present
///
/// Of one key `true` or `false` is printed; of several, or of keys from standard input, `key TAB true` or
/// `key TAB false` a line. The exit code is 1 if one is absent.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  kiban contains store CH/Bern/Bern && echo there")]
pub(crate) struct ContainsArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// The keys; `-` reads them from standard input, a line each
    #[arg(value_name = "KEY", required = true, value_parser = Operand::parser(), allow_negative_numbers = true)]
    keys: Vec<Operand>,
    /// Print keys as hex whatever their bytes are
    #[arg(long)]
    hex: bool,
}

impl ContainsArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        let is_single = matches!(&self.keys[..], [Operand::Bytes(_)]);
        let mut keys = Keys::new(&self.keys)?;
        let (_db, keyspace) = self.store.open_for_reading(global)?;
        let mut out = Out::new();
        let mut exit = Exit::Done;
        while let Some(chunk) = keys.next_chunk()? {
            for key in &chunk {
                let is_there = keyspace.contains(key)?;
                let answer: &[u8] = if is_there { b"true" } else { b"false" };
                if is_single {
                    out.fields(&[answer], false)?;
                } else {
                    out.labelled(key, answer, self.hex)?;
                }
                exit = exit.max(if is_there { Exit::Done } else { Exit::Finding });
            }
        }
        out.finish()?;
        Ok(exit)
    }
}
