//! Files in memory, numbers from a seed, a clock that the owner sets.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::locks::LockTable;
use super::random::Random;
use super::{DirEntry, Lock, LockMode, Map, ReadFile, Storage, SyncFile, WriteFile};
use crate::sync::lock;

/// Files in memory. Clones are the same storage; [`MemStorage::fork`] makes another.
#[derive(Clone)]
pub struct MemStorage {
    state: Arc<Mutex<State>>,
    locks: LockTable,
}

struct State {
    dirs: BTreeSet<PathBuf>,
    files: BTreeMap<PathBuf, MemFile>,
    random: Random,
    now: Duration,
}

/// The bytes of one file, whatever its names.
#[derive(Clone, Default)]
struct MemFile(Arc<Mutex<Vec<u8>>>);

impl MemStorage {
    /// Nothing but the root and the current directory. The same seed gives the same random
    /// numbers.
    pub fn new(seed: u64) -> Self {
        let state = State {
            dirs: BTreeSet::from([PathBuf::from("/"), PathBuf::new()]),
            files: BTreeMap::new(),
            random: Random::new(seed),
            now: Duration::ZERO,
        };
        Self { state: Arc::new(Mutex::new(state)), locks: LockTable::default() }
    }

    /// A copy that shares nothing, with no lock held: what the next process finds.
    pub fn fork(&self) -> Self {
        let state = lock(&self.state);
        let copy = |(path, file): (&PathBuf, &MemFile)| {
            (path.clone(), MemFile(Arc::new(Mutex::new(lock(&file.0).clone()))))
        };
        let state = State {
            dirs: state.dirs.clone(),
            files: state.files.iter().map(copy).collect(),
            random: state.random.clone(),
            now: state.now,
        };
        Self { state: Arc::new(Mutex::new(state)), locks: LockTable::default() }
    }

    /// The bytes of a file.
    pub fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        let file = self.file(path)?;
        Ok(lock(&file.0).clone())
    }

    /// Puts a file there, whatever was there before.
    pub fn set_bytes(&self, path: &Path, bytes: Vec<u8>) {
        lock(&self.state).files.insert(path.to_owned(), MemFile(Arc::new(Mutex::new(bytes))));
    }

    /// Moves the clock on.
    pub fn advance(&self, by: Duration) {
        lock(&self.state).now += by;
    }

    fn file(&self, path: &Path) -> io::Result<MemFile> {
        lock(&self.state).files.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl fmt::Debug for MemStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemStorage({} files)", lock(&self.state).files.len())
    }
}

impl fmt::Debug for MemFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemFile({} bytes)", lock(&self.0).len())
    }
}

impl State {
    /// A name can be made in this directory.
    fn check_parent(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(parent) if self.dirs.contains(parent) => Ok(()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Nobody has this name yet.
    fn check_free(&self, path: &Path) -> io::Result<()> {
        self.check_parent(path)?;
        if self.files.contains_key(path) || self.dirs.contains(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(())
    }
}

impl Storage for MemStorage {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        let mut state = lock(&self.state);
        if dir.ancestors().any(|dir| state.files.contains_key(dir)) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        state.dirs.extend(dir.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let state = lock(&self.state);
        if !state.dirs.contains(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let inside = state.files.iter().filter(|(path, _)| path.parent() == Some(dir));
        Ok(inside
            .map(|(path, file)| DirEntry { name: name_of(path), len: lock(&file.0).len() as u64 })
            .collect())
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        Ok(Arc::new(self.file(path)?))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let mut state = lock(&self.state);
        state.check_free(path)?;
        let file = MemFile::default();
        state.files.insert(path.to_owned(), file.clone());
        Ok(Box::new(MemWriteFile { file, appended: 0 }))
    }

    fn open_sync(&self, path: &Path) -> io::Result<Arc<dyn SyncFile>> {
        Ok(Arc::new(self.file(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.check_parent(to)?;
        let file = state.files.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.files.insert(to.to_owned(), file);
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.check_free(to)?;
        let file = state.files.get(from).cloned().ok_or(io::ErrorKind::NotFound)?;
        state.files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        lock(&self.state).files.remove(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(())
    }

    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = lock(&self.state);
        if !state.dirs.contains(from) {
            return Err(io::ErrorKind::NotFound.into());
        }
        state.check_free(to)?;
        let moved = |path: &Path| path.strip_prefix(from).ok().map(|rest| joined(to, rest));
        state.dirs = state.dirs.iter().map(|dir| moved(dir).unwrap_or_else(|| dir.clone())).collect();
        state.files = std::mem::take(&mut state.files)
            .into_iter()
            .map(|(path, file)| (moved(&path).unwrap_or(path), file))
            .collect();
        Ok(())
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = lock(&self.state);
        if !state.dirs.contains(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let inside = |path: &PathBuf| path.parent() == Some(dir);
        if state.dirs.iter().any(inside) || state.files.keys().any(inside) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        state.dirs.remove(dir);
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        match lock(&self.state).dirs.contains(dir) {
            true => Ok(()),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Box<dyn Lock>> {
        let mut state = lock(&self.state);
        if !state.files.contains_key(path) {
            if mode == LockMode::Shared {
                return Err(io::ErrorKind::NotFound.into());
            }
            state.check_free(path)?;
            state.files.insert(path.to_owned(), MemFile::default());
        }
        self.locks.acquire(path, mode)
    }

    fn random_u64(&self) -> u64 {
        lock(&self.state).random.next()
    }

    fn now(&self) -> Duration {
        lock(&self.state).now
    }
}

/// The last part of a path.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// `rest` below `dir`. Joined with nothing, a path would end in a slash.
pub(crate) fn joined(dir: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() { dir.to_owned() } else { dir.join(rest) }
}

/// The part of `bytes` that a read asks for; `UnexpectedEof` past the end.
pub(crate) fn slice_at(bytes: &[u8], offset: u64, len: usize) -> io::Result<&[u8]> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    let end = start.saturating_add(len);
    bytes.get(start..end).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Writes `part` at `start`, which is not behind the end. Where it ends.
pub(crate) fn write_at(bytes: &mut Vec<u8>, start: usize, part: &[u8]) -> usize {
    let (inside, behind) = part.split_at(part.len().min(bytes.len() - start));
    bytes[start..start + inside.len()].copy_from_slice(inside);
    bytes.extend_from_slice(behind);
    start + part.len()
}

/// Lets `bytes` have `count` bytes behind `start`, new ones zeros.
pub(crate) fn reserve_at(bytes: &mut Vec<u8>, start: usize, count: u64) -> io::Result<()> {
    let end = usize::try_from(count).ok().and_then(|count| start.checked_add(count));
    let end = end.ok_or(io::ErrorKind::StorageFull)?;
    let more = end.saturating_sub(bytes.len());
    bytes.try_reserve(more).map_err(|_| io::ErrorKind::StorageFull)?;
    bytes.resize(bytes.len() + more, 0);
    Ok(())
}

impl ReadFile for MemFile {
    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.0).len() as u64)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        buf.copy_from_slice(slice_at(&lock(&self.0), offset, buf.len())?);
        Ok(())
    }

    fn map(&self, len: u64) -> io::Result<Arc<dyn Map>> {
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        Ok(Arc::new(MemMap::copy(slice_at(&lock(&self.0), 0, len)?)))
    }
}

/// A file to append to.
#[derive(Debug)]
struct MemWriteFile {
    file: MemFile,
    appended: usize,
}

impl WriteFile for MemWriteFile {
    fn append(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let mut bytes = lock(&self.file.0);
        for part in parts {
            self.appended = write_at(&mut bytes, self.appended, part);
        }
        Ok(())
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        reserve_at(&mut lock(&self.file.0), self.appended, bytes)
    }

    fn trim(&mut self) -> io::Result<()> {
        lock(&self.file.0).truncate(self.appended);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn syncer(&self) -> io::Result<Arc<dyn SyncFile>> {
        Ok(Arc::new(self.file.clone()))
    }
}

impl SyncFile for MemFile {
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A copy of bytes that calls itself a map.
pub(crate) struct MemMap(Box<[u8]>);

impl MemMap {
    /// Copies `bytes`.
    pub(crate) fn copy(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl Deref for MemMap {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for MemMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemMap({} bytes)", self.0.len())
    }
}

impl Map for MemMap {}
