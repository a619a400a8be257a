//! The storage seam: all the engine knows of disks, clocks and randomness.
//!
//! Three implementations: the file system, memory, and a simulator that injects faults and
//! cuts the power. Every durability claim of the engine is a test on the simulator.
//!
//! The contract, which is POSIX's: bytes appended are readable at once, and survive the death
//! of the process; they survive a power cut only after [`WriteFile::sync`] returned. A name
//! made by `create`, `rename`, `link` or taken away by `remove` survives a power cut only after
//! [`Storage::sync_dir`] of its directory returned; so for `rename_dir` and `remove_dir`. After a
//! failed sync nothing is known of the bytes appended since the last good one.
//!
//! Bytes that were [reserved](WriteFile::reserve) are part of the file, and zeros until they are
//! appended. So its length says nothing of how much was appended; after a power cut it is any of
//! those it had since the last sync, or between them.
//!
//! Public under the feature `storage-api`, unstable.

#[cfg(any(test, feature = "storage-api"))]
mod counting;
mod fs;
#[cfg(any(test, feature = "storage-api"))]
mod locks;
#[cfg(any(test, feature = "storage-api"))]
mod mem;
#[cfg(any(test, feature = "storage-api"))]
mod random;
#[cfg(any(test, feature = "storage-api"))]
mod sim;

use std::fmt::Debug;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

#[cfg(any(test, feature = "storage-api"))]
pub use counting::{CountingStorage, FileCounts};
pub use fs::FsStorage;
#[cfg(any(test, feature = "storage-api"))]
pub use mem::MemStorage;
#[cfg(any(test, feature = "storage-api"))]
pub use sim::{Effect, Fault, Op, SimStorage};

/// A file open for reading. Files of a store never change once their writer is done, and only
/// grow before.
#[cfg_attr(
    feature = "storage-api",
    expect(clippy::len_without_is_empty, reason = "no caller asks whether a file is empty")
)]
pub trait ReadFile: Send + Sync + Debug {
    /// Length in bytes now.
    fn len(&self) -> io::Result<u64>;
    /// Fills `buf` from `offset`. Short reads are retried inside; past the end: `UnexpectedEof`.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;
    /// Maps the first `len` bytes. `UnexpectedEof` if the file is shorter, `Unsupported` where
    /// the storage cannot map.
    fn map(&self, len: u64) -> io::Result<Arc<dyn Map>>;
    /// Says that reads from now on, and maps made from now on, are in no order: reading ahead of
    /// them is of no use. A hint.
    fn expect_random_reads(&self) {}
}

/// A read-only mapping of a file.
pub trait Map: Deref<Target = [u8]> + Send + Sync + Debug {}

/// A file open for appending. Dropping it closes it and syncs nothing.
pub trait WriteFile: Send + Debug {
    /// Appends all bytes of all parts, in order, in as few system calls as may be. After an
    /// error some bytes may stand at the end.
    fn append(&mut self, parts: &[&[u8]]) -> io::Result<()>;
    /// Makes room for `bytes` bytes behind those appended so far, so that appending and syncing
    /// them changes no length. A hint: where a storage cannot, or after an error, appends go on
    /// as without it.
    fn reserve(&mut self, bytes: u64) -> io::Result<()>;
    /// Gives back what was reserved and not appended. Durable after a sync.
    fn trim(&mut self) -> io::Result<()>;
    /// Makes all appended bytes durable.
    fn sync(&mut self) -> io::Result<()>;
    /// A handle that can sync this file from another thread while appends go on.
    fn syncer(&self) -> io::Result<Arc<dyn SyncFile>>;
}

/// Syncs a file that somebody else appends to.
pub trait SyncFile: Send + Sync + Debug {
    /// Makes durable all bytes appended before the call.
    fn sync(&self) -> io::Result<()>;
}

/// A held directory lock; dropping it releases it.
pub trait Lock: Send + Sync + Debug {}

/// Shared by readers, or held by one writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Any number of readers.
    Shared,
    /// One writer.
    Exclusive,
}

/// One name of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    /// File name.
    pub name: String,
    /// Length in bytes.
    pub len: u64,
}

/// All the engine knows of disks, clocks and randomness.
pub trait Storage: Send + Sync + Debug {
    /// Makes a directory and those of its parents that are missing, mode 0700. What it made is
    /// durable when it returns.
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;
    /// The plain files of a directory, in no order; a name that is no UTF-8 is shown with
    /// replacement characters. `NotFound` if there is no such directory.
    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>>;
    /// The names of a directory that are no plain files, in no order. A storage that has none but
    /// directories that the engine made need not say.
    fn list_others(&self, _dir: &Path) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }
    /// Opens a file for reading. `NotFound` if there is none.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>>;
    /// Makes a new file, mode 0600; `AlreadyExists` if the name is taken.
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>>;
    /// Opens an existing file for syncing what another process appended.
    fn open_sync(&self, path: &Path) -> io::Result<Arc<dyn SyncFile>>;
    /// Moves a file, replacing the target atomically.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// A second name for the same file. `Unsupported` or `CrossesDevices` where there is none.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Takes a name away. Open files and maps stay readable.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Moves a directory and all that is in it to a name that nobody has, atomically;
    /// `AlreadyExists` if the name is taken. Both names are in the same directory.
    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Takes an empty directory away; `DirectoryNotEmpty` if it is not.
    fn remove_dir(&self, dir: &Path) -> io::Result<()>;
    /// Makes the names of a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Locks `path` without waiting; `WouldBlock` if held, also by this process. A missing file
    /// is made for an exclusive lock and `NotFound` for a shared one.
    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Box<dyn Lock>>;
    /// A random number.
    fn random_u64(&self) -> u64;
    /// Time since an arbitrary, fixed moment; never goes back.
    fn now(&self) -> Duration;
}

/// A random identity.
pub(crate) fn random_id(storage: &dyn Storage) -> [u8; 16] {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&storage.random_u64().to_le_bytes());
    id[8..].copy_from_slice(&storage.random_u64().to_le_bytes());
    id
}
