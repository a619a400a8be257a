//! Stores with a format, of the smallest tables there can be.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kiban_indexes::{AccessorFormat, IndexPolicy, Registry};

use crate::db::Db;
use crate::event::Event;
use crate::settings::Settings;
use crate::storage::Storage;

/// Where a store is.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) dir: PathBuf,
}

/// How a store is opened.
pub(super) struct Setup {
    pub(super) place: Place,
    pub(super) format: Option<Arc<dyn AccessorFormat>>,
    /// Tables and indexes are mapped, otherwise read and resident.
    pub(super) is_mapped: bool,
    pub(super) absent_check_every: u32,
    pub(super) read_only: bool,
    /// Sidecars that were refused.
    pub(super) refused: Arc<AtomicU64>,
}

impl Setup {
    pub(super) fn new(place: &Place, format: Option<Arc<dyn AccessorFormat>>, is_mapped: bool) -> Self {
        let absent_check_every = Settings::default().absent_check_every;
        let refused = Arc::default();
        Self { place: place.clone(), format, is_mapped, absent_check_every, read_only: false, refused }
    }

    /// The format's name.
    pub(super) fn name(&self) -> &str {
        self.format.as_ref().map_or("sorted", |format| format.name())
    }

    pub(super) fn open(&self) -> Result<Db, String> {
        let settings = Settings {
            cache_bytes: if self.is_mapped { 0 } else { 8 << 20 },
            mmap_max_level: self.is_mapped.then_some(u32::MAX),
            table_bytes: 16 << 10,
            memtable_bytes: 64 << 10,
            background_threads: 1,
            absent_check_every: self.absent_check_every,
            ..Settings::default()
        };
        let refused = self.refused.clone();
        let count = move |event: &Event| {
            if matches!(event, Event::AccessorRefused { .. }) {
                refused.fetch_add(1, Ordering::Relaxed);
            }
        };
        let builder = Db::builder(&self.place.dir).storage(self.place.storage.clone());
        let builder = builder.settings(settings).read_only(self.read_only).on_event(Arc::new(count));
        let builder = match &self.format {
            None => builder.index_policy(IndexPolicy::sorted_only()),
            Some(format) => {
                let policy = IndexPolicy::always(format.name());
                let is_built_in = Registry::built_in().by_id(format.id()).is_some();
                let builder = if is_built_in { builder } else { builder.register(format.clone()) };
                builder.index_policy(policy)
            }
        };
        builder.open().map_err(|error| format!("the store does not open: {error}"))
    }
}

/// A directory that goes when it is dropped.
pub(super) struct TempDir(PathBuf);

impl TempDir {
    pub(super) fn new() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (process, no) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("kiban-conformance-{process}-{no}"));
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
