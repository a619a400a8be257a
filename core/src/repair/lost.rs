//! Files that could not be used, kept in a directory of their own.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use crate::db::DbBuilder;
use crate::error::{Error, Result};
use crate::files;
use crate::transfer::Transfer;

/// The directory, inside the store's.
const LOST: &str = "lost";

/// Files that are in the directory, and in their old place until the store can do without them.
pub(super) struct Kept<'a> {
    builder: &'a DbBuilder,
    names: BTreeSet<String>,
}

/// Gives files that are there a second name among what is lost, durably.
pub(super) fn keep(builder: &DbBuilder, names: impl IntoIterator<Item = String>) -> Result<Kept<'_>> {
    let (storage, dir) = (&*builder.storage, &builder.path);
    let there = storage.list(dir).map_err(|source| Error::io("list", dir, source))?;
    let there: BTreeSet<String> = there.into_iter().map(|entry| entry.name).collect();
    let names: BTreeSet<String> = names.into_iter().filter(|name| there.contains(name)).collect();
    if names.is_empty() {
        return Ok(Kept { builder, names });
    }
    let lost = dir.join(LOST);
    storage.create_dir_all(&lost).map_err(|source| Error::io("create", &lost, source))?;
    let taken = storage.list(&lost).map_err(|source| Error::io("list", &lost, source))?;
    let taken: BTreeSet<String> = taken.into_iter().map(|entry| entry.name).collect();
    let mut transfer = Transfer::new(storage, dir, &lost);
    for name in &names {
        transfer.whole_as(name, &free_name(name, &taken), true)?;
    }
    storage.sync_dir(&lost).map_err(|source| Error::io("sync", &lost, source))?;
    Ok(Kept { builder, names })
}

/// A file of an earlier repair may have the name.
fn free_name(name: &str, taken: &BTreeSet<String>) -> String {
    let numbered = (1..).map(|no| format!("{name}.{no}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken.contains(name)).unwrap_or_default()
}

impl Kept<'_> {
    /// Takes the old names away, and tells them.
    pub(super) fn release(self) -> Result<Vec<String>> {
        let (storage, dir) = (&*self.builder.storage, &self.builder.path);
        // The pointer was replaced.
        for name in self.names.iter().filter(|name| *name != files::CURRENT) {
            let path: PathBuf = dir.join(name);
            match storage.remove(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(Error::io("remove", &path, source));
                }
                _ => {}
            }
        }
        storage.sync_dir(dir).map_err(|source| Error::io("sync", dir, source))?;
        Ok(self.names.into_iter().collect())
    }
}
