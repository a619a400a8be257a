//! What each keyspace has after the repair.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use kiban_formats::log::{LogOp, LogOpKind};
use kiban_formats::manifest::{Change, LiveLogs, STORE_VERSION, State};
use kiban_formats::{FileNo, KeyspaceId, Kind, Level, SeqNo, TableMeta, payload_crc};

use super::found::Found;
use super::place::Placer;
use super::{RepairLoss, RepairReport};
use crate::error::{Error, Result};
use crate::files;
use crate::memtable::Memtable;
use crate::output::{Output, OutputSite};
use crate::source::{EntryRef, Source};
use crate::space::DEFAULT_KEYSPACE;
use crate::table::{Condition, salvage};

/// All keyspaces.
pub(super) struct Spaces<'a> {
    site: OutputSite<'a>,
    found: &'a Found,
    spaces: BTreeMap<KeyspaceId, Space>,
    /// Ids below this that no keyspace has are of dropped ones.
    next_keyspace: u32,
    lost: Vec<(KeyspaceId, RepairLoss)>,
}

/// A keyspace.
#[derive(Debug)]
struct Space {
    name: String,
    options: String,
    /// All operations up to this sequence were in tables.
    flushed: SeqNo,
    /// As in the manifest: of level 0 later ones are newer.
    tables: Vec<TableMeta>,
    /// Some of what was flushed is lost.
    has_losses: bool,
    /// The levels of the tables, or their order, say nothing.
    to_be_placed: bool,
    /// Operations of the log that are in no new table yet.
    memtable: Arc<Memtable>,
}

impl Space {
    fn new(name: String, options: String) -> Self {
        Self {
            name,
            options,
            flushed: SeqNo(0),
            tables: Vec::new(),
            has_losses: false,
            to_be_placed: false,
            memtable: Arc::new(Memtable::new()),
        }
    }
}

impl<'a> Spaces<'a> {
    /// The keyspaces that the manifest knows, without tables.
    pub(super) fn new(site: OutputSite<'a>, found: &'a Found) -> Self {
        let known = found.state.keyspaces.iter().map(|(id, space)| {
            let flushed = if found.trusted { space.flushed } else { SeqNo(0) };
            (*id, Space { flushed, ..Space::new(space.name.clone(), space.options.clone()) })
        });
        let (spaces, next_keyspace) = (known.collect(), found.state.next_keyspace);
        Self { site, found, spaces, next_keyspace, lost: Vec::new() }
    }

    /// Gives each keyspace its tables, or what can be read of them.
    pub(super) fn take_tables(&mut self) -> Result<()> {
        let found = self.found;
        if !found.trusted {
            for (no, condition) in &found.tables {
                let owner = match condition {
                    Condition::Whole(footer, _) | Condition::Damaged(footer, _) => footer.keyspace,
                    Condition::Unusable(_) => KeyspaceId(0),
                };
                if self.find(owner).is_some() {
                    self.take(owner, *no, None)?;
                }
            }
            self.spaces.values_mut().for_each(|space| space.to_be_placed = true);
            return Ok(());
        }
        for (id, space) in &found.state.keyspaces {
            space.tables.iter().try_for_each(|table| self.take(*id, table.no, Some(table)))?;
        }
        Ok(())
    }

    /// The keyspace with this id, made if it is not known; `None` if it was dropped.
    fn find(&mut self, id: KeyspaceId) -> Option<&mut Space> {
        if !self.spaces.contains_key(&id) {
            // The default keyspace cannot be dropped.
            if id.0 < self.next_keyspace && id.0 != 0 {
                return None;
            }
            let mut name = match id {
                KeyspaceId(0) => DEFAULT_KEYSPACE.to_owned(),
                id => format!("recovered-{id}"),
            };
            while self.spaces.values().any(|space| space.name == name) {
                name.push('+');
            }
            let to_be_placed = !self.found.trusted;
            self.spaces.insert(id, Space { to_be_placed, ..Space::new(name, String::new()) });
        }
        self.spaces.get_mut(&id)
    }

    /// Takes a table, or what can be read of it. `known`: what manifest or log say of it.
    fn take(&mut self, id: KeyspaceId, no: FileNo, known: Option<&TableMeta>) -> Result<()> {
        let committed = self.found.ingested.get(&no).copied();
        let at = |meta: &TableMeta| committed.map_or_else(|| meta.clone(), |seq| meta.at(seq));
        let mut metas = Vec::new();
        let lost = match self.found.tables.get(&no) {
            Some(Condition::Whole(footer, meta)) if footer.hash_seed == self.site.hash_seed => {
                metas.push(known.cloned().unwrap_or_else(|| at(meta)));
                None
            }
            Some(Condition::Whole(footer, _)) => {
                Some(("its hash seed is not the store's".to_owned(), Some(footer)))
            }
            Some(Condition::Damaged(footer, error)) => Some((error.to_string(), Some(footer))),
            Some(Condition::Unusable(error)) => Some((error.to_string(), None)),
            None => Some(("it is not there".to_owned(), None)),
        };
        if let Some((what, footer)) = lost {
            let mut loss = RepairLoss::new(files::table(no), what);
            if let Some(footer) = footer {
                let ingested = known.map(|known| known.max_seq).or(committed).unwrap_or(footer.base_seq);
                let assigned = Some(ingested).filter(|_| footer.base_seq.0 > 0);
                let level = known.map_or(Level(0), |known| known.level);
                let mut output = Output::new(self.site, id, level);
                let path = self.site.dir.join(files::table(no));
                let context = &self.found.context;
                loss.entries_saved = salvage(context, &path, footer, assigned, |entry| output.add(entry))?;
                metas.extend(output.finish()?.into_iter().map(|table| table.meta));
            }
            self.lost.push((id, loss));
        }
        if let Some(space) = self.spaces.get_mut(&id) {
            space.has_losses |= metas.first().is_none_or(|meta| meta.no != no);
            space.tables.extend(metas);
        }
        Ok(())
    }

    /// Takes an operation of the log. Whether it was of use.
    pub(super) fn apply(&mut self, seq: SeqNo, op: &LogOp<'_>) -> Result<bool> {
        let trusted = self.found.trusted;
        let Some(space) = self.find(op.keyspace) else { return Ok(false) };
        if seq <= space.flushed {
            if !space.has_losses {
                return Ok(false);
            }
            // It may be what was lost, or older than what was not.
            space.to_be_placed = true;
        }
        let kind = match op.kind {
            LogOpKind::Put => Kind::Put,
            LogOpKind::Delete => Kind::Delete,
            LogOpKind::Clear => {
                space.memtable = Arc::new(Memtable::new());
                space.tables.retain(|table| table.max_seq > seq);
                // What is cleared is no loss.
                self.lost.retain(|(id, _)| *id != op.keyspace);
                return Ok(true);
            }
            LogOpKind::Ingest => {
                if trusted && seq > space.flushed {
                    self.ingest(op, seq)?;
                }
                return Ok(true);
            }
        };
        let payload_crc = payload_crc(op.key, op.value);
        space.memtable.insert(EntryRef { key: op.key, seq, kind, value: op.value, payload_crc });
        if space.memtable.bytes() >= self.site.seal_bytes {
            self.flush(op.keyspace)?;
        }
        Ok(true)
    }

    fn ingest(&mut self, op: &LogOp<'_>, seq: SeqNo) -> Result<()> {
        self.flush(op.keyspace)?;
        let tables = TableMeta::decode_list(op.value).map_err(|error| Error::format(self.site.dir, error))?;
        tables.iter().try_for_each(|table| self.take(op.keyspace, table.no, Some(&table.at(seq))))
    }

    /// Makes a table of what came from the log.
    fn flush(&mut self, id: KeyspaceId) -> Result<()> {
        let Some(space) = self.spaces.get_mut(&id).filter(|space| !space.memtable.is_empty()) else {
            return Ok(());
        };
        let memtable = std::mem::replace(&mut space.memtable, Arc::new(Memtable::new()));
        let mut output = Output::new(self.site, id, Level(0));
        let mut source = memtable.source();
        source.first()?;
        while let Some(entry) = source.entry() {
            output.add(entry)?;
            source.next()?;
        }
        space.tables.extend(output.finish()?.into_iter().map(|table| table.meta));
        Ok(())
    }

    /// The greatest sequence in a table.
    pub(super) fn greatest_seq(&self) -> SeqNo {
        let tables = self.spaces.values().flat_map(|space| &space.tables);
        tables.map(|table| table.max_seq).max().unwrap_or_default()
    }

    /// Puts all tables into levels. All up to sequence `last` is in them, and no log is needed.
    pub(super) fn finish(mut self, report: &mut RepairReport, last: SeqNo) -> Result<State> {
        self.find(KeyspaceId(0));
        let ids: Vec<KeyspaceId> = self.spaces.keys().copied().collect();
        ids.iter().try_for_each(|id| self.flush(*id))?;
        let next_file = || FileNo(self.site.next_file.load(std::sync::atomic::Ordering::Relaxed));
        let mut changes = vec![
            Change::Facts { version: STORE_VERSION, hash_seed: self.site.hash_seed },
            Change::LastSeq(last),
        ];
        for (id, space) in self.spaces {
            let mut tables = space.tables;
            if space.to_be_placed {
                tables =
                    Placer { site: self.site, context: &self.found.context, keyspace: id }.place(tables)?;
            }
            let (name, options) = (space.name, space.options);
            changes.push(Change::AddKeyspace { id, name, options });
            changes.push(Change::Flushed { keyspace: id, seq: last });
            let kept = |table: &&TableMeta| self.found.tables.contains_key(&table.no);
            report.tables_kept += tables.iter().filter(kept).count() as u64;
            changes.extend(tables.into_iter().map(|table| Change::AddTable { keyspace: id, table }));
        }
        report.tables_lost = unique(self.lost.into_iter().map(|(_, loss)| loss));
        changes.extend([
            Change::NextKeyspace(self.next_keyspace),
            Change::NextFile(next_file()),
            Change::Logs(LiveLogs { oldest: next_file(), newest: FileNo(0) }),
        ]);
        State::from_snapshot(&changes)
            .map_err(|error| Error::format(&self.site.dir.join(files::CURRENT), error))
    }
}

/// One of each file.
fn unique(lost: impl Iterator<Item = RepairLoss>) -> Vec<RepairLoss> {
    let mut seen = HashSet::new();
    lost.filter(|loss| seen.insert(loss.file.clone())).collect()
}
