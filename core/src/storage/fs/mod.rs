//! The file system, through std. Unix.

mod map;
mod room;

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, IoSlice, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use map::FileMap;

use super::{DirEntry, Lock, LockMode, Map, ReadFile, Storage, SyncFile, WriteFile};

/// Owner only: keys and values are nobody else's business.
const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// The file system, the system's clock and its randomness.
#[derive(Clone, Debug)]
pub struct FsStorage {
    started: Instant,
}

impl FsStorage {
    /// The file system.
    pub fn new() -> Self {
        Self { started: Instant::now() }
    }
}

impl Default for FsStorage {
    fn default() -> Self {
        Self::new()
    }
}

impl Storage for FsStorage {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        if dir.is_dir() {
            return Ok(());
        }
        let parent = parent_of(dir);
        self.create_dir_all(parent)?;
        match DirBuilder::new().mode(DIR_MODE).create(dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => {}
            other => other?,
        }
        self.sync_dir(parent)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let mut entries = Vec::new();
        for_each_name(dir, |name, facts| {
            if facts.is_file() {
                entries.push(DirEntry { name, len: facts.len() });
            }
        })?;
        Ok(entries)
    }

    fn list_others(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut others = Vec::new();
        for_each_name(dir, |name, facts| {
            if !facts.is_file() {
                others.push(name);
            }
        })?;
        Ok(others)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        Ok(Arc::new(FsReadFile { file: open_file(path)?, is_read_at_random: AtomicBool::new(false) }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)?;
        Ok(Box::new(FsWriteFile(Arc::new(file))))
    }

    fn open_sync(&self, path: &Path) -> io::Result<Arc<dyn SyncFile>> {
        Ok(Arc::new(FsSyncFile(Arc::new(open_file(path)?))))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()> {
        if !from.is_dir() {
            return Err(io::ErrorKind::NotFound.into());
        }
        // The system would replace an empty directory. Whoever makes one between here and there
        // loses nothing by that.
        match fs::symlink_metadata(to) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::rename(from, to),
            Err(error) => Err(error),
        }
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        fs::remove_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        File::open(dir)?.sync_all()
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Box<dyn Lock>> {
        // The lock belongs to the open file description, so that a second opener of this very
        // process is refused as well.
        let (file, locked) = match mode {
            LockMode::Exclusive => {
                let file = OpenOptions::new()
                    .read(true)
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .mode(FILE_MODE)
                    .open(path)?;
                let locked = file.try_lock();
                (file, locked)
            }
            LockMode::Shared => {
                let file = open_file(path)?;
                let locked = file.try_lock_shared();
                (file, locked)
            }
        };
        match locked {
            Ok(()) => Ok(Box::new(FsLock(file))),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn random_u64(&self) -> u64 {
        system_random()
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

/// The directory that names `path`; "." for a bare name.
fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Looks at all names of a directory. What is taken away meanwhile is passed over.
fn for_each_name(dir: &Path, mut look: impl FnMut(String, &fs::Metadata)) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.metadata() {
            Ok(facts) => look(entry.file_name().to_string_lossy().into_owned(), &facts),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Opens a plain file. A directory would open as well, and only its reads would fail.
/// A pipe in a file's place must not be waited for.
fn open_file(path: &Path) -> io::Result<File> {
    let do_not_wait = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(do_not_wait).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    Ok(file)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn system_random() -> u64 {
    use rustix::rand::{GetRandomFlags, getrandom};

    let mut bytes = [0; 8];
    loop {
        match getrandom(&mut bytes, GetRandomFlags::empty()) {
            Ok(count) if count == bytes.len() => return u64::from_le_bytes(bytes),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return hashed_random(),
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn system_random() -> u64 {
    hashed_random()
}

/// The keys that std draws from the system for its hash maps, hashed.
fn hashed_random() -> u64 {
    use std::hash::{BuildHasher, RandomState};

    RandomState::new().hash_one(0_u64)
}

/// A file to read.
#[derive(Debug)]
struct FsReadFile {
    file: File,
    is_read_at_random: AtomicBool,
}

impl ReadFile for FsReadFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buf, offset)
    }

    fn map(&self, len: u64) -> io::Result<Arc<dyn Map>> {
        FileMap::map(&self.file, len, self.is_read_at_random.load(Ordering::Relaxed))
    }

    fn expect_random_reads(&self) {
        self.is_read_at_random.store(true, Ordering::Relaxed);
        // Without it reads are slower, not wrong.
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::Random);
    }
}

/// A file to append to: the descriptor's place is where the appended bytes end. Its syncers share
/// the descriptor and never move it.
#[derive(Debug)]
struct FsWriteFile(Arc<File>);

impl WriteFile for FsWriteFile {
    fn append(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        match parts {
            [part] => (&*self.0).write_all(part),
            _ => {
                let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
                write_all_vectored(&self.0, &mut slices)
            }
        }
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        let appended = (&*self.0).stream_position()?;
        room::reserve(&self.0, appended, bytes)
    }

    fn trim(&mut self) -> io::Result<()> {
        let appended = (&*self.0).stream_position()?;
        self.0.set_len(appended)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn syncer(&self) -> io::Result<Arc<dyn SyncFile>> {
        Ok(Arc::new(FsSyncFile(self.0.clone())))
    }
}

/// Writes all of `slices`; std caps a call at what the system takes.
fn write_all_vectored(mut file: &File, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    // Drops empty slices at the front, so that a write of nothing is not taken for a full disk.
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        match file.write_vectored(slices) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Syncs data and length; that is all an append changes.
#[derive(Debug)]
struct FsSyncFile(Arc<File>);

impl SyncFile for FsSyncFile {
    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// A locked file; the system releases the lock when it is closed.
#[derive(Debug)]
struct FsLock(File);

impl Drop for FsLock {
    fn drop(&mut self) {
        // Closing is not enough: a process that was forked just now has the file open too, and the
        // lock with it, until it runs its program.
        let _ = self.0.unlock();
    }
}

impl Lock for FsLock {}
