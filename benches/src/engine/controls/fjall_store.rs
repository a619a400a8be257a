//! fjall.

use std::path::Path;
use std::thread;
use std::time::Duration;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use kiban::Durability;

use super::super::{Engine, Layout, Load, MakeReader, Opening, Sizes, Store};
use super::{Reads, advise, answer, push};
use crate::answers::Answers;
use crate::plan::{LATEST_RECORDS, Plan, SCAN_RECORDS};

/// Cache while loading.
const LOAD_CACHE_BYTES: u64 = 64 << 20;
/// How often compaction is asked whether it rests.
const REST_STEP: Duration = Duration::from_millis(20);
/// It rests if it says so this many times in a row: between two compactions none is active.
const REST_STEPS: u32 = 10;

#[derive(Clone)]
struct Fjall {
    name: &'static str,
    records: Keyspace,
    db: Database,
    durability: Durability,
}

/// Loads records into a new store.
pub(super) fn build(dir: &Path, load: &Load<'_>) -> Result<(), String> {
    build_inner(dir, load).map_err(|error| error.to_string())
}

fn build_inner(dir: &Path, load: &Load<'_>) -> fjall::Result<()> {
    let (db, records) = open_db(dir, LOAD_CACHE_BYTES)?;
    match load.layout {
        Layout::Bulk => {
            let mut ingestion = records.start_ingestion()?;
            load.in_batches(|batch| {
                let mut all = batch.records.iter();
                all.try_for_each(|(key, value)| ingestion.write(key.as_slice(), value.as_slice()))
            })?;
            ingestion.finish()?;
        }
        Layout::Normal => {
            load.in_batches(|batch| {
                let mut writes = db.batch();
                for (key, value) in &batch.records {
                    writes.insert(&records, key.as_slice(), value.as_slice());
                }
                writes.commit()?;
                if batch.is_flushed { records.rotate_memtable_and_wait() } else { Ok(()) }
            })?;
            rest(&db);
        }
    }
    db.persist(PersistMode::SyncAll)
}

/// Waits until no compaction runs.
fn rest(db: &Database) {
    let mut steps = 0;
    while steps < REST_STEPS {
        let is_busy = db.active_compactions() > 0 || db.outstanding_flushes() > 0;
        steps = if is_busy { 0 } else { steps + 1 };
        thread::sleep(REST_STEP);
    }
}

/// Opens a store; a new one if there is none.
pub(super) fn open(dir: &Path, name: &'static str, opening: Opening) -> Result<Box<dyn Store>, String> {
    let (db, records) = open_db(dir, opening.cache_bytes).map_err(|error| error.to_string())?;
    advise(dir, opening)?;
    Ok(Box::new(Fjall { name, records, db, durability: opening.durability }))
}

fn open_db(dir: &Path, cache_bytes: u64) -> fjall::Result<(Database, Keyspace)> {
    let db = Database::builder(dir).cache_size(cache_bytes).open()?;
    let records = db.keyspace("default", KeyspaceCreateOptions::default)?;
    Ok((db, records))
}

impl Fjall {
    fn put_inner(&self, key: &[u8], value: &[u8]) -> fjall::Result<()> {
        self.records.insert(key, value)?;
        match self.durability {
            Durability::Buffered => Ok(()),
            Durability::Sync => self.db.persist(PersistMode::SyncData),
        }
    }

    fn scan_inner(&self, each: &mut dyn FnMut(&[u8], &[u8])) -> fjall::Result<()> {
        for record in self.records.iter() {
            let (key, value) = record.into_inner()?;
            each(&key, &value);
        }
        Ok(())
    }
}

impl Reads for Fjall {
    type Error = fjall::Error;

    #[inline]
    fn get(&self, key: &[u8], answers: &mut Answers) -> fjall::Result<()> {
        push(self.records.get(key)?, answers);
        Ok(())
    }

    fn latest(&self, lower: &[u8], upper: &[u8], answers: &mut Answers) -> fjall::Result<()> {
        for record in self.records.range(lower..upper).rev().take(LATEST_RECORDS) {
            let (key, value) = record.into_inner()?;
            answers.push_pair(&key, &value);
        }
        Ok(())
    }

    fn scan_from(&self, from: &[u8], answers: &mut Answers) -> fjall::Result<()> {
        for record in self.records.range(from..).take(SCAN_RECORDS) {
            let (key, value) = record.into_inner()?;
            answers.push_pair(&key, &value);
        }
        Ok(())
    }
}

impl Engine for Fjall {
    fn name(&self) -> &str {
        self.name
    }

    #[inline]
    fn call(&mut self, plan: &Plan, call: usize, answers: &mut Answers) -> Result<(), String> {
        answer(self, plan, call, answers).map_err(|error| error.to_string())
    }

    fn for_thread(&self) -> Result<MakeReader, String> {
        let store = self.clone();
        Ok(Box::new(move || Ok(Box::new(store))))
    }
}

impl Store for Fjall {
    #[inline]
    fn get(&mut self, key: &[u8], answers: &mut Answers) -> Result<(), String> {
        Reads::get(self, key, answers).map_err(|error| error.to_string())
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), String> {
        self.put_inner(key, value).map_err(|error| error.to_string())
    }

    fn scan(&mut self, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), String> {
        self.scan_inner(each).map_err(|error| error.to_string())
    }

    fn sizes(&self) -> Sizes {
        Sizes { table_bytes: Some(self.records.disk_space()), ..Sizes::default() }
    }

    /// Dropping it stops its threads and lets the directory go.
    fn close(self: Box<Self>) -> Result<(), String> {
        self.db.persist(PersistMode::SyncAll).map_err(|error| error.to_string())
    }
}
