//! The directory of a store as it is found at open.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use kiban_formats::FileNo;
use kiban_formats::manifest::State;

use super::DbBuilder;
use crate::error::{Error, ErrorKind, Result};
use crate::files::{self, FileName};
use crate::settings::RecoveryMode;
use crate::storage::{DirEntry, Storage};

/// The files of the directory.
pub(super) struct Directory {
    /// `None`: there is no directory.
    entries: Option<Vec<DirEntry>>,
}

impl Directory {
    pub(super) fn look(storage: &dyn Storage, dir: &Path) -> Result<Self> {
        match storage.list(dir) {
            Ok(entries) => Ok(Self { entries: Some(entries) }),
            Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(Self { entries: None }),
            Err(source) => Err(Error::io("list", dir, source)),
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = (FileName<'_>, &DirEntry)> {
        self.entries.iter().flatten().map(|entry| (FileName::parse(&entry.name), entry))
    }

    /// Whether there is a store; `false` if one is to be made.
    pub(super) fn check(&self, builder: &DbBuilder) -> Result<bool> {
        let dir = &builder.path;
        if self.names().any(|(name, _)| name == FileName::Current) {
            return Ok(true);
        }
        // A creation that was cut short leaves a manifest at most; logs and tables come after
        // the pointer.
        let live = |name: &FileName<'_>| matches!(name, FileName::Table(_) | FileName::Log(_));
        if self.names().any(|(name, _)| live(&name)) {
            let path = dir.join(files::CURRENT);
            return Err(Error::corruption(&path, "it is missing, and the directory has files of a store"));
        }
        let creating = |name: FileName<'_>| matches!(name, FileName::Manifest(_) | FileName::Temporary(_));
        let began = self.names().any(|(name, _)| creating(name));
        if !began && self.names().any(|(name, _)| name == FileName::Other) {
            return Err(Error::invalid(format!("directory {} has files and is no store", dir.display())));
        }
        if builder.read_only || !builder.create_if_missing {
            let message = format!("there is no store in {}", dir.display());
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        Ok(false)
    }

    /// Above all numbers that were used.
    pub(super) fn next_file(&self, state: &State) -> FileNo {
        let greatest = self.names().filter_map(|(name, _)| name.no()).max();
        let above = greatest.map_or(1, |no| no.0.saturating_add(1));
        FileNo(above.max(state.next_file.0))
    }

    /// Log files, rising.
    pub(super) fn logs(&self) -> Vec<FileNo> {
        let mut logs: Vec<FileNo> = self.names().filter_map(|(name, _)| as_log(name)).collect();
        logs.sort_unstable();
        logs
    }

    /// Refuses a store of which a table is missing or has another length.
    pub(super) fn check_tables(&self, state: &State, dir: &Path) -> Result<()> {
        let there: HashMap<FileNo, u64> = self
            .names()
            .filter_map(|(name, entry)| match name {
                FileName::Table(no) => Some((no, entry.len)),
                _ => None,
            })
            .collect();
        for table in state.keyspaces.values().flat_map(|space| &space.tables) {
            let path = dir.join(files::table(table.no));
            match there.get(&table.no) {
                None => {
                    return Err(Error::corruption(
                        &path,
                        "the manifest names this table, and it is not there",
                    ));
                }
                Some(len) if *len != table.bytes => {
                    let what = format!("it has {len} bytes, the manifest says {}", table.bytes);
                    return Err(Error::corruption(&path, what));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// Refuses a directory in which a log that may be needed is no plain file.
pub(super) fn check_others(builder: &DbBuilder, state: &State) -> Result<()> {
    let dir = &builder.path;
    let others = builder.storage.list_others(dir).map_err(|source| Error::io("list", dir, source))?;
    for name in others.iter().filter(|_| builder.settings.recovery == RecoveryMode::Strict) {
        if as_log(FileName::parse(name)).is_some_and(|no| no >= state.logs.oldest) {
            return Err(Error::corruption(&dir.join(name), "it has the name of a log, and is no plain file"));
        }
    }
    Ok(())
}

fn as_log(name: FileName<'_>) -> Option<FileNo> {
    match name {
        FileName::Log(no) => Some(no),
        _ => None,
    }
}
