//! SQLite through rusqlite, its C sources built in.
//!
//! Its good mode here: one table `WITHOUT ROWID`, so that a record lies in the key's own B-tree and
//! a get is one descent; a write-ahead log, so that a put writes each page once; pages through a
//! memory map as far as SQLite lets it reach (2 GiB), so that a read copies no page; statements
//! prepared once; and one read transaction for all reads, because beginning one takes locks and
//! system calls, more than the read itself. The first put ends that transaction: it would not see
//! the put. Its page cache has as many bytes as Kiban's. Where reads are cold and at random there is no
//! map: only an open file can be told of it.

use std::path::{Path, PathBuf};

use kiban::Durability;
use rusqlite::{Connection, OptionalExtension as _, Row, Rows};

use super::super::{Engine, Load, MakeReader, Opening, Sizes, Store};
use super::{Reads, advise, answer};
use crate::answers::Answers;
use crate::plan::{LATEST_RECORDS, Plan, SCAN_RECORDS};

const DATA_FILE: &str = "data.sqlite";
const LOAD_CACHE_BYTES: u64 = 64 << 20;
/// SQLite cuts it to what it was built for.
const MAP_BYTES: u64 = 1 << 40;

const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS records (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL) WITHOUT ROWID";
const PUT: &str =
    "INSERT INTO records VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
const GET: &str = "SELECT value FROM records WHERE key = ?1";
const LATEST: &str = "SELECT key, value FROM records WHERE key >= ?1 AND key < ?2 ORDER BY key DESC LIMIT ?3";
const SCAN_FROM: &str = "SELECT key, value FROM records WHERE key >= ?1 ORDER BY key LIMIT ?2";
const SCAN: &str = "SELECT key, value FROM records ORDER BY key";

struct Sqlite {
    name: &'static str,
    db: Connection,
    /// For the connection of another thread.
    dir: PathBuf,
    opening: Opening,
    /// Whether the transaction of all reads is open.
    is_reading: bool,
    table_bytes: Option<u64>,
}

/// Loads records into a new store.
pub(super) fn build(dir: &Path, load: &Load<'_>) -> Result<(), String> {
    build_inner(dir, load).map_err(|error| error.to_string())
}

fn build_inner(dir: &Path, load: &Load<'_>) -> rusqlite::Result<()> {
    let mut db = open_db(dir, LOAD_CACHE_BYTES, Durability::Buffered)?;
    load.in_batches(|batch| {
        let writes = db.transaction()?;
        let mut put = writes.prepare_cached(PUT)?;
        for (key, value) in &batch.records {
            put.execute((key, value))?;
        }
        drop(put);
        writes.commit()
    })?;
    // All records into the database file: none is looked for in the log.
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?;
    db.close().map_err(|(_, error)| error)
}

/// Opens a store; a new one if there is none.
pub(super) fn open(dir: &Path, name: &'static str, opening: Opening) -> Result<Box<dyn Store>, String> {
    Ok(Box::new(Sqlite::open(dir, name, opening)?))
}

fn open_db(dir: &Path, cache_bytes: u64, durability: Durability) -> rusqlite::Result<Connection> {
    let db = Connection::open(dir.join(DATA_FILE))?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(
        None,
        "synchronous",
        match durability {
            Durability::Buffered => "NORMAL",
            Durability::Sync => "FULL",
        },
    )?;
    // Negative: in KiB. A positive number would be pages.
    db.pragma_update(None, "cache_size", -((cache_bytes >> 10) as i64))?;
    db.pragma_update(None, "mmap_size", MAP_BYTES as i64)?;
    db.execute_batch(CREATE)?;
    Ok(db)
}

impl Sqlite {
    fn open(dir: &Path, name: &'static str, opening: Opening) -> Result<Self, String> {
        let begin = || {
            let db = open_db(dir, opening.cache_bytes, opening.durability)?;
            if opening.warmth.is_advised() {
                db.pragma_update(None, "mmap_size", 0)?;
            }
            db.execute_batch("BEGIN")?;
            Ok(db)
        };
        let db = begin().map_err(|error: rusqlite::Error| error.to_string())?;
        advise(dir, opening)?;
        let table_bytes = dir.join(DATA_FILE).metadata().ok().map(|data| data.len());
        Ok(Self { name, db, dir: dir.to_owned(), opening, is_reading: true, table_bytes })
    }

    fn put_inner(&mut self, key: &[u8], value: &[u8]) -> rusqlite::Result<()> {
        if std::mem::take(&mut self.is_reading) {
            self.db.execute_batch("COMMIT")?;
        }
        self.db.prepare_cached(PUT)?.execute((key, value))?;
        Ok(())
    }

    fn scan_inner(&self, each: &mut dyn FnMut(&[u8], &[u8])) -> rusqlite::Result<()> {
        let mut scan = self.db.prepare_cached(SCAN)?;
        let mut rows = scan.query(())?;
        while let Some(row) = rows.next()? {
            each(blob(row, 0)?, blob(row, 1)?);
        }
        Ok(())
    }
}

/// The bytes of a column, where SQLite has them.
#[inline]
fn blob<'row>(row: &'row Row<'_>, column: usize) -> rusqlite::Result<&'row [u8]> {
    Ok(row.get_ref(column)?.as_blob()?)
}

impl Reads for Sqlite {
    type Error = rusqlite::Error;

    #[inline]
    fn get(&self, key: &[u8], answers: &mut Answers) -> rusqlite::Result<()> {
        let mut get = self.db.prepare_cached(GET)?;
        let found = get.query_row((key,), |row| {
            answers.push_value(blob(row, 0)?);
            Ok(())
        });
        if found.optional()?.is_none() {
            answers.push_absent();
        }
        Ok(())
    }

    fn latest(&self, lower: &[u8], upper: &[u8], answers: &mut Answers) -> rusqlite::Result<()> {
        let mut latest = self.db.prepare_cached(LATEST)?;
        push_rows(&mut latest.query((lower, upper, LATEST_RECORDS as i64))?, answers)
    }

    fn scan_from(&self, from: &[u8], answers: &mut Answers) -> rusqlite::Result<()> {
        let mut scan = self.db.prepare_cached(SCAN_FROM)?;
        push_rows(&mut scan.query((from, SCAN_RECORDS as i64))?, answers)
    }
}

/// Appends keys and values.
fn push_rows(rows: &mut Rows<'_>, answers: &mut Answers) -> rusqlite::Result<()> {
    while let Some(row) = rows.next()? {
        answers.push_pair(blob(row, 0)?, blob(row, 1)?);
    }
    Ok(())
}

impl Engine for Sqlite {
    fn name(&self) -> &str {
        self.name
    }

    #[inline]
    fn call(&mut self, plan: &Plan, call: usize, answers: &mut Answers) -> Result<(), String> {
        answer(self, plan, call, answers).map_err(|error| error.to_string())
    }

    /// A connection of its own, as SQLite wants it.
    fn for_thread(&self) -> Result<MakeReader, String> {
        let (dir, name, opening) = (self.dir.clone(), self.name, self.opening);
        Ok(Box::new(move || Ok(Box::new(Sqlite::open(&dir, name, opening)?))))
    }
}

impl Store for Sqlite {
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
        Sizes { table_bytes: self.table_bytes, ..Sizes::default() }
    }

    fn close(self: Box<Self>) -> Result<(), String> {
        self.db.close().map_err(|(_, error)| error.to_string())
    }
}
