//! Where a checkpoint is built: a directory beside the target, moved there when it is whole.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::files::{self, FileName};
use crate::manifest::read_pointer;
use crate::storage::{Lock, LockMode, Storage};
use crate::store::Store;

/// What the directory's name has more than the target's.
const SUFFIX: &str = ".checkpoint.tmp";

/// A directory that is being built. Unless it was published it is gone when this is dropped.
#[derive(Debug)]
pub(super) struct Site<'s> {
    storage: &'s dyn Storage,
    target: PathBuf,
    /// Where it is now: beside the target, or there.
    dir: PathBuf,
    published: bool,
    /// Nobody else builds here.
    _lock: Box<dyn Lock>,
}

impl<'s> Site<'s> {
    /// An empty directory, but for its lock file. What a crash left there is replaced.
    pub(super) fn begin(store: &'s Store, target: &Path) -> Result<Self> {
        let storage = &*store.storage;
        let (target, dir) = paths(target)?;
        check_outside(store, &target)?;
        check_free(storage, &target)?;
        let failed = |source| Error::io("create", &dir, source);
        storage.create_dir_all(&dir).map_err(failed)?;
        check_ours(storage, &dir)?;
        let path = dir.join(files::LOCK);
        let lock = storage.lock(&path, LockMode::Exclusive).map_err(|source| match source.kind() {
            io::ErrorKind::WouldBlock => {
                let message = format!("another checkpoint to {} is being made", target.display());
                Error::new(ErrorKind::Locked, message)
            }
            _ => Error::io("lock", &path, source),
        })?;
        let site = Self { storage, target, dir, published: false, _lock: lock };
        site.remove_files(|name| name != FileName::Lock)?;
        Ok(site)
    }

    /// Where to put the files.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Moves the directory, which is durable in itself, to the target, durably.
    pub(super) fn publish(mut self) -> Result<()> {
        self.storage.rename_dir(&self.dir, &self.target).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => exists(&self.target),
            _ => Error::io("rename", &self.dir, source),
        })?;
        self.dir.clone_from(&self.target);
        self.sync_parent()?;
        self.published = true;
        Ok(())
    }

    fn sync_parent(&self) -> Result<()> {
        let parent = self.target.parent().unwrap_or(Path::new(""));
        self.storage.sync_dir(parent).map_err(|source| Error::io("sync", parent, source))
    }

    fn remove_files(&self, which: impl Fn(FileName<'_>) -> bool) -> Result<()> {
        let listed = self.storage.list(&self.dir).map_err(|source| Error::io("list", &self.dir, source))?;
        for entry in listed.iter().filter(|entry| which(FileName::parse(&entry.name))) {
            let path = self.dir.join(&entry.name);
            self.storage.remove(&path).map_err(|source| Error::io("remove", &path, source))?;
        }
        Ok(())
    }

    fn remove(&self) -> Result<()> {
        self.remove_files(|_| true)?;
        self.storage.remove_dir(&self.dir).map_err(|source| Error::io("remove", &self.dir, source))?;
        self.sync_parent()
    }
}

impl Drop for Site<'_> {
    fn drop(&mut self) {
        if !self.published {
            // The failure that led here is what the caller is told; what cannot be removed now is
            // replaced by the next checkpoint to this target.
            let _ = self.remove();
        }
    }
}

/// The target, and the directory beside it.
fn paths(target: &Path) -> Result<(PathBuf, PathBuf)> {
    let Some(name) = target.file_name() else {
        return Err(Error::invalid(format!("checkpoint target {}: it has no name", target.display())));
    };
    let mut building = OsString::from(name);
    building.push(SUFFIX);
    let parent = target.parent().unwrap_or(Path::new(""));
    Ok((parent.join(name), parent.join(building)))
}

fn exists(target: &Path) -> Error {
    Error::invalid(format!("checkpoint target {}: it exists, and must not", target.display()))
}

/// Refuses a target that is there, be it a directory or a file.
fn check_free(storage: &dyn Storage, target: &Path) -> Result<()> {
    let absent =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    match storage.list(target).map(drop) {
        Err(error) if absent(&error) => {}
        Err(source) => return Err(Error::io("list", target, source)),
        Ok(()) => return Err(exists(target)),
    }
    match storage.open(target) {
        Err(error) if absent(&error) => Ok(()),
        Err(source) => Err(Error::io("open", target, source)),
        Ok(_) => Err(exists(target)),
    }
}

/// Refuses a target inside the store's own directory, by its path or by way of a link to it.
fn check_outside(store: &Store, target: &Path) -> Result<()> {
    let within = || {
        // Behind a ".." another directory may be meant than the path says.
        let plain = target.components().all(|part| part != Component::ParentDir);
        plain
            && target.ancestors().skip(1).any(|dir| {
                read_pointer(&*store.storage, dir).is_ok_and(|pointer| pointer.store_id == store.id)
            })
    };
    if absolute(target).starts_with(absolute(&store.dir)) || within() {
        let message = format!("checkpoint target {}: it is inside the store's directory", target.display());
        return Err(Error::invalid(message));
    }
    Ok(())
}

/// The path from the root, without "." and "..".
fn absolute(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Refuses a directory that has files which no checkpoint makes.
fn check_ours(storage: &dyn Storage, dir: &Path) -> Result<()> {
    let listed = storage.list(dir).map_err(|source| Error::io("list", dir, source))?;
    match listed.iter().find(|entry| FileName::parse(&entry.name) == FileName::Other) {
        Some(entry) => Err(Error::invalid(format!(
            "directory {}, where a checkpoint would be built, has a file {:?} that is no checkpoint's",
            dir.display(),
            entry.name
        ))),
        None => Ok(()),
    }
}
