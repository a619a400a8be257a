//! `kiban count`.

use clap::Args;

use super::scan::records;
use crate::args::{Global, RangeArgs, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::output::Out;

/// Print the number of keys
///
/// Every key is read; the number is exact.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  kiban count store --prefix CH/")]
pub(crate) struct CountArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    range: RangeArgs,
}

impl CountArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        let (_db, keyspace) = self.store.open_for_reading(global)?;
        let most = self.range.limit.unwrap_or(u64::MAX);
        let mut records = records(&keyspace, &self.range);
        let mut count = 0u64;
        while count < most
            && let Some(record) = records.next()
        {
            record?;
            count += 1;
        }
        let mut out = Out::new();
        out.raw(format!("{count}\n").as_bytes())?;
        out.finish()?;
        Ok(Exit::Done)
    }
}
