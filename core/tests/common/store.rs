//! A store on a storage of the test's choice, and reads of it by every road.

use std::path::Path;
use std::sync::Arc;

use kiban::storage::Storage;
use kiban::{Db, Durability, IndexPolicy, Keyspace, Result, Settings, WriteBatch};

use super::history::{Batch, Contents, KEYS, SPACES, key};

/// Where all these stores live.
pub(crate) const DIR: &str = "/store";

pub(crate) fn dir() -> &'static Path {
    Path::new(DIR)
}

/// Settings so small that everything happens often.
pub(crate) fn tiny() -> Settings {
    Settings {
        cache_bytes: 0,
        memtable_bytes: 4 << 10,
        memtables_total_bytes: 16 << 10,
        table_bytes: 16 << 10,
        level_ratio: 4,
        level0_tables: 2,
        level0_stall_tables: 1000,
        log_bytes_max: 16 << 10,
        background_threads: 1,
        ..Settings::default()
    }
}

/// An open store with its keyspaces.
pub(crate) struct Store {
    pub(crate) db: Db,
    pub(crate) spaces: [Keyspace; SPACES.len()],
}

impl Store {
    pub(crate) fn open(storage: Arc<dyn Storage>, settings: Settings) -> Result<Self> {
        Self::open_at(dir(), storage, settings)
    }

    /// A cache of an odd number of bytes brings indexes with it, so that each test that draws
    /// settings draws whether tables have them.
    pub(crate) fn open_at(dir: &Path, storage: Arc<dyn Storage>, settings: Settings) -> Result<Self> {
        let policy = match settings.cache_bytes % 2 {
            0 => IndexPolicy::sorted_only(),
            _ => IndexPolicy::always("ph4"),
        };
        let db = Db::builder(dir).storage(storage).settings(settings).index_policy(policy).open()?;
        let spaces = [db.keyspace(SPACES[0])?, db.keyspace(SPACES[1])?];
        Ok(Self { db, spaces })
    }

    /// Writes by the call that fits: `put`, `delete`, or `write`.
    pub(crate) fn write(&self, batch: &Batch, durability: Durability) -> Result<()> {
        if let [change] = &batch[..] {
            let space = &self.spaces[change.space];
            return match &change.value {
                Some(value) => space.put_with(&change.key, value, durability),
                None => space.delete_with(&change.key, durability),
            };
        }
        let mut writes = WriteBatch::new();
        for change in batch {
            let space = &self.spaces[change.space];
            match &change.value {
                Some(value) => writes.put(space, &change.key, value),
                None => writes.delete(space, &change.key),
            }
        }
        self.db.write_with(writes, durability)
    }

    /// All there is, by scanning forward.
    pub(crate) fn contents(&self) -> Result<Contents> {
        let mut contents = Contents::default();
        for (space, found) in self.spaces.iter().zip(&mut contents) {
            for pair in space.iter() {
                let (key, value) = pair?;
                let twice = found.insert(key.to_vec(), value.to_vec());
                assert!(twice.is_none(), "a scan yields {key:?} twice");
            }
        }
        Ok(contents)
    }

    /// Every other road to the same contents: scans backward, gets, `contains`, `multi_get`.
    pub(crate) fn check_reads(&self, expected: &Contents) -> Result<()> {
        let keys: Vec<Vec<u8>> = (0..KEYS + 3).map(key).collect();
        for (space, expected) in self.spaces.iter().zip(expected) {
            let mut backward = Vec::new();
            for pair in space.iter().rev() {
                let (key, value) = pair?;
                backward.push((key.to_vec(), value.to_vec()));
            }
            let reversed: Vec<_> = expected.iter().rev().map(|(k, v)| (k.clone(), v.clone())).collect();
            assert!(backward == reversed, "a backward scan differs in {}", space.name());

            let many = space.multi_get(&keys)?;
            for (key, many) in keys.iter().zip(many) {
                let expected = expected.get(key).map(Vec::as_slice);
                assert_eq!(space.get(key)?.as_deref(), expected, "get of {}", key.escape_ascii());
                assert_eq!(many.as_deref(), expected, "multi_get of {}", key.escape_ascii());
                assert_eq!(space.contains(key)?, expected.is_some(), "contains of {}", key.escape_ascii());
            }
        }
        Ok(())
    }
}
