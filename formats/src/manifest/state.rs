//! The state that a manifest's changes add up to.

use std::collections::{BTreeMap, BTreeSet};

use super::{Change, LiveLogs, LogEnd, SECTION, STORE_VERSION, TableMeta};
use crate::{FileNo, FormatError, KeyspaceId, Level, Problem, SeqNo};

/// A keyspace as the manifest knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyspaceState {
    /// Its name.
    pub name: String,
    /// Its options, as text.
    pub options: String,
    /// All its operations up to this sequence are in tables.
    pub flushed: SeqNo,
    /// Its tables in the order in which they were added.
    pub tables: Vec<TableMeta>,
}

/// A store as the manifest knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Version of the store's format.
    pub version: u16,
    /// Seed of the key hash.
    pub hash_seed: u64,
    /// File numbers below this were used.
    pub next_file: FileNo,
    /// Sequences up to this were used.
    pub last_seq: SeqNo,
    /// Keyspace ids below this were used.
    pub next_keyspace: u32,
    /// The logs that must exist.
    pub logs: LiveLogs,
    /// Where the log ended when the store was last closed in order.
    pub log_end: LogEnd,
    /// The keyspaces.
    pub keyspaces: BTreeMap<KeyspaceId, KeyspaceState>,
    /// The numbers of all tables.
    table_nos: BTreeSet<FileNo>,
}

impl State {
    /// The state that a snapshot says.
    ///
    /// # Errors
    /// Changes that contradict each other, or no facts of the store among them.
    pub fn from_snapshot(changes: &[Change]) -> Result<Self, FormatError> {
        let mut state = Self::default();
        state.apply(changes)?;
        if state.version == 0 {
            return refuse("a snapshot without the facts of the store".to_owned());
        }
        Ok(state)
    }

    /// About how many bytes of memory it takes.
    pub fn memory_bytes(&self) -> u64 {
        let table = |table: &TableMeta| table.smallest.len() + table.largest.len();
        let keyspace = |space: &KeyspaceState| {
            let tables = space.tables.capacity() * size_of::<TableMeta>();
            size_of::<KeyspaceState>()
                + space.name.len()
                + space.options.len()
                + tables
                + space.tables.iter().map(table).sum::<usize>()
        };
        let keyspaces: usize = self.keyspaces.values().map(keyspace).sum();
        // Nodes of the set are two thirds full.
        (keyspaces + self.table_nos.len() * size_of::<FileNo>() * 3 / 2) as u64
    }

    /// Applies changes in order.
    ///
    /// # Errors
    /// A change that contradicts the state; the state is then half changed and of no use.
    pub fn apply(&mut self, changes: &[Change]) -> Result<(), FormatError> {
        changes.iter().try_for_each(|change| self.apply_one(change))
    }

    fn apply_one(&mut self, change: &Change) -> Result<(), FormatError> {
        match change {
            Change::Facts { version, hash_seed } => {
                if *version != STORE_VERSION {
                    let (found, oldest, newest) = (*version, STORE_VERSION, STORE_VERSION);
                    return Err(FormatError::new(SECTION, 0, Problem::Version { found, oldest, newest }));
                }
                if self.version != 0 {
                    return refuse("what never changes is said twice".to_owned());
                }
                (self.version, self.hash_seed) = (*version, *hash_seed);
            }
            Change::NextFile(no) => self.next_file = self.next_file.max(*no),
            Change::LastSeq(seq) => self.last_seq = self.last_seq.max(*seq),
            Change::AddKeyspace { id, name, options } => {
                if self.keyspaces.contains_key(id) || self.keyspaces.values().any(|other| other.name == *name)
                {
                    return refuse(format!("keyspace {id} {name:?} is there already"));
                }
                let space = KeyspaceState {
                    name: name.clone(),
                    options: options.clone(),
                    ..KeyspaceState::default()
                };
                self.keyspaces.insert(*id, space);
                self.next_keyspace = self.next_keyspace.max(id.0.saturating_add(1));
            }
            Change::DropKeyspace(id) => {
                let tables = std::mem::take(&mut self.keyspace(*id)?.tables);
                self.keyspaces.remove(id);
                for table in tables {
                    self.table_nos.remove(&table.no);
                }
            }
            Change::SetOptions { id, options } => self.keyspace(*id)?.options.clone_from(options),
            Change::AddTable { keyspace, table } => self.add_table(*keyspace, table)?,
            Change::RemoveTable { keyspace, no } => {
                let tables = &mut self.keyspace(*keyspace)?.tables;
                let place = place_of(tables, *no)?;
                tables.remove(place);
                self.table_nos.remove(no);
            }
            Change::MoveTable { keyspace, no, level } => {
                let tables = &mut self.keyspace(*keyspace)?.tables;
                let place = place_of(tables, *no)?;
                tables[place].level = *level;
            }
            Change::Flushed { keyspace, seq } => {
                let space = self.keyspace(*keyspace)?;
                space.flushed = space.flushed.max(*seq);
            }
            Change::Logs(logs) => {
                if logs.oldest < self.logs.oldest {
                    return refuse(format!("log {} is needed again", logs.oldest));
                }
                self.logs = *logs;
            }
            Change::LogEnd(end) => self.log_end = *end,
            Change::NextKeyspace(id) => self.next_keyspace = self.next_keyspace.max(*id),
        }
        Ok(())
    }

    fn add_table(&mut self, keyspace: KeyspaceId, table: &TableMeta) -> Result<(), FormatError> {
        if self.table_nos.contains(&table.no) {
            return refuse(format!("table {} is there already", table.no));
        }
        self.keyspace(keyspace)?.tables.push(table.clone());
        self.table_nos.insert(table.no);
        Ok(())
    }

    fn keyspace(&mut self, id: KeyspaceId) -> Result<&mut KeyspaceState, FormatError> {
        match self.keyspaces.get_mut(&id) {
            Some(space) => Ok(space),
            None => refuse(format!("there is no keyspace {id}")),
        }
    }

    /// The changes that make this state out of an empty one.
    pub fn snapshot(&self) -> Vec<Change> {
        let mut changes = vec![
            Change::Facts { version: self.version, hash_seed: self.hash_seed },
            Change::NextFile(self.next_file),
            Change::LastSeq(self.last_seq),
            Change::Logs(self.logs),
        ];
        if self.log_end != LogEnd::default() {
            changes.push(Change::LogEnd(self.log_end));
        }
        for (id, space) in &self.keyspaces {
            let (name, options) = (space.name.clone(), space.options.clone());
            changes.push(Change::AddKeyspace { id: *id, name, options });
            changes.push(Change::Flushed { keyspace: *id, seq: space.flushed });
            for table in &space.tables {
                changes.push(Change::AddTable { keyspace: *id, table: table.clone() });
            }
        }
        changes.push(Change::NextKeyspace(self.next_keyspace));
        changes
    }

    /// The tables of a level, in the order in which they were added.
    pub fn tables_of(&self, keyspace: KeyspaceId, level: Level) -> impl Iterator<Item = &TableMeta> {
        let space = self.keyspaces.get(&keyspace);
        space.into_iter().flat_map(|space| &space.tables).filter(move |table| table.level == level)
    }
}

fn place_of(tables: &[TableMeta], no: FileNo) -> Result<usize, FormatError> {
    match tables.iter().position(|table| table.no == no) {
        Some(place) => Ok(place),
        None => refuse(format!("there is no table {no}")),
    }
}

fn refuse<T>(what: String) -> Result<T, FormatError> {
    Err(FormatError::invalid(SECTION, 0, what))
}
