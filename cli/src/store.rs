//! Opening the store that a command names.

use std::path::Path;
use std::sync::Arc;

use kiban::{Db, DbBuilder, ErrorKind, Event, Keyspace};

use crate::args::{DirArgs, Global, StoreArgs};
use crate::exit::Failure;

/// The keyspace where none is named.
const KEYSPACE_DEFAULT: &str = "default";

impl StoreArgs {
    pub(crate) fn keyspace_name(&self) -> &str {
        self.keyspace.as_deref().unwrap_or(KEYSPACE_DEFAULT)
    }

    /// Opens for reading only.
    pub(crate) fn open_for_reading(&self, global: Global<'_>) -> Result<(Db, Keyspace), Failure> {
        let db = self.builder(global).read_only(true).open().map_err(|error| Failure::store(&error))?;
        let keyspace = db.keyspace(self.keyspace_name())?;
        Ok((db, keyspace))
    }

    /// The keyspace that is named, or all if none is, by name.
    pub(crate) fn keyspaces(&self, db: &Db) -> Result<Vec<Keyspace>, Failure> {
        let names = match &self.keyspace {
            Some(name) => vec![name.clone()],
            None => db.keyspaces()?,
        };
        Ok(names.iter().map(|name| db.keyspace(name)).collect::<kiban::Result<_>>()?)
    }

    /// Opens for writing what is there already.
    pub(crate) fn open_for_writing(&self, global: Global<'_>) -> Result<(Db, Keyspace), Failure> {
        self.open_what_is_there(self.builder(global))
    }

    /// The same with more settings.
    pub(crate) fn open_what_is_there(&self, builder: DbBuilder) -> Result<(Db, Keyspace), Failure> {
        let db = builder.create_if_missing(false).open().map_err(|error| Failure::store(&error))?;
        let name = self.keyspace_name();
        if !db.keyspaces()?.iter().any(|known| known == name) {
            let message = format!("there is no keyspace {name:?} in store {}", self.db.display());
            return Err(Failure::trouble(message));
        }
        let keyspace = db.keyspace(name)?;
        Ok((db, keyspace))
    }

    /// Opens for writing; makes the store if it is missing.
    pub(crate) fn open_or_make(&self, global: Global<'_>) -> Result<Db, Failure> {
        self.builder(global).open().map_err(|error| Failure::store(&error))
    }

    /// Opens for writing if there is a store.
    pub(crate) fn open_if_there(&self, global: Global<'_>) -> Result<Option<Db>, Failure> {
        match self.builder(global).create_if_missing(false).open() {
            Ok(db) => Ok(Some(db)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::store(&error)),
        }
    }

    pub(crate) fn builder(&self, global: Global<'_>) -> DbBuilder {
        builder(&self.db, global)
    }
}

impl DirArgs {
    /// Opens for reading only.
    pub(crate) fn open_for_reading(&self, global: Global<'_>) -> Result<Db, Failure> {
        self.builder(global).read_only(true).open().map_err(|error| Failure::store(&error))
    }

    pub(crate) fn builder(&self, global: Global<'_>) -> DbBuilder {
        builder(&self.db, global)
    }
}

fn builder(db: &Path, global: Global<'_>) -> DbBuilder {
    let builder = global.formats.iter().cloned().fold(Db::builder(db), DbBuilder::register);
    if global.verbose { builder.on_event(Arc::new(tell)) } else { builder }
}

/// An event as a line of JSON.
fn tell(event: &Event) {
    if let Ok(json) = serde_json::to_string(event) {
        eprintln!("kiban: event {json}");
    }
}
