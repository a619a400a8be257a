//! Other stores, used as their own documentation says, on the same records.
//!
//! | control | reads | `Buffered` put | `Sync` put |
//! |---|---|---|---|
//! | LMDB | its memory map | a transaction, committed with `MDB_NOSYNC`: `pwrite`, no sync | a transaction, committed with its default: `fdatasync` |
//! | SQLite | its memory map and page cache | an autocommitted statement, `synchronous=NORMAL`: written to the log, no sync | the same, `synchronous=FULL`: `fdatasync` of the log |
//! | redb | `pread` into its cache | a transaction, `Durability::None`: no sync, kept in memory | a transaction, `Durability::Immediate`: `fdatasync` |
//! | fjall | its block cache, of the same bytes as Kiban's | `insert`, which writes its journal to the system before it returns | `insert`, then `persist(SyncData)`: `fdatasync` |
//!
//! Every answer is copied, as Kiban's is.

mod fjall_store;
mod lmdb;
mod redb_store;
mod sqlite;

use std::ops::RangeInclusive;
use std::path::Path;

use super::load::Load;
use super::{Opening, Store};
use crate::answers::Answers;
use crate::keys::KeySet;
use crate::machine::expect_random_reads;
use crate::plan::{Plan, Stage};

/// Another store than Kiban, as it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// LMDB, one read transaction a call.
    Lmdb,
    /// LMDB, one read transaction for all calls.
    LmdbReusedTxn,
    /// SQLite.
    Sqlite,
    /// fjall.
    Fjall,
    /// redb.
    Redb,
}

impl Control {
    /// Its name in reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Lmdb => "control:lmdb",
            Self::LmdbReusedTxn => "control:lmdb-reused-txn",
            Self::Sqlite => "control:sqlite",
            Self::Fjall => "control:fjall",
            Self::Redb => "control:redb",
        }
    }

    /// Loads records into a new store and closes it.
    pub(super) fn build(self, dir: &Path, load: &Load<'_>) -> Result<(), String> {
        check_keys(load.set, self.key_bytes())?;
        match self {
            Self::Lmdb | Self::LmdbReusedTxn => lmdb::build(dir, load),
            Self::Sqlite => sqlite::build(dir, load),
            Self::Fjall => fjall_store::build(dir, load),
            Self::Redb => redb_store::build(dir, load),
        }
    }

    /// Opens a store; a new one if there is none.
    pub(super) fn open(self, dir: &Path, opening: Opening) -> Result<Box<dyn Store>, String> {
        match self {
            Self::Lmdb => lmdb::open(dir, self.name(), opening, lmdb::Reading::TxnPerCall),
            Self::LmdbReusedTxn => lmdb::open(dir, self.name(), opening, lmdb::Reading::OneTxn),
            Self::Sqlite => sqlite::open(dir, self.name(), opening),
            Self::Fjall => fjall_store::open(dir, self.name(), opening),
            Self::Redb => redb_store::open(dir, self.name(), opening),
        }
    }

    /// Lengths of keys that it takes.
    const fn key_bytes(self) -> RangeInclusive<usize> {
        match self {
            Self::Lmdb | Self::LmdbReusedTxn => 1..=511,
            Self::Fjall => 1..=65_535,
            Self::Sqlite | Self::Redb => 0..=1 << 29,
        }
    }
}

fn check_keys(set: &dyn KeySet, takes: RangeInclusive<usize>) -> Result<(), String> {
    let mut key = Vec::new();
    for rank in 0..set.len() {
        key.clear();
        set.key(rank, &mut key);
        if !takes.contains(&key.len()) {
            let (len, least, most) = (key.len(), takes.start(), takes.end());
            return Err(format!("a key of the input has {len} bytes; allowed are {least} to {most}"));
        }
    }
    Ok(())
}

/// Says of the files that a store has opened by itself that they are read at random, if they are.
fn advise(dir: &Path, opening: Opening) -> Result<(), String> {
    if opening.warmth.is_advised() {
        expect_random_reads(dir).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Appends the value of a key, or its absence.
fn push(value: Option<impl AsRef<[u8]>>, answers: &mut Answers) {
    match value {
        Some(value) => answers.push_value(value.as_ref()),
        None => answers.push_absent(),
    }
}

/// How a store is read.
trait Reads {
    type Error;

    /// Appends the value of a key, or its absence.
    fn get(&self, key: &[u8], answers: &mut Answers) -> Result<(), Self::Error>;

    /// Appends the greatest records from `lower` on that are below `upper`, greatest first.
    fn latest(&self, lower: &[u8], upper: &[u8], answers: &mut Answers) -> Result<(), Self::Error>;

    /// Appends the least records from a key on, least first.
    fn scan_from(&self, from: &[u8], answers: &mut Answers) -> Result<(), Self::Error>;
}

/// Answers one call by single gets or a scan.
#[inline]
fn answer<R: Reads>(reads: &R, plan: &Plan, call: usize, answers: &mut Answers) -> Result<(), R::Error> {
    let keys = plan.keys(call);
    match plan.stage {
        Stage::Point | Stage::Miss | Stage::Multiget => {
            keys.iter().try_for_each(|key| reads.get(key, answers))
        }
        Stage::Latest => reads.latest(&keys[0], &keys[1], answers),
        Stage::Scan => reads.scan_from(&keys[0], answers),
    }
}
