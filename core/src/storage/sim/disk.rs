//! The disk: what a process sees of files and names, and what of it is durable.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::dirs::DirChange;
use crate::storage::mem::{name_of, reserve_at, write_at};

/// Number of a file, whatever its names.
pub(super) type InodeNo = u64;

/// Files and directories.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    pub(super) inodes: BTreeMap<InodeNo, Inode>,
    pub(super) dirs: BTreeMap<PathBuf, Directory>,
    /// Directories moved and removed since their parents were last synced, in order.
    pub(super) dir_changes: Vec<DirChange>,
    next_inode: InodeNo,
    /// Bytes that all files may have together.
    pub(super) capacity: Option<u64>,
}

impl Default for Disk {
    fn default() -> Self {
        let dirs = [Path::new("/"), Path::new("")].map(|dir| (dir.to_owned(), Directory::default()));
        Self {
            inodes: BTreeMap::new(),
            dirs: BTreeMap::from(dirs),
            dir_changes: Vec::new(),
            next_inode: 1,
            capacity: None,
        }
    }
}

/// The bytes of a file. They are durable up to `synced`, except in `dropped`.
#[derive(Clone, Debug, Default)]
pub(super) struct Inode {
    /// Those appended, then those reserved.
    pub(super) bytes: Vec<u8>,
    pub(super) appended: usize,
    pub(super) synced: usize,
    /// Parts below `synced` that a failed sync should have written and no later one will.
    pub(super) dropped: Vec<Range<usize>>,
    /// Lengths after each append since the last good sync: what a sector may have looked like.
    pub(super) appends: Vec<usize>,
    /// Its length when it was last synced, and the shortest and the longest since.
    pub(super) synced_len: usize,
    pub(super) shortest: usize,
    pub(super) longest: usize,
}

impl Inode {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.appended = write_at(&mut self.bytes, self.appended, bytes);
        self.appends.push(self.appended);
        self.note_len();
    }

    pub(super) fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        reserve_at(&mut self.bytes, self.appended, bytes)?;
        self.note_len();
        Ok(())
    }

    pub(super) fn trim(&mut self) {
        self.bytes.truncate(self.appended);
        self.note_len();
    }

    fn note_len(&mut self) {
        self.shortest = self.shortest.min(self.bytes.len());
        self.longest = self.longest.max(self.bytes.len());
    }

    /// Bytes that were reserved and not appended.
    pub(super) fn reserved(&self) -> usize {
        self.bytes.len() - self.appended
    }

    /// All bytes and the length become durable.
    pub(super) fn sync(&mut self) {
        self.synced = self.appended;
        self.appends.clear();
        let len = self.bytes.len();
        (self.synced_len, self.shortest, self.longest) = (len, len, len);
    }

    /// The sync fails and forgets what it had to write.
    pub(super) fn drop_unsynced(&mut self) {
        if self.synced < self.appended {
            self.dropped.push(self.synced..self.appended);
        }
        self.sync();
    }
}

/// Names of a directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Directory {
    pub(super) names: BTreeMap<String, InodeNo>,
    pub(super) durable: BTreeMap<String, InodeNo>,
    /// Changes since the last sync, in order.
    pub(super) pending: Vec<Change>,
}

/// One atomic change of a directory.
#[derive(Clone, Debug)]
pub(super) struct Change {
    takes: Option<String>,
    puts: Option<(String, InodeNo)>,
}

impl Change {
    pub(super) fn puts(name: String, inode: InodeNo) -> Self {
        Self { takes: None, puts: Some((name, inode)) }
    }

    pub(super) fn takes(name: String) -> Self {
        Self { takes: Some(name), puts: None }
    }

    pub(super) fn moves(from: String, to: String, inode: InodeNo) -> Self {
        Self { takes: Some(from), puts: Some((to, inode)) }
    }

    pub(super) fn apply(&self, names: &mut BTreeMap<String, InodeNo>) {
        if let Some(name) = &self.takes {
            names.remove(name);
        }
        if let Some((name, inode)) = &self.puts {
            names.insert(name.clone(), *inode);
        }
    }
}

impl Directory {
    /// Names that are durable and nothing else.
    pub(super) fn durable(names: BTreeMap<String, InodeNo>) -> Self {
        Self { durable: names.clone(), names, pending: Vec::new() }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = (&String, InodeNo)> {
        self.names.iter().map(|(name, inode)| (name, *inode))
    }

    /// All names become durable.
    pub(super) fn sync(&mut self) {
        self.durable = self.names.clone();
        self.pending.clear();
    }

    /// Files that a process, or a process after some power cut, can reach.
    pub(super) fn reachable(&self) -> impl Iterator<Item = InodeNo> {
        let pending = self.pending.iter().filter_map(|change| change.puts.as_ref()).map(|(_, inode)| *inode);
        self.names.values().chain(self.durable.values()).copied().chain(pending)
    }
}

impl Disk {
    pub(super) fn dir(&self, dir: &Path) -> io::Result<&Directory> {
        self.dirs.get(dir).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn dir_mut(&mut self, dir: &Path) -> io::Result<&mut Directory> {
        self.dirs.get_mut(dir).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// The file of this name.
    pub(super) fn find(&self, path: &Path) -> io::Result<InodeNo> {
        let dir = self.dir(parent_of(path)?)?;
        dir.names.get(&name_of(path)).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Nobody has this name yet, and its directory exists.
    pub(super) fn check_free(&self, path: &Path) -> io::Result<()> {
        let dir = self.dir(parent_of(path)?)?;
        if dir.names.contains_key(&name_of(path)) || self.dirs.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(())
    }

    pub(super) fn create_dir_all(&mut self, dir: &Path) -> io::Result<()> {
        if dir.ancestors().any(|dir| self.find(dir).is_ok()) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        for dir in dir.ancestors() {
            if !self.dirs.contains_key(dir) {
                self.dirs.insert(dir.to_owned(), Directory::default());
                // It is durable when made, so its parent was synced.
                self.settle_dirs(dir.parent());
            }
        }
        Ok(())
    }

    /// Changes the directory that `path` is in.
    pub(super) fn change(&mut self, path: &Path, change: Change) -> io::Result<()> {
        let dir = self.dir_mut(parent_of(path)?)?;
        change.apply(&mut dir.names);
        dir.pending.push(change);
        Ok(())
    }

    pub(super) fn new_inode(&mut self) -> InodeNo {
        let inode = self.next_inode;
        self.next_inode += 1;
        self.inodes.insert(inode, Inode::default());
        inode
    }

    pub(super) fn inode(&self, inode: InodeNo) -> &Inode {
        // Numbers come from `new_inode`, and nothing takes one away from a live disk.
        &self.inodes[&inode]
    }

    pub(super) fn inode_mut(&mut self, inode: InodeNo) -> &mut Inode {
        self.inodes.entry(inode).or_default()
    }

    /// Bytes that still fit.
    pub(super) fn room(&self) -> usize {
        let Some(capacity) = self.capacity else { return usize::MAX };
        let named: BTreeSet<InodeNo> =
            self.dirs.values().flat_map(|dir| dir.names.values()).copied().collect();
        let used: u64 = named.iter().map(|inode| self.inode(*inode).len()).sum();
        usize::try_from(capacity.saturating_sub(used)).unwrap_or(usize::MAX)
    }

    /// Puts a durable file there.
    pub(super) fn put_durable(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let inode = self.new_inode();
        let file = self.inode_mut(inode);
        file.append(bytes);
        file.sync();
        let dir = self.dir_mut(parent_of(path)?)?;
        dir.names.insert(name_of(path), inode);
        dir.durable.insert(name_of(path), inode);
        Ok(())
    }

    /// The same disk without the files that nobody can reach again.
    pub(super) fn reachable(&self) -> Self {
        let removed = self.dir_changes.iter().filter_map(DirChange::removed);
        let live: BTreeSet<InodeNo> =
            self.dirs.values().chain(removed).flat_map(Directory::reachable).collect();
        let mut disk = self.clone();
        disk.inodes.retain(|inode, _| live.contains(inode));
        disk
    }
}

pub(super) fn parent_of(path: &Path) -> io::Result<&Path> {
    path.parent().ok_or_else(|| io::ErrorKind::NotFound.into())
}
