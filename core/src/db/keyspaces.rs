//! Making and listing keyspaces.

use std::sync::{Arc, PoisonError};

use kiban_formats::manifest::Change;
use kiban_formats::{KeyspaceId, SeqNo};

use super::Db;
use crate::error::{Error, ErrorKind, Result};
use crate::keyspace::Keyspace;
use crate::levels::Levels;
use crate::limits::{self, KEYSPACES_MAX};
use crate::options::KeyspaceOptions;
use crate::space::{DEFAULT_KEYSPACE, Space};
use crate::store::Store;
use crate::sync::lock;
use crate::view::View;

impl Db {
    /// The keyspace of this name, made with the default options if there is none.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not allowed or too many keyspaces; `NotFound` if
    /// there is none and the store is open for reading only.
    pub fn keyspace(&self, name: &str) -> Result<Keyspace> {
        let store = self.store();
        store.check_open()?;
        limits::check_keyspace_name(name)?;
        let space = match store.space_named(name) {
            Some(space) => space,
            None => store.make_space(name, KeyspaceOptions::default())?.0,
        };
        Ok(Keyspace::new(self.handle.clone(), space))
    }

    /// The keyspace of this name, made with these options; if it is there, it takes them, durably.
    /// They hold for memtables and tables from then on; tables get the indexes of another policy
    /// in the background.
    ///
    /// # Errors
    /// Those of [`Db::keyspace`]; `InvalidArgument` for an option out of range or a policy that
    /// names an unknown format; `ReadOnly` for other options than it has.
    pub fn keyspace_with(&self, name: &str, options: KeyspaceOptions) -> Result<Keyspace> {
        let store = self.store();
        store.check_open()?;
        limits::check_keyspace_name(name)?;
        options.over(&store.settings)?;
        if let Some(policy) = &options.index_policy {
            store.indexing.check(policy)?;
        }
        let (space, is_new) = match store.space_named(name) {
            Some(space) => (space, false),
            None => store.make_space(name, options.clone())?,
        };
        if !is_new && space.options() != options {
            store.change_options(&space, |_| options)?;
        }
        Ok(Keyspace::new(self.handle.clone(), space))
    }

    /// Removes a keyspace and all that is in it, durably. When it returns the name is free; handles
    /// of it give `Closed`; snapshots, iterators and values taken before read on.
    ///
    /// # Errors
    /// `NotFound` if there is none, `InvalidArgument` for `default`; `ReadOnly`; `WritesHalted`; `Io`
    /// where the manifest cannot be written: the keyspace is then as it was; should the process die
    /// before the next write, the next open may find it dropped.
    pub fn drop_keyspace(&self, name: &str) -> Result<()> {
        let store = self.store();
        store.check_writable()?;
        if name == DEFAULT_KEYSPACE {
            return Err(Error::invalid("keyspace \"default\": it cannot be dropped"));
        }
        match store.space_named(name) {
            Some(space) => store.drop_space(&space),
            None => Err(no_such_keyspace(name, store)),
        }
    }

    /// The names of all keyspaces, in order.
    ///
    /// # Errors
    /// Only `Closed`.
    pub fn keyspaces(&self) -> Result<Vec<String>> {
        self.store().check_open()?;
        let mut names: Vec<String> = self.store().spaces().iter().map(|space| space.name.clone()).collect();
        names.sort_unstable();
        Ok(names)
    }
}

fn no_such_keyspace(name: &str, store: &Store) -> Error {
    let message = format!("there is no keyspace {name:?} in store {}", store.dir.display());
    Error::new(ErrorKind::NotFound, message)
}

impl Store {
    fn space_named(&self, name: &str) -> Option<Arc<Space>> {
        self.spaces().into_iter().find(|space| space.name == name)
    }

    /// Makes a keyspace; whether it is new, or somebody else made it meanwhile.
    fn make_space(&self, name: &str, options: KeyspaceOptions) -> Result<(Arc<Space>, bool)> {
        if self.read_only {
            return Err(no_such_keyspace(name, self));
        }
        let mut manifest = lock(&self.manifest);
        self.check_open()?;
        // Somebody else may have made it while we waited.
        if let Some(space) = self.space_named(name) {
            return Ok((space, false));
        }
        let state = manifest.state();
        if state.keyspaces.len() >= KEYSPACES_MAX {
            return Err(Error::invalid(format!(
                "keyspace {name:?}: a store has at most {KEYSPACES_MAX} keyspaces"
            )));
        }
        let id = KeyspaceId(state.next_keyspace);
        let change = Change::AddKeyspace { id, name: name.to_owned(), options: options.to_text()? };
        manifest.append(&[change], || self.new_file_no())?;
        let view = View::new(Levels::default());
        let space = Arc::new(Space::new(self.uid, id, name.to_owned(), view, SeqNo(0)));
        space.set_options(options, &self.settings, &self.indexing)?;
        let mut spaces = self.spaces.write().unwrap_or_else(PoisonError::into_inner);
        spaces.insert(id, space.clone());
        Ok((space, true))
    }

    /// Stores other options of a keyspace.
    pub(crate) fn change_options(
        &self,
        space: &Arc<Space>,
        change: impl FnOnce(KeyspaceOptions) -> KeyspaceOptions,
    ) -> Result<()> {
        self.check_writable()?;
        let mut manifest = lock(&self.manifest);
        self.check_open()?;
        self.check_space(space)?;
        let options = change(space.options());
        let stored = Change::SetOptions { id: space.id, options: options.to_text()? };
        options.over(&self.settings)?;
        manifest.append(&[stored], || self.new_file_no())?;
        space.set_options(options, &self.settings, &self.indexing)?;
        drop(manifest);
        self.upkeep.wake_for(space);
        Ok(())
    }
}
