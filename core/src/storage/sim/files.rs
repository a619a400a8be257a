//! Open files of the simulated disk.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex};

use super::World;
use super::disk::InodeNo;
use super::fault::{Op, Outcome};
use crate::storage::mem::{MemMap, slice_at};
use crate::storage::{Map, ReadFile, SyncFile, WriteFile};
use crate::sync::lock;

/// A file to read.
pub(super) struct SimReadFile {
    pub(super) world: Arc<Mutex<World>>,
    pub(super) inode: InodeNo,
}

impl ReadFile for SimReadFile {
    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.world).disk.inode(self.inode).len())
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let mut world = lock(&self.world);
        world.look(Op::Read)?;
        buf.copy_from_slice(slice_at(world.disk.inode(self.inode).bytes(), offset, buf.len())?);
        Ok(())
    }

    fn map(&self, len: u64) -> io::Result<Arc<dyn Map>> {
        let mut world = lock(&self.world);
        world.look(Op::Map)?;
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        Ok(Arc::new(MemMap::copy(slice_at(world.disk.inode(self.inode).bytes(), 0, len)?)))
    }
}

/// A file to append to.
pub(super) struct SimWriteFile {
    pub(super) world: Arc<Mutex<World>>,
    pub(super) inode: InodeNo,
}

impl WriteFile for SimWriteFile {
    fn append(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let bytes = parts.concat();
        let mut world = lock(&self.world);
        let (landed, result) = match world.begin(Op::Append) {
            Outcome::Go => (bytes.len(), Ok(())),
            Outcome::Fail(error) | Outcome::Drop(error) => (0, Err(error)),
            Outcome::Short(error) | Outcome::Crash { error, .. } => {
                let landed = world.random.next() % (bytes.len() as u64 + 1);
                (usize::try_from(landed).unwrap_or(0), Err(error))
            }
        };
        let room = world.disk.room();
        world.disk.inode_mut(self.inode).append(&bytes[..landed.min(room)]);
        match result {
            Ok(()) if landed > room => Err(rustix::io::Errno::NOSPC.into()),
            result => result,
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        sync(&self.world, self.inode)
    }

    fn syncer(&self) -> io::Result<Arc<dyn SyncFile>> {
        Ok(Arc::new(SimSyncFile { world: self.world.clone(), inode: self.inode }))
    }
}

/// Syncs a file that somebody else appends to.
pub(super) struct SimSyncFile {
    pub(super) world: Arc<Mutex<World>>,
    pub(super) inode: InodeNo,
}

impl SyncFile for SimSyncFile {
    fn sync(&self) -> io::Result<()> {
        sync(&self.world, self.inode)
    }
}

fn sync(world: &Mutex<World>, inode: InodeNo) -> io::Result<()> {
    let mut world = lock(world);
    let outcome = world.begin(Op::Sync);
    let file = world.disk.inode_mut(inode);
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

macro_rules! debug_as_inode {
    ($($name:ident),*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.inode)
            }
        }
    )*};
}

debug_as_inode!(SimReadFile, SimWriteFile, SimSyncFile);
