//! `kiban scan`.

use clap::Args;
use kiban::{Iter, Keyspace};

use crate::args::{Global, RangeArgs, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::output::Out;

/// Print keys and values in key order
///
/// A line is `key TAB value`. `kiban load --format tsv` reads such lines back.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kiban scan store --prefix CH/ --limit 10
  kiban scan store --from a --to b --reverse --keys-only
  kiban scan store | kiban load copy -")]
pub(crate) struct ScanArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    range: RangeArgs,
    /// From the last key to the first
    #[arg(long)]
    reverse: bool,
    /// Print keys without values
    #[arg(long)]
    keys_only: bool,
    /// Print hex whatever the bytes are
    #[arg(long)]
    hex: bool,
}

impl ScanArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        let (_db, keyspace) = self.store.open_for_reading(global)?;
        let mut out = Out::new();
        let mut records = records(&keyspace, &self.range);
        let mut next = || if self.reverse { records.next_back() } else { records.next() };
        let mut left = self.range.limit.unwrap_or(u64::MAX);
        while left > 0 {
            let Some(record) = next() else { break };
            let (key, value) = record?;
            let fields: [&[u8]; 2] = [&key, &value];
            out.fields(if self.keys_only { &fields[..1] } else { &fields }, self.hex)?;
            left -= 1;
        }
        out.finish()?;
        Ok(Exit::Done)
    }
}

/// The records that were asked for, without regard to the limit.
pub(super) fn records(keyspace: &Keyspace, range: &RangeArgs) -> Iter {
    keyspace.range::<Vec<u8>, _>(range.bounds())
}
