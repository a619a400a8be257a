//! redb.
//!
//! Its good mode here: a cache of as many bytes as Kiban's, and one table, opened once in one read
//! transaction, for all reads: opening a transaction and a table looks the table's name up in a
//! tree of its own. The first put ends that transaction: it would not see the put. A `Buffered` put
//! commits without a sync, and redb then keeps it from a power cut and from a death of the process
//! no longer than until its next synced commit: less than Kiban promises.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use kiban::Durability;
use redb::{Database, ReadOnlyTable, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use super::super::{Engine, Load, MakeReader, Opening, Sizes, Store};
use super::{Reads, advise, answer, push};
use crate::answers::Answers;
use crate::plan::{LATEST_RECORDS, Plan, SCAN_RECORDS};

const DATA_FILE: &str = "data.redb";
const LOAD_CACHE_BYTES: u64 = 64 << 20;
const RECORDS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("records");

type Table = ReadOnlyTable<&'static [u8], &'static [u8]>;
type Result<T> = std::result::Result<T, redb::Error>;

struct Redb {
    name: &'static str,
    /// The table in the transaction of all reads, until something is put.
    reading: Option<Table>,
    db: Arc<Database>,
    durability: Durability,
    table_bytes: Option<u64>,
}

/// Loads records into a new store.
pub(super) fn build(dir: &Path, load: &Load<'_>) -> std::result::Result<(), String> {
    build_inner(dir, load).map_err(|error| error.to_string())
}

fn build_inner(dir: &Path, load: &Load<'_>) -> Result<()> {
    let mut db = open_db(dir, LOAD_CACHE_BYTES)?;
    load.in_batches(|batch| {
        let mut writes = db.begin_write()?;
        writes.set_durability(redb::Durability::None)?;
        let mut records = writes.open_table(RECORDS)?;
        for (key, value) in &batch.records {
            records.insert(key.as_slice(), value.as_slice())?;
        }
        drop(records);
        Ok::<(), redb::Error>(writes.commit()?)
    })?;
    // Everything so far is made durable by the next commit that is.
    db.begin_write()?.commit()?;
    // Half of the file is pages that the load has left.
    db.compact()?;
    Ok(db.close()?)
}

/// Opens a store; a new one if there is none.
pub(super) fn open(
    dir: &Path,
    name: &'static str,
    opening: Opening,
) -> std::result::Result<Box<dyn Store>, String> {
    let opened = || -> Result<Redb> {
        let db = Arc::new(open_db(dir, opening.cache_bytes)?);
        let reading = Some(table(&db)?);
        let table_bytes = dir.join(DATA_FILE).metadata().ok().map(|data| data.len());
        Ok(Redb { name, reading, db, durability: opening.durability, table_bytes })
    };
    let store = opened().map_err(|error| error.to_string())?;
    advise(dir, opening)?;
    Ok(Box::new(store))
}

fn open_db(dir: &Path, cache_bytes: u64) -> Result<Database> {
    let cache_bytes = usize::try_from(cache_bytes).unwrap_or(usize::MAX);
    let db = Database::builder().set_cache_size(cache_bytes).create(dir.join(DATA_FILE))?;
    let writes = db.begin_write()?;
    writes.open_table(RECORDS)?;
    writes.commit()?;
    Ok(db)
}

/// The table in a read transaction of its own.
fn table(db: &Database) -> Result<Table> {
    Ok(db.begin_read()?.open_table(RECORDS)?)
}

impl Reads for Table {
    type Error = redb::Error;

    #[inline]
    fn get(&self, key: &[u8], answers: &mut Answers) -> Result<()> {
        push(ReadOnlyTable::get(self, key)?.as_ref().map(|value| value.value()), answers);
        Ok(())
    }

    fn latest(&self, lower: &[u8], upper: &[u8], answers: &mut Answers) -> Result<()> {
        let group = (Bound::Included(lower), Bound::Excluded(upper));
        for record in self.range::<&[u8]>(group)?.rev().take(LATEST_RECORDS) {
            let (key, value) = record?;
            answers.push_pair(key.value(), value.value());
        }
        Ok(())
    }

    fn scan_from(&self, from: &[u8], answers: &mut Answers) -> Result<()> {
        for record in self.range::<&[u8]>(from..)?.take(SCAN_RECORDS) {
            let (key, value) = record?;
            answers.push_pair(key.value(), value.value());
        }
        Ok(())
    }
}

impl Redb {
    /// Hands over the table in the transaction of all reads, or in a new one.
    #[inline]
    fn with_table<T>(&self, read: impl FnOnce(&Table) -> Result<T>) -> std::result::Result<T, String> {
        let done = match &self.reading {
            Some(table) => read(table),
            None => table(&self.db).and_then(|table| read(&table)),
        };
        done.map_err(|error| error.to_string())
    }

    fn put_inner(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let mut writes = self.db.begin_write()?;
        writes.set_durability(match self.durability {
            Durability::Buffered => redb::Durability::None,
            Durability::Sync => redb::Durability::Immediate,
        })?;
        writes.open_table(RECORDS)?.insert(key, value)?;
        Ok(writes.commit()?)
    }
}

impl Engine for Redb {
    fn name(&self) -> &str {
        self.name
    }

    #[inline]
    fn call(&mut self, plan: &Plan, call: usize, answers: &mut Answers) -> std::result::Result<(), String> {
        self.with_table(|table| answer(table, plan, call, answers))
    }

    fn for_thread(&self) -> std::result::Result<MakeReader, String> {
        let (name, db) = (self.name, self.db.clone());
        let (durability, table_bytes) = (self.durability, self.table_bytes);
        Ok(Box::new(move || {
            let reading = Some(table(&db).map_err(|error| error.to_string())?);
            Ok(Box::new(Redb { name, reading, db, durability, table_bytes }))
        }))
    }
}

impl Store for Redb {
    #[inline]
    fn get(&mut self, key: &[u8], answers: &mut Answers) -> std::result::Result<(), String> {
        self.with_table(|table| Reads::get(table, key, answers))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<(), String> {
        self.reading = None;
        self.put_inner(key, value).map_err(|error| error.to_string())
    }

    fn scan(&mut self, each: &mut dyn FnMut(&[u8], &[u8])) -> std::result::Result<(), String> {
        self.with_table(|table| {
            for record in table.iter()? {
                let (key, value) = record?;
                each(key.value(), value.value());
            }
            Ok(())
        })
    }

    fn sizes(&self) -> Sizes {
        Sizes { table_bytes: self.table_bytes, ..Sizes::default() }
    }

    fn close(mut self: Box<Self>) -> std::result::Result<(), String> {
        self.reading = None;
        let db = Arc::into_inner(self.db).ok_or("a reader is left")?;
        db.close().map_err(|error| error.to_string())
    }
}
