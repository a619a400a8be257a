//! Stores in memory.

use std::path::Path;
use std::sync::Arc;

use kiban::storage::Storage;
use kiban::{Db, Result, Settings};

pub(crate) fn dir() -> &'static Path {
    Path::new("/store")
}

pub(crate) fn settings() -> Settings {
    Settings { cache_bytes: 1 << 20, background_threads: 1, ..Settings::default() }
}

pub(crate) fn open_with(storage: impl Storage + 'static, settings: Settings) -> Result<Db> {
    Db::builder(dir()).storage(Arc::new(storage)).settings(settings).open()
}

pub(crate) fn open(disk: &(impl Storage + Clone + 'static)) -> Db {
    open_with(disk.clone(), settings()).unwrap()
}
