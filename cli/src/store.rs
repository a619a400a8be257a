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
    pub(crate) fn open_for_reading(&self, global: Global) -> Result<(Db, Keyspace), Failure> {
        let db = self.builder(global).read_only(true).open().map_err(|error| Failure::store(&error))?;
        let keyspace = db.keyspace(self.keyspace_name())?;
        Ok((db, keyspace))
    }

    /// Opens for writing what is there already.
    pub(crate) fn open_for_writing(&self, global: Global) -> Result<(Db, Keyspace), Failure> {
        let builder = self.builder(global).create_if_missing(false);
        let db = builder.open().map_err(|error| Failure::store(&error))?;
        let name = self.keyspace_name();
        if !db.keyspaces()?.iter().any(|known| known == name) {
            let message = format!("there is no keyspace {name:?} in store {}", self.db.display());
            return Err(Failure::trouble(message));
        }
        let keyspace = db.keyspace(name)?;
        Ok((db, keyspace))
    }

    /// Opens for writing; makes the store if it is missing.
    pub(crate) fn open_or_make(&self, global: Global) -> Result<Db, Failure> {
        self.builder(global).open().map_err(|error| Failure::store(&error))
    }

    /// Opens for writing if there is a store.
    pub(crate) fn open_if_there(&self, global: Global) -> Result<Option<Db>, Failure> {
        match self.builder(global).create_if_missing(false).open() {
            Ok(db) => Ok(Some(db)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::store(&error)),
        }
    }

    fn builder(&self, global: Global) -> DbBuilder {
        builder(&self.db, global)
    }
}

impl DirArgs {
    /// Opens for reading only.
    pub(crate) fn open_for_reading(&self, global: Global) -> Result<Db, Failure> {
        self.builder(global).read_only(true).open().map_err(|error| Failure::store(&error))
    }

    pub(crate) fn builder(&self, global: Global) -> DbBuilder {
        builder(&self.db, global)
    }
}

fn builder(db: &Path, global: Global) -> DbBuilder {
    let builder = Db::builder(db);
    if global.verbose { builder.on_event(Arc::new(tell)) } else { builder }
}

/// An event as a line of JSON.
fn tell(event: &Event) {
    if let Ok(json) = serde_json::to_string(event) {
        eprintln!("kiban: event {json}");
    }
}
