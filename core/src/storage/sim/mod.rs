//! A simulated disk that injects faults and cuts the power, the same way again for a seed.
//!
//! What a process sees and what the disk keeps stand apart, for the bytes of every file and for
//! the names of every directory. [`SimStorage::reboot`] gives what is left after a power cut:
//! - Bytes before the last good sync are there. Of those after it each 512-byte sector is kept
//!   as it stood after any of the appends that touched it, or not at all (zeros). The file ends
//!   anywhere between the shortest and the longest it was since then: appends and reservations
//!   make it longer, a trim makes it shorter.
//! - Names of a directory that were changed since its last sync are kept or lost one change at
//!   a time, in any combination. A rename is one change: its target is the old or the new file.
//! - Directories are durable when made, as the seam promises. One that was moved or removed since
//!   its parent was last synced is moved or gone, or as it was, one change at a time.
//!
//! [`SimStorage::kill`] gives what the next process finds after this one died: all of it.
//!
//! Both freeze the old storage: every operation on it fails from then on, so that threads of a
//! store that was running cannot reach the new one. Clones are the same storage.

mod dirs;
mod disk;
mod fault;
mod files;
mod power;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use disk::{Change, Disk, InodeNo};
pub use fault::{Effect, Fault, Op};
use fault::{Faults, Outcome};
use files::{Handle, SimReadFile, SimSyncFile, SimWriteFile};

use super::locks::LockTable;
use super::mem::name_of;
use super::random::Random;
use super::{DirEntry, Lock, LockMode, ReadFile, Storage, SyncFile, WriteFile};
use crate::sync::lock;

/// A simulated disk, the process that uses it, and the faults that wait for it.
#[derive(Clone)]
pub struct SimStorage {
    world: Arc<Mutex<World>>,
    locks: LockTable,
}

/// All state of a simulation.
struct World {
    disk: Disk,
    faults: Faults,
    random: Random,
    now: Duration,
}

/// How far the clock goes at each look.
const TICK: Duration = Duration::from_micros(1);

impl SimStorage {
    /// An empty disk. The same seed and the same operations give the same results.
    pub fn new(seed: u64) -> Self {
        Self::with_disk(Disk::default(), seed)
    }

    fn with_disk(disk: Disk, seed: u64) -> Self {
        let world = World { disk, faults: Faults::default(), random: Random::new(seed), now: Duration::ZERO };
        Self { world: Arc::new(Mutex::new(world)), locks: LockTable::default() }
    }

    /// Lets a fault wait for its operation.
    pub fn inject(&self, fault: Fault) {
        self.world().faults.arm(fault);
    }

    /// Takes all waiting faults away. A crash that happened stays.
    pub fn clear_faults(&self) {
        self.world().faults.disarm();
    }

    /// Limits the bytes of all files; more give `StorageFull`. `None` lifts the limit.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.world().disk.capacity = bytes;
    }

    /// Operations so far, failed ones included.
    pub fn operations(&self) -> u64 {
        self.world().faults.total()
    }

    /// The same of one kind.
    pub fn operations_of(&self, op: Op) -> u64 {
        self.world().faults.count(op)
    }

    /// All kinds that occurred, with how often.
    pub fn operation_counts(&self) -> BTreeMap<Op, u64> {
        self.world().faults.counts()
    }

    /// A fault stopped the machine, or it was killed or rebooted.
    pub fn is_off(&self) -> bool {
        self.world().faults.is_off()
    }

    /// Moves the clock on.
    pub fn advance(&self, by: Duration) {
        self.world().now += by;
    }

    /// The power fails; what `seed` chooses of all that may survive is a new disk.
    pub fn reboot(&self, seed: u64) -> Self {
        let mut world = self.world();
        world.faults.turn_off();
        let disk = world.disk.after_power_cut(&mut Random::new(seed));
        Self::with_disk(disk, seed)
    }

    /// The process dies; the next one finds every byte and name, synced or not.
    pub fn kill(&self) -> Self {
        let mut world = self.world();
        world.faults.turn_off();
        let seed = world.random.next();
        Self::with_disk(world.disk.reachable(), seed)
    }

    /// The bytes of a file as a process sees them.
    pub fn bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        let world = self.world();
        Ok(world.disk.inode(world.disk.find(path)?).bytes().to_vec())
    }

    /// Puts a durable file there, whatever was there before.
    pub fn set_bytes(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.world().disk.put_durable(path, bytes)
    }

    fn handle(&self, path: &Path, inode: InodeNo) -> Handle {
        Handle { world: self.world.clone(), inode, name: name_of(path) }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        lock(&self.world)
    }

    /// An operation that changes names: `change` runs unless a fault forbids it.
    fn renaming(
        &self,
        op: Op,
        path: &Path,
        change: impl FnOnce(&mut Disk) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut world = self.world();
        let outcome = world.begin(op, &name_of(path));
        outcome.run(|| change(&mut world.disk))
    }
}

impl World {
    /// Counts an operation and says what becomes of it.
    fn begin(&mut self, op: Op, name: &str) -> Outcome {
        self.faults.begin(op, name, &mut self.random)
    }

    /// An operation that only looks.
    fn look(&mut self, op: Op, name: &str) -> io::Result<()> {
        match self.begin(op, name) {
            Outcome::Go => Ok(()),
            Outcome::Fail(error)
            | Outcome::Crash { error, .. }
            | Outcome::Short(error)
            | Outcome::Drop(error) => Err(error),
        }
    }
}

impl fmt::Debug for SimStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimStorage({} operations)", self.operations())
    }
}

impl Storage for SimStorage {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.renaming(Op::CreateDir, dir, |disk| disk.create_dir_all(dir))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        let mut world = self.world();
        world.look(Op::List, &name_of(dir))?;
        let names = world.disk.dir(dir)?.names();
        Ok(names
            .map(|(name, inode)| DirEntry { name: name.clone(), len: world.disk.inode(inode).len() })
            .collect())
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        let mut world = self.world();
        world.look(Op::Open, &name_of(path))?;
        let inode = world.disk.find(path)?;
        Ok(Arc::new(SimReadFile(self.handle(path, inode))))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let mut made = None;
        self.renaming(Op::Create, path, |disk| {
            disk.check_free(path)?;
            let inode = disk.new_inode();
            made = Some(inode);
            disk.change(path, Change::puts(name_of(path), inode))
        })?;
        match made {
            Some(inode) => Ok(Box::new(SimWriteFile(self.handle(path, inode)))),
            None => Err(io::Error::other("no file was made")),
        }
    }

    fn open_sync(&self, path: &Path) -> io::Result<Arc<dyn SyncFile>> {
        let mut world = self.world();
        world.look(Op::Open, &name_of(path))?;
        let inode = world.disk.find(path)?;
        Ok(Arc::new(SimSyncFile(self.handle(path, inode))))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.renaming(Op::Rename, to, |disk| {
            let inode = disk.find(from)?;
            if from.parent() != to.parent() {
                return Err(io::ErrorKind::CrossesDevices.into());
            }
            disk.change(to, Change::moves(name_of(from), name_of(to), inode))
        })
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.renaming(Op::Link, to, |disk| {
            let inode = disk.find(from)?;
            disk.check_free(to)?;
            disk.change(to, Change::puts(name_of(to), inode))
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.renaming(Op::Remove, path, |disk| {
            disk.find(path)?;
            disk.change(path, Change::takes(name_of(path)))
        })
    }

    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.renaming(Op::Rename, to, |disk| disk.rename_dir(from, to))
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.renaming(Op::Remove, dir, |disk| disk.remove_dir(dir))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.renaming(Op::SyncDir, dir, |disk| disk.sync_dir(dir))
    }

    fn lock(&self, path: &Path, mode: LockMode) -> io::Result<Box<dyn Lock>> {
        self.renaming(Op::Lock, path, |disk| match (disk.find(path), mode) {
            (Ok(_), _) => Ok(()),
            (Err(error), LockMode::Shared) => Err(error),
            (Err(_), LockMode::Exclusive) => {
                disk.check_free(path)?;
                let inode = disk.new_inode();
                disk.change(path, Change::puts(name_of(path), inode))
            }
        })?;
        self.locks.acquire(path, mode)
    }

    fn random_u64(&self) -> u64 {
        self.world().random.next()
    }

    fn now(&self) -> Duration {
        let mut world = self.world();
        world.now += TICK;
        world.now
    }
}
