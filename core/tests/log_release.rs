//! A flush lets a log go while a sync is about to open it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

mod common {
    pub(crate) mod memory;
}

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::memory::open;
use kiban::Durability;
use kiban::storage::{DirEntry, Lock, LockMode, MemStorage, ReadFile, Storage, SyncFile, WriteFile};

/// Holds up the first table until a log is about to be opened for a sync, and that until the log
/// is gone, or for a while.
#[derive(Clone, Debug)]
struct Meeting {
    inner: MemStorage,
    armed: Arc<AtomicBool>,
    table_begun: Arc<AtomicBool>,
    sync_begun: Arc<AtomicBool>,
    removed: Arc<Mutex<Vec<String>>>,
}

fn wait_until(limit: Duration, done: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !done() && start.elapsed() < limit {
        thread::sleep(Duration::from_millis(1));
    }
    done()
}

fn is(path: &Path, kind: &str) -> bool {
    path.to_str().unwrap().contains(kind)
}

impl Storage for Meeting {
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        if self.armed.load(Ordering::SeqCst) && is(path, ".sst") {
            self.table_begun.store(true, Ordering::SeqCst);
            assert!(wait_until(Duration::from_secs(30), || self.sync_begun.load(Ordering::SeqCst)));
        }
        self.inner.create(path)
    }

    fn open_sync(&self, path: &Path) -> io::Result<Arc<dyn SyncFile>> {
        if self.armed.load(Ordering::SeqCst) && is(path, ".log") {
            self.sync_begun.store(true, Ordering::SeqCst);
            let name = path.file_name().unwrap().to_str().unwrap();
            let is_removed = || self.removed.lock().unwrap().iter().any(|removed| removed == name);
            wait_until(Duration::from_millis(300), is_removed);
        }
        self.inner.open_sync(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = self.inner.remove(path);
        self.removed.lock().unwrap().push(path.file_name().unwrap().to_str().unwrap().to_owned());
        removed
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir_all(dir)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.inner.list(dir)
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        self.inner.open(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.link(from, to)
    }
    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename_dir(from, to)
    }
    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.remove_dir(dir)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.sync_dir(dir)
    }
    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Box<dyn Lock>> {
        self.inner.lock(path, mode)
    }
    fn random_u64(&self) -> u64 {
        self.inner.random_u64()
    }
    fn now(&self) -> Duration {
        self.inner.now()
    }
}

#[test]
fn a_log_is_not_removed_under_a_sync_that_is_about_to_open_it() {
    let disk = Meeting {
        inner: MemStorage::new(1),
        armed: Arc::default(),
        table_begun: Arc::default(),
        sync_begun: Arc::default(),
        removed: Arc::default(),
    };
    let db = open(&disk);
    let ks = db.default_keyspace();
    ks.put_with("a", "1", Durability::Sync).unwrap();
    disk.armed.store(true, Ordering::SeqCst);
    thread::scope(|scope| {
        let flush = scope.spawn(|| db.flush());
        assert!(wait_until(Duration::from_secs(30), || disk.table_begun.load(Ordering::SeqCst)));
        ks.put_with("b", "2", Durability::Sync).unwrap();
        flush.join().unwrap().unwrap();
    });
    assert!(disk.sync_begun.load(Ordering::SeqCst), "the sync did not open the sealed log");
    let has_log = |name: &String| name.ends_with(".log");
    assert!(disk.removed.lock().unwrap().iter().any(has_log), "the flush let no log go");
    ks.put_with("c", "3", Durability::Sync).unwrap();
    assert_eq!(ks.iter().count(), 3);
}
