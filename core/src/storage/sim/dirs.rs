//! Directories that are moved and removed, and what a power cut makes of that.

use std::io;
use std::path::{Path, PathBuf};

use super::disk::{Directory, Disk, parent_of};
use crate::storage::mem::joined;

/// A change of a directory's own name that a power cut may undo.
#[derive(Clone, Debug)]
pub(super) enum DirChange {
    Moved {
        from: PathBuf,
        to: PathBuf,
    },
    /// It may come back with names that were durable in it.
    Removed {
        dir: PathBuf,
        was: Directory,
    },
}

impl DirChange {
    /// The directory whose sync makes it durable.
    fn parent(&self) -> Option<&Path> {
        match self {
            Self::Moved { to: dir, .. } | Self::Removed { dir, .. } => dir.parent(),
        }
    }

    /// A directory that only a power cut brings back.
    pub(super) fn removed(&self) -> Option<&Directory> {
        match self {
            Self::Removed { was, .. } => Some(was),
            Self::Moved { .. } => None,
        }
    }
}

impl Disk {
    /// Moves a directory and all that is in it.
    pub(super) fn rename_dir(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.dir(from)?;
        if from.parent() != to.parent() {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        self.check_free(to)?;
        self.move_dirs(from, to);
        self.dir_changes.push(DirChange::Moved { from: from.to_owned(), to: to.to_owned() });
        Ok(())
    }

    /// Takes an empty directory away.
    pub(super) fn remove_dir(&mut self, dir: &Path) -> io::Result<()> {
        let found = self.dir(dir)?;
        if !found.names.is_empty() || self.dirs.keys().any(|other| other.parent() == Some(dir)) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        if let Some(was) = self.dirs.remove(dir) {
            self.dir_changes.push(DirChange::Removed { dir: dir.to_owned(), was });
        }
        Ok(())
    }

    /// Makes all names of a directory durable.
    pub(super) fn sync_dir(&mut self, dir: &Path) -> io::Result<()> {
        self.dir_mut(dir)?.sync();
        self.settle_dirs(Some(dir));
        Ok(())
    }

    /// No power cut undoes what was done to directories of `parent`.
    pub(super) fn settle_dirs(&mut self, parent: Option<&Path>) {
        self.dir_changes.retain(|change| change.parent() != parent);
    }

    /// Puts directories back as they were, those of which `undo` says so, latest first.
    pub(super) fn undo_some_dir_changes(&mut self, mut undo: impl FnMut() -> bool) {
        while let Some(change) = self.dir_changes.pop() {
            if !undo() {
                continue;
            }
            match change {
                DirChange::Moved { from, to } => self.move_dirs(&to, &from),
                DirChange::Removed { dir, was } => {
                    let there = parent_of(&dir).is_ok_and(|parent| self.dirs.contains_key(parent));
                    if there {
                        self.dirs.entry(dir).or_insert(was);
                    }
                }
            }
        }
    }

    fn move_dirs(&mut self, from: &Path, to: &Path) {
        let moved = |dir: PathBuf| dir.strip_prefix(from).map(|rest| joined(to, rest)).unwrap_or(dir);
        self.dirs =
            std::mem::take(&mut self.dirs).into_iter().map(|(dir, names)| (moved(dir), names)).collect();
    }
}
