//! Kiban through its public interface, as any program would use it.

use std::path::Path;
use std::time::{Duration, Instant};

use kiban::defaults::BYTES_MAX;
use kiban::{Db, DbBuilder, Durability, IndexPolicy, Keyspace, Residency, Settings, WriteBatch};

use super::load::{Batch, Layout, Load};
use super::{Accessor, Engine, MakeReader, Opening, Pages, Sizes, Store, Warmth};
use crate::answers::Answers;
use crate::plan::{LATEST_RECORDS, Plan, SCAN_RECORDS, Stage};

/// An open store; its default keyspace holds the records.
#[derive(Clone, Debug)]
pub(super) struct KibanStore {
    accessor: Accessor,
    db: Db,
    records: Keyspace,
    durability: Durability,
}

/// Loads records into a new store without accessors, and closes it.
pub(super) fn build(dir: &Path, load: &Load<'_>) -> kiban::Result<()> {
    let settings = match load.layout {
        Layout::Bulk => one_run_settings(),
        Layout::Normal => Settings::default(),
    };
    let db = Db::builder(dir).settings(settings).index_policy(IndexPolicy::sorted_only()).open()?;
    load_into(&db, load)?;
    db.flush()?;
    db.wait_idle()?;
    db.close()
}

/// Writes records into the default keyspace, and flushes where the load says so.
pub(super) fn load_into(db: &Db, load: &Load<'_>) -> kiban::Result<()> {
    load.in_batches(|batch| {
        write_batch(db, batch)?;
        if batch.is_flushed { db.flush() } else { Ok(()) }
    })
}

pub(super) fn write_batch(db: &Db, batch: &Batch) -> kiban::Result<()> {
    let (records, mut writes) = (db.default_keyspace(), WriteBatch::new());
    batch.records.iter().for_each(|(key, value)| writes.put(&records, key, value));
    db.write(writes)
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

/// Makes a store of the tables of another one, and builds the accessor of each.
pub(super) fn make(data: &Path, dir: &Path, accessor: &Accessor) -> kiban::Result<Duration> {
    let db = Db::builder(data).index_policy(IndexPolicy::sorted_only()).open()?;
    db.checkpoint(dir)?;
    db.close()?;
    let began = Instant::now();
    let db = accessor.builder(dir, Residency::Auto)?.open()?;
    db.wait_idle()?;
    let took = began.elapsed();
    db.close()?;
    Ok(took)
}

/// Opens a store; a new one if there is none. Accessors of its tables are in use when it returns.
pub(super) fn open(dir: &Path, accessor: &Accessor, opening: Opening) -> kiban::Result<Box<dyn Store>> {
    let residency = match opening.warmth {
        Warmth::Warm => Residency::Auto,
        Warmth::Cold { .. } => Residency::Mapped,
    };
    let builder = accessor.builder(dir, residency)?.settings(read_settings(opening));
    Ok(Box::new(KibanStore::open(builder, accessor, opening.durability)?))
}

/// Settings for reading so.
pub(super) fn read_settings(opening: Opening) -> Settings {
    Settings {
        cache_bytes: opening.cache_bytes,
        mmap_max_level: opening.is_mapped.then_some(u32::MAX),
        read_ahead: !opening.warmth.is_advised(),
        ..Settings::default()
    }
}

impl KibanStore {
    /// Opens a store as [`open`] does; the builder is the accessor's.
    pub(super) fn open(
        builder: DbBuilder,
        accessor: &Accessor,
        durability: Durability,
    ) -> kiban::Result<Self> {
        let db = builder.open()?;
        db.wait_idle()?;
        Ok(Self { accessor: accessor.clone(), records: db.default_keyspace(), db, durability })
    }

    pub(super) fn db(&self) -> &Db {
        &self.db
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

    /// Records from a key on.
    fn scan_from(&self, from: &[u8], answers: &mut Answers) -> kiban::Result<()> {
        let mut cursor = self.records.cursor_in(from..);
        let mut found = cursor.first()?;
        while found {
            answers.push_pair(cursor.key(), cursor.value());
            if answers.len() == SCAN_RECORDS {
                break;
            }
            found = cursor.next()?;
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
            Stage::Scan => self.scan_from(&keys[0], answers)?,
        }
        Ok(())
    }
}

impl Engine for KibanStore {
    fn name(&self) -> &str {
        self.accessor.label()
    }

    #[inline]
    fn call(&mut self, plan: &Plan, call: usize, answers: &mut Answers) -> Result<(), String> {
        self.answer(plan, call, answers).map_err(|error| error.to_string())
    }

    fn for_thread(&self) -> Result<MakeReader, String> {
        let store = self.clone();
        Ok(Box::new(move || Ok(Box::new(store))))
    }

    fn unready(&self) -> Option<String> {
        self.accessor.unready(&self.db)
    }

    fn lookups(&self) -> Option<u64> {
        let format = self.accessor.format()?;
        Some(self.db.stats().accessors.get(format).map_or(0, |counts| counts.lookups))
    }

    fn pages(&self) -> Option<Pages> {
        let stats = self.db.stats();
        Some(Pages { data: stats.pages.data_reads, index: stats.pages.index_reads })
    }
}

impl Store for KibanStore {
    #[inline]
    fn get(&mut self, key: &[u8], answers: &mut Answers) -> Result<(), String> {
        match self.records.get(key).map_err(|error| error.to_string())? {
            Some(value) => answers.push_value(&value),
            None => answers.push_absent(),
        }
        Ok(())
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), String> {
        self.records.put_with(key, value, self.durability).map_err(|error| error.to_string())
    }

    fn scan(&mut self, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), String> {
        for record in self.records.iter() {
            let (key, value) = record.map_err(|error| error.to_string())?;
            each(&key, &value);
        }
        Ok(())
    }

    fn is_index_file(&self, name: &Path) -> bool {
        self.accessor.format().is_some_and(|format| name.extension() == Some(format.as_ref()))
    }

    fn sizes(&self) -> Sizes {
        let stats = self.db.stats();
        let levels = stats.keyspaces.iter().flat_map(|keyspace| &keyspace.levels);
        let format = self.accessor.format();
        let counts = format.and_then(|name| stats.accessors.get(name));
        let tables = self.records.explain().unwrap_or_default();
        let sidecars = tables.iter().flat_map(|table| &table.sidecars);
        let own = sidecars.filter(|sidecar| Some(&*sidecar.format) == format);
        Sizes {
            table_bytes: Some(levels.map(|level| level.bytes).sum()),
            resident_bytes: Some(
                stats.memory.handle_bytes
                    + stats.memory.filter_bytes
                    + counts.map_or(0, |counts| counts.resident_bytes),
            ),
            accessor_bytes: format.map(|_| own.map(|sidecar| sidecar.bytes).sum()),
            fallbacks: Some(counts.map_or(0, |counts| counts.fallbacks + counts.unknown)),
        }
    }

    fn close(self: Box<Self>) -> Result<(), String> {
        self.db.close().map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::W1;

    /// Tables by level, of 5,000 records.
    fn tables(layout: Layout) -> Vec<u64> {
        let (dir, set) = (tempfile::tempdir().unwrap(), W1::new(5_000, 1));
        build(dir.path(), &Load { set: &set, layout, seed: 1 }).unwrap();
        let db = Db::open(dir.path()).unwrap();
        assert_eq!(db.default_keyspace().iter().count(), 5_000, "{layout:?}");
        let stats = db.stats();
        let levels = stats.keyspaces.iter().flat_map(|keyspace| &keyspace.levels);
        levels.map(|level| level.tables).filter(|tables| *tables > 0).collect()
    }

    #[test]
    fn bulk_is_one_sorted_run_and_normal_is_more() {
        assert_eq!(tables(Layout::Bulk), [1]);
        let normal = tables(Layout::Normal);
        assert!(normal.iter().sum::<u64>() > 1, "{normal:?}");
    }
}
