//! LMDB. One of the named `unsafe` modules: opening a memory map is, whoever does it.

use std::error::Error;
use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, PutFlags, RoTxn, WithTls};
use kiban::Durability;

use super::super::{Engine, Layout, Load, MakeReader, Opening, Sizes, Store};
use super::{Reads, answer, push};
use crate::answers::Answers;
use crate::plan::{LATEST_RECORDS, Plan, SCAN_RECORDS};

/// Bytes of addresses; the file is no longer than its data.
const MAP_BYTES: usize = 1 << 38;
/// LMDB's name for its data.
const DATA_FILE: &str = "data.mdb";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How read transactions are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// One a call.
    TxnPerCall,
    /// One for as long as the store is open; it does not see what is written meanwhile.
    OneTxn,
}

struct Lmdb {
    name: &'static str,
    reading: Reading,
    /// The transaction of all reads, if there is one. Ends before `env`.
    txn: Option<RoTxn<'static, WithTls>>,
    records: Database<Bytes, Bytes>,
    env: Env,
    table_bytes: Option<u64>,
}

/// Loads records into a new store.
pub(super) fn build(dir: &Path, load: &Load<'_>) -> std::result::Result<(), String> {
    build_inner(dir, load).map_err(|error| error.to_string())
}

fn build_inner(dir: &Path, load: &Load<'_>) -> Result<()> {
    let (env, records) = open_env(dir, EnvFlags::NO_SYNC)?;
    let flags = match load.layout {
        Layout::Bulk => PutFlags::APPEND,
        Layout::Normal => PutFlags::empty(),
    };
    load.in_batches(|batch| {
        let mut txn = env.write_txn()?;
        for (key, value) in &batch.records {
            records.put_with_flags(&mut txn, flags, key, value)?;
        }
        txn.commit()
    })?;
    Ok(env.force_sync()?)
}

/// Opens a store; a new one if there is none.
pub(super) fn open(
    dir: &Path,
    name: &'static str,
    opening: Opening,
    reading: Reading,
) -> std::result::Result<Box<dyn Store>, String> {
    let opened = || -> Result<Lmdb> {
        let (env, records) = open_env(dir, flags_of(opening))?;
        let txn = reading.begin(&env)?;
        let table_bytes = dir.join(DATA_FILE).metadata().ok().map(|data| data.len());
        Ok(Lmdb { name, reading, txn, records, env, table_bytes })
    };
    opened().map(|store| Box::new(store) as Box<dyn Store>).map_err(|error| error.to_string())
}

fn flags_of(opening: Opening) -> EnvFlags {
    let mut flags = EnvFlags::empty();
    flags.set(EnvFlags::NO_SYNC, opening.durability == Durability::Buffered);
    // Else a page fault reads up to 8 MiB of the map.
    flags.set(EnvFlags::NO_READ_AHEAD, opening.warmth.is_advised());
    flags
}

fn open_env(dir: &Path, flags: EnvFlags) -> Result<(Env, Database<Bytes, Bytes>)> {
    std::fs::create_dir_all(dir)?;
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES);
    // SAFETY: the directory is inside the run's own temporary directory: nobody else writes the
    // mapped file. `NO_SYNC` costs data after a power cut, as `Buffered` allows; after the death
    // of the process the run's data is not opened again.
    let env = unsafe {
        options.flags(flags);
        options.open(dir)?
    };
    let mut txn = env.write_txn()?;
    let records = env.create_database(&mut txn, None)?;
    txn.commit()?;
    Ok((env, records))
}

impl Reading {
    /// The transaction of all reads of this thread, if there is one.
    fn begin(self, env: &Env) -> heed::Result<Option<RoTxn<'static, WithTls>>> {
        match self {
            Self::OneTxn => Ok(Some(env.clone().static_read_txn()?)),
            Self::TxnPerCall => Ok(None),
        }
    }
}

/// Reads in one transaction.
struct InTxn<'a> {
    txn: &'a RoTxn<'a>,
    records: Database<Bytes, Bytes>,
}

impl Reads for InTxn<'_> {
    type Error = heed::Error;

    #[inline]
    fn get(&self, key: &[u8], answers: &mut Answers) -> heed::Result<()> {
        push(self.records.get(self.txn, key)?, answers);
        Ok(())
    }

    fn latest(&self, lower: &[u8], upper: &[u8], answers: &mut Answers) -> heed::Result<()> {
        let group = (Bound::Included(lower), Bound::Excluded(upper));
        for record in self.records.rev_range(self.txn, &group)?.take(LATEST_RECORDS) {
            let (key, value) = record?;
            answers.push_pair(key, value);
        }
        Ok(())
    }

    fn scan_from(&self, from: &[u8], answers: &mut Answers) -> heed::Result<()> {
        let rest = (Bound::Included(from), Bound::Unbounded);
        for record in self.records.range(self.txn, &rest)?.take(SCAN_RECORDS) {
            let (key, value) = record?;
            answers.push_pair(key, value);
        }
        Ok(())
    }
}

impl Lmdb {
    #[inline]
    fn answer(&self, txn: &RoTxn<'_>, plan: &Plan, call: usize, answers: &mut Answers) -> heed::Result<()> {
        answer(&InTxn { txn, records: self.records }, plan, call, answers)
    }

    fn put_inner(&self, key: &[u8], value: &[u8]) -> heed::Result<()> {
        let mut txn = self.env.write_txn()?;
        self.records.put(&mut txn, key, value)?;
        txn.commit()
    }

    fn scan_inner(&self, each: &mut dyn FnMut(&[u8], &[u8])) -> heed::Result<()> {
        let txn = self.env.read_txn()?;
        for record in self.records.iter(&txn)? {
            let (key, value) = record?;
            each(key, value);
        }
        Ok(())
    }
}

impl Engine for Lmdb {
    fn name(&self) -> &str {
        self.name
    }

    #[inline]
    fn call(&mut self, plan: &Plan, call: usize, answers: &mut Answers) -> std::result::Result<(), String> {
        let answered = match &self.txn {
            Some(txn) => self.answer(txn, plan, call, answers),
            None => self.env.read_txn().and_then(|txn| self.answer(&txn, plan, call, answers)),
        };
        answered.map_err(|error| error.to_string())
    }

    fn for_thread(&self) -> std::result::Result<MakeReader, String> {
        let (name, reading, env) = (self.name, self.reading, self.env.clone());
        let (records, table_bytes) = (self.records, self.table_bytes);
        Ok(Box::new(move || {
            let txn = reading.begin(&env).map_err(|error| error.to_string())?;
            Ok(Box::new(Lmdb { name, reading, txn, records, env, table_bytes }))
        }))
    }
}

impl Store for Lmdb {
    #[inline]
    fn get(&mut self, key: &[u8], answers: &mut Answers) -> std::result::Result<(), String> {
        let found = self.env.read_txn().and_then(|txn| {
            push(self.records.get(&txn, key)?, answers);
            Ok(())
        });
        found.map_err(|error| error.to_string())
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<(), String> {
        self.put_inner(key, value).map_err(|error| error.to_string())
    }

    fn scan(&mut self, each: &mut dyn FnMut(&[u8], &[u8])) -> std::result::Result<(), String> {
        self.scan_inner(each).map_err(|error| error.to_string())
    }

    fn sizes(&self) -> Sizes {
        Sizes { table_bytes: self.table_bytes, ..Sizes::default() }
    }

    fn close(mut self: Box<Self>) -> std::result::Result<(), String> {
        self.txn = None;
        self.env.prepare_for_closing().wait();
        Ok(())
    }
}
