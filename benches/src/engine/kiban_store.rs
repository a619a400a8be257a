//! Kiban through its public interface, as any program would use it.

use std::path::Path;
use std::time::{Duration, Instant};

use kiban::defaults::BYTES_MAX;
use kiban::{Db, Keyspace, Settings, WriteBatch};

use super::{Engine, Pages};
use crate::answers::Answers;
use crate::keys::KeySet;
use crate::plan::{LATEST_RECORDS, Plan, Stage};

/// Records of one batch while loading.
const BATCH_RECORDS: usize = 1_000;

/// An open store; its default keyspace holds the records.
#[derive(Debug)]
pub(crate) struct KibanStore {
    name: String,
    db: Db,
    records: Keyspace,
}

/// Loads the records in key order into a new store that ends as one sorted run, closes it, and
/// tells how long that took.
pub(crate) fn build_store(dir: &Path, set: &dyn KeySet) -> kiban::Result<Duration> {
    let began = Instant::now();
    let db = Db::builder(dir).settings(one_run_settings()).open()?;
    let records = db.default_keyspace();
    let (mut key, mut value) = (Vec::new(), Vec::new());
    let mut batch = WriteBatch::new();
    for rank in 0..set.len() {
        key.clear();
        value.clear();
        set.key(rank, &mut key);
        set.value(rank, &mut value);
        batch.put(&records, &key, &value);
        if batch.len() == BATCH_RECORDS {
            db.write(std::mem::take(&mut batch))?;
        }
    }
    db.write(batch)?;
    records.flush()?;
    db.close()?;
    Ok(began.elapsed())
}

/// One memtable takes all records and becomes one table: nothing is cut on the way.
fn one_run_settings() -> Settings {
    Settings {
        memtable_bytes: BYTES_MAX,
        memtables_total_bytes: BYTES_MAX,
        table_bytes: BYTES_MAX,
        log_bytes_max: BYTES_MAX,
        ..Settings::default()
    }
}

impl KibanStore {
    /// Opens a store that [`build_store`] made.
    pub(crate) fn open(dir: &Path, name: &str, settings: Settings) -> kiban::Result<Self> {
        let db = Db::builder(dir).settings(settings).create_if_missing(false).open()?;
        Ok(Self { name: name.to_owned(), records: db.default_keyspace(), db })
    }

    pub(crate) fn close(&self) -> kiban::Result<()> {
        self.db.close()
    }

    /// Bytes of all table files.
    pub(crate) fn table_bytes(&self) -> u64 {
        let stats = self.db.stats();
        stats.keyspaces.iter().flat_map(|keyspace| &keyspace.levels).map(|level| level.bytes).sum()
    }

    /// Bytes that open tables hold in memory beside the cache.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let memory = self.db.stats().memory;
        memory.handle_bytes + memory.filter_bytes
    }

    /// The greatest records of a group, last first.
    fn latest(&self, lower: &[u8], upper: &[u8], answers: &mut Answers) -> kiban::Result<()> {
        let mut cursor = self.records.cursor_in(lower..upper);
        let mut found = cursor.last()?;
        while found {
            answers.push_pair(cursor.key(), cursor.value());
            if answers.len() == LATEST_RECORDS {
                break;
            }
            found = cursor.prev()?;
        }
        Ok(())
    }

    #[inline]
    fn answer(&self, plan: &Plan, call: usize, answers: &mut Answers) -> kiban::Result<()> {
        let keys = plan.keys(call);
        match plan.stage {
            Stage::Point | Stage::Miss => match self.records.get(&keys[0])? {
                Some(value) => answers.push_value(&value),
                None => answers.push_absent(),
            },
            Stage::Multiget => {
                for value in self.records.multi_get(keys)? {
                    match value {
                        Some(value) => answers.push_value(&value),
                        None => answers.push_absent(),
                    }
                }
            }
            Stage::Latest => self.latest(&keys[0], &keys[1], answers)?,
        }
        Ok(())
    }
}

impl Engine for KibanStore {
    fn name(&self) -> &str {
        &self.name
    }

    #[inline]
    fn call(&mut self, plan: &Plan, call: usize, answers: &mut Answers) -> Result<(), String> {
        self.answer(plan, call, answers).map_err(|error| error.to_string())
    }

    fn pages(&self) -> Option<Pages> {
        let pages = self.db.stats().pages;
        Some(Pages { data: pages.data_reads, index: pages.index_reads })
    }
}
