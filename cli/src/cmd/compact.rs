//! `kiban compact`.

use clap::Args;
use kiban::Db;

use crate::args::{Global, StoreArgs};
use crate::exit::{Exit, Failure};

/// Rewrite the tables without what was overwritten or deleted
///
/// Without --keyspace all keyspaces are compacted. It needs as much free space as the largest keyspace has bytes.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  kiban compact store --keyspace places")]
pub(crate) struct CompactArgs {
    #[command(flatten)]
    store: StoreArgs,
}

impl CompactArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        let (db, keyspace) = self.store.open_for_writing(global)?;
        let before = table_bytes(&db);
        if self.store.keyspace.is_some() {
            keyspace.compact()?;
        } else {
            for name in db.keyspaces()? {
                db.keyspace(&name)?.compact()?;
            }
        }
        db.wait_idle()?;
        if !global.quiet {
            eprintln!("kiban: {before} bytes of tables before, {} after", table_bytes(&db));
        }
        db.close()?;
        Ok(Exit::Done)
    }
}

fn table_bytes(db: &Db) -> u64 {
    db.stats().keyspaces.iter().flat_map(|keyspace| &keyspace.levels).map(|level| level.bytes).sum()
}
