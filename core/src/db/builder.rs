//! What can be set before a store is opened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiban_indexes::{AccessorFormat, IndexPolicy};

use super::{Db, open};
use crate::error::Result;
use crate::event::{Event, Listener};
use crate::repair::{self, RepairReport};
use crate::settings::{Durability, Settings};
use crate::storage::{FsStorage, Storage};

/// Settings before opening. Later calls win over earlier ones; [`DbBuilder::settings`] replaces
/// all numbers.
#[derive(Clone)]
pub struct DbBuilder {
    pub(crate) path: PathBuf,
    pub(crate) settings: Settings,
    pub(crate) create_if_missing: bool,
    pub(crate) read_only: bool,
    pub(crate) listener: Listener,
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) policy: IndexPolicy,
    /// In the place of those that keyspaces have stored.
    pub(crate) policy_of_all: Option<IndexPolicy>,
    pub(crate) formats: Vec<Arc<dyn AccessorFormat>>,
}

/// The policy of a builder that was given none.
#[cfg(not(feature = "storage-api"))]
fn default_policy() -> IndexPolicy {
    IndexPolicy::auto()
}

/// The policy of a builder that was given none. With the simulator built in, the variable
/// `KIBAN_DEFAULT_POLICY` may hold another one as TOML: so all tests run under any policy.
///
/// # Panics
/// The variable holds something else.
#[cfg(feature = "storage-api")]
fn default_policy() -> IndexPolicy {
    let policy = std::env::var("KIBAN_DEFAULT_POLICY").ok();
    policy.map_or_else(IndexPolicy::auto, |toml| match IndexPolicy::from_toml(&toml) {
        Ok(policy) => policy,
        Err(error) => panic!("KIBAN_DEFAULT_POLICY: {error}"),
    })
}

impl DbBuilder {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            settings: Settings::default(),
            create_if_missing: true,
            read_only: false,
            listener: Listener::default(),
            storage: Arc::new(FsStorage::new()),
            policy: default_policy(),
            policy_of_all: None,
            formats: Vec::new(),
        }
    }

    /// The hard memory budget in bytes; see [`Settings::cache_bytes`].
    #[must_use]
    pub fn cache_bytes(mut self, bytes: u64) -> Self {
        self.settings.cache_bytes = bytes;
        self
    }

    /// Bytes of one memtable; see [`Settings::memtable_bytes`].
    #[must_use]
    pub fn memtable_bytes(mut self, bytes: u64) -> Self {
        self.settings.memtable_bytes = bytes;
        self
    }

    /// The deepest level that is read through a memory map; see [`Settings::mmap_max_level`].
    #[must_use]
    pub fn mmap_max_level(mut self, level: Option<u32>) -> Self {
        self.settings.mmap_max_level = level;
        self
    }

    /// The durability of `put` and `delete`.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.settings.durability = durability;
        self
    }

    /// All numbers at once.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Which indexes the tables of keyspaces get that have no policy stored; the default is
    /// [`IndexPolicy::auto`].
    #[must_use]
    pub fn index_policy(mut self, policy: IndexPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Which indexes all tables get, whatever policy their keyspace has stored: for a store that is
    /// opened for reading only, to see what another policy would choose. Nothing is stored.
    #[must_use]
    pub fn index_policy_of_all(mut self, policy: IndexPolicy) -> Self {
        self.policy_of_all = Some(policy);
        self
    }

    /// Adds an index format of somebody else. Names and ids are checked by [`DbBuilder::open`].
    #[must_use]
    pub fn register(mut self, format: Arc<dyn AccessorFormat>) -> Self {
        self.formats.push(format);
        self
    }

    /// Who is told of events. Called with no lock held.
    #[must_use]
    pub fn on_event(mut self, listener: Arc<dyn Fn(&Event) + Send + Sync>) -> Self {
        self.listener = Listener::new(listener);
        self
    }

    /// Whether a store is made where there is none; the default is `true`.
    #[must_use]
    pub fn create_if_missing(mut self, create: bool) -> Self {
        self.create_if_missing = create;
        self
    }

    /// Opens for reading only: nothing is written, several readers may do so at once.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// The storage under the store. Unstable.
    #[cfg(feature = "storage-api")]
    #[must_use]
    pub fn storage(mut self, storage: Arc<dyn Storage>) -> Self {
        self.storage = storage;
        self
    }

    /// Repairs the store; see [`Db::repair`]. Of the settings only those of tables count.
    ///
    /// # Errors
    /// Those of [`Db::repair`], and settings out of range.
    pub fn repair(self) -> Result<RepairReport> {
        self.settings.validate()?;
        repair::repair(self)
    }

    /// Opens the store.
    ///
    /// # Errors
    /// `InvalidArgument` for settings out of range or a directory that is no store, `NotFound`
    /// where there is none and it may not be made, `Locked`, `Unsupported` for a newer format,
    /// `Corruption`, `Io`.
    pub fn open(self) -> Result<Db> {
        self.settings.validate()?;
        open::open(self).map(Db::new)
    }
}
