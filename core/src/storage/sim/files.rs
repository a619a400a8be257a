//! Open files of the simulated disk.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

use super::World;
use super::disk::{Disk, InodeNo};
use super::fault::{Op, Outcome};
use crate::storage::mem::{MemMap, slice_at};
use crate::storage::{Map, ReadFile, SyncFile, WriteFile};
use crate::sync::lock;

/// An open file.
#[derive(Clone)]
pub(super) struct Handle {
    pub(super) world: Arc<Mutex<World>>,
    pub(super) inode: InodeNo,
    /// The name it was opened by.
    pub(super) name: String,
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A file to read.
#[derive(Debug)]
pub(super) struct SimReadFile(pub(super) Handle);

impl ReadFile for SimReadFile {
    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.0.world).disk.inode(self.0.inode).len())
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let mut world = lock(&self.0.world);
        world.look(Op::Read, &self.0.name)?;
        buf.copy_from_slice(slice_at(world.disk.inode(self.0.inode).bytes(), offset, buf.len())?);
        Ok(())
    }

    fn map(&self, len: u64) -> io::Result<Arc<dyn Map>> {
        let mut world = lock(&self.0.world);
        world.look(Op::Map, &self.0.name)?;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        Ok(Arc::new(MemMap::copy(slice_at(world.disk.inode(self.0.inode).bytes(), 0, len)?)))
    }
}

/// A file to append to.
#[derive(Debug)]
pub(super) struct SimWriteFile(pub(super) Handle);

impl WriteFile for SimWriteFile {
    fn append(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let bytes = parts.concat();
        let mut world = lock(&self.0.world);
        let (landed, result) = match world.begin(Op::Append, &self.0.name) {
            Outcome::Go => (bytes.len(), Ok(())),
            Outcome::Fail(error) | Outcome::Drop(error) => (0, Err(error)),
            Outcome::Short(error) | Outcome::Crash { error, .. } => {
                let landed = world.random.next() % (bytes.len() as u64 + 1);
                (usize::try_from(landed).unwrap_or(0), Err(error))
            }
        };
        let room = world.disk.room().saturating_add(world.disk.inode(self.0.inode).reserved());
        world.disk.inode_mut(self.0.inode).append(&bytes[..landed.min(room)]);
        match result {
            Ok(()) if landed > room => Err(rustix::io::Errno::NOSPC.into()),
            result => result,
        }
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        let inode = self.0.inode;
        self.0.resize(Op::Reserve, |disk| {
            let room = disk.room().saturating_add(disk.inode(inode).reserved());
            if bytes > room as u64 {
                return Err(rustix::io::Errno::NOSPC.into());
            }
            disk.inode_mut(inode).reserve(bytes)
        })
    }

    fn trim(&mut self) -> io::Result<()> {
        let inode = self.0.inode;
        self.0.resize(Op::Trim, |disk| {
            disk.inode_mut(inode).trim();
            Ok(())
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }

    fn syncer(&self) -> io::Result<Arc<dyn SyncFile>> {
        Ok(Arc::new(SimSyncFile(self.0.clone())))
    }
}

/// Syncs a file that somebody else appends to.
#[derive(Debug)]
pub(super) struct SimSyncFile(pub(super) Handle);

impl SyncFile for SimSyncFile {
    fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }
}

impl Handle {
    /// An operation that changes the length and no byte that was appended.
    fn resize(&self, op: Op, change: impl FnOnce(&mut Disk) -> io::Result<()>) -> io::Result<()> {
        let mut world = lock(&self.world);
        let outcome = world.begin(op, &self.name);
        outcome.run(|| change(&mut world.disk))
    }

    fn sync(&self) -> io::Result<()> {
        let mut world = lock(&self.world);
        let outcome = world.begin(Op::Sync, &self.name);
        let file = world.disk.inode_mut(self.inode);
        match outcome {
            Outcome::Go => {
                file.sync();
                Ok(())
            }
            Outcome::Fail(error) | Outcome::Short(error) => Err(error),
            Outcome::Drop(error) => {
                file.drop_unsynced();
                Err(error)
            }
            Outcome::Crash { error, done } => {
                if done {
                    file.sync();
                }
                Err(error)
            }
        }
    }
}
