//! Counts what the engine asks of another storage, by file name.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::mem::name_of;
use super::{DirEntry, Lock, LockMode, Map, ReadFile, Storage, SyncFile, WriteFile};
use crate::sync::lock;

/// What was asked of one file name. Failed calls count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileCounts {
    /// `open` and `open_sync`.
    pub opens: u64,
    /// `read_at`.
    pub reads: u64,
    /// Bytes asked for by `read_at`.
    pub read_bytes: u64,
    /// `map`.
    pub maps: u64,
    /// `expect_random_reads`.
    pub random_hints: u64,
    /// `create`.
    pub creates: u64,
    /// `append`.
    pub appends: u64,
    /// Bytes handed to `append`.
    pub append_bytes: u64,
    /// `reserve`.
    pub reserves: u64,
    /// `trim`.
    pub trims: u64,
    /// `sync`, of a writer or of a syncer.
    pub syncs: u64,
    /// `rename`, `rename_dir` and `link` to this name.
    pub names_given: u64,
    /// `remove` and `remove_dir`, and `rename` and `rename_dir` from this name.
    pub names_taken: u64,
    /// `sync_dir`, under the last name of the directory.
    pub dir_syncs: u64,
    /// `lock`.
    pub locks: u64,
}

type Counts = Arc<Mutex<BTreeMap<String, FileCounts>>>;

/// Counts what is asked of another storage.
#[derive(Clone, Debug)]
pub struct CountingStorage {
    inner: Arc<dyn Storage>,
    counts: Counts,
}

impl CountingStorage {
    /// Counts what is asked of `inner`.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        Self { inner, counts: Counts::default() }
    }

    /// What was asked since the last reset, by file name.
    pub fn counts(&self) -> BTreeMap<String, FileCounts> {
        lock(&self.counts).clone()
    }

    /// Counts from zero again.
    pub fn reset(&self) {
        lock(&self.counts).clear();
    }

    fn count(&self, path: &Path, add: impl FnOnce(&mut FileCounts)) {
        add(lock(&self.counts).entry(name_of(path)).or_default());
    }

    fn file<T>(&self, path: &Path, inner: T) -> Counted<T> {
        Counted { inner, name: name_of(path), counts: self.counts.clone() }
    }
}

impl Storage for CountingStorage {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir_all(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.inner.list(dir)
    }

    fn list_others(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.inner.list_others(dir)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        self.count(path, |file| file.opens += 1);
        Ok(Arc::new(self.file(path, self.inner.open(path)?)))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        self.count(path, |file| file.creates += 1);
        Ok(Box::new(self.file(path, self.inner.create(path)?)))
    }

    fn open_sync(&self, path: &Path) -> io::Result<Arc<dyn SyncFile>> {
        self.count(path, |file| file.opens += 1);
        Ok(Arc::new(self.file(path, self.inner.open_sync(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.count(from, |file| file.names_taken += 1);
        self.count(to, |file| file.names_given += 1);
        self.inner.rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.count(to, |file| file.names_given += 1);
        self.inner.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.count(path, |file| file.names_taken += 1);
        self.inner.remove(path)
    }

    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.count(from, |dir| dir.names_taken += 1);
        self.count(to, |dir| dir.names_given += 1);
        self.inner.rename_dir(from, to)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.count(dir, |dir| dir.names_taken += 1);
        self.inner.remove_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.count(dir, |file| file.dir_syncs += 1);
        self.inner.sync_dir(dir)
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Box<dyn Lock>> {
        self.count(path, |file| file.locks += 1);
        self.inner.lock(path, mode)
    }

    fn random_u64(&self) -> u64 {
        self.inner.random_u64()
    }

    fn now(&self) -> Duration {
        self.inner.now()
    }
}

/// An open file whose calls are counted under the name it was opened by.
#[derive(Debug)]
struct Counted<T> {
    inner: T,
    name: String,
    counts: Counts,
}

impl<T> Counted<T> {
    fn count(&self, add: impl FnOnce(&mut FileCounts)) {
        add(lock(&self.counts).entry(self.name.clone()).or_default());
    }
}

impl ReadFile for Counted<Arc<dyn ReadFile>> {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.count(|file| {
            file.reads += 1;
            file.read_bytes += buf.len() as u64;
        });
        self.inner.read_at(buf, offset)
    }

    fn map(&self, len: u64) -> io::Result<Arc<dyn Map>> {
        self.count(|file| file.maps += 1);
        self.inner.map(len)
    }

    fn expect_random_reads(&self) {
        self.count(|file| file.random_hints += 1);
        self.inner.expect_random_reads();
    }
}

impl WriteFile for Counted<Box<dyn WriteFile>> {
    fn append(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        self.count(|file| {
            file.appends += 1;
            file.append_bytes += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        });
        self.inner.append(parts)
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        self.count(|file| file.reserves += 1);
        self.inner.reserve(bytes)
    }

    fn trim(&mut self) -> io::Result<()> {
        self.count(|file| file.trims += 1);
        self.inner.trim()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.count(|file| file.syncs += 1);
        self.inner.sync()
    }

    fn syncer(&self) -> io::Result<Arc<dyn SyncFile>> {
        let inner = self.inner.syncer()?;
        Ok(Arc::new(Counted { inner, name: self.name.clone(), counts: self.counts.clone() }))
    }
}

impl SyncFile for Counted<Arc<dyn SyncFile>> {
    fn sync(&self) -> io::Result<()> {
        self.count(|file| file.syncs += 1);
        self.inner.sync()
    }
}
