//! What is there, and what it is good for.

use std::collections::{BTreeMap, HashMap, HashSet};

use kiban_formats::frame::{FILE_HEADER_BYTES, FileHeader, FileKind, Input};
use kiban_formats::log::LogOpKind;
use kiban_formats::manifest::{LiveLogs, LogEnd, State};
use kiban_formats::{FileNo, SeqNo, StoreId, TableMeta};

use super::{RepairLoss, as_damage, new_store_id};
use crate::db::DbBuilder;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Listener;
use crate::files::{self, FileName};
use crate::log::{FileInput, Replay};
use crate::manifest::{ManifestFile, read_pointer};
use crate::settings::{RecoveryMode, Settings};
use crate::storage::DirEntry;
use crate::table::{Condition, TableContext, examine, greatest_seq};

/// All that was found in the directory.
pub(super) struct Found {
    entries: Vec<DirEntry>,
    pub(super) store_id: StoreId,
    pub(super) context: TableContext,
    /// What the manifest says, or what can be read of it.
    pub(super) state: State,
    /// The file that this is from.
    manifest: FileNo,
    /// The pointer names a manifest that is whole.
    pointed: bool,
    /// The manifest says what the store consists of; else it is only good for names.
    pub(super) trusted: bool,
    pub(super) tables: BTreeMap<FileNo, Condition>,
    pub(super) damage: Vec<RepairLoss>,
    /// What is wrong with the log.
    pub(super) log_problem: Option<RepairLoss>,
    /// Tables that the log says were ingested, with their sequence.
    pub(super) ingested: HashMap<FileNo, SeqNo>,
    /// All of them that only the log names are whole.
    ingested_is_whole: bool,
    /// The greatest sequence.
    pub(super) last_seq: SeqNo,
}

/// Refuses a directory without a store.
pub(super) fn check_there(builder: &DbBuilder) -> Result<()> {
    let dir = builder.path.display();
    let entries = match builder.storage.list(&builder.path) {
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        listed => listed.map_err(|source| Error::io("list", &builder.path, source))?,
    };
    let of_store = |entry: &DirEntry| {
        let name = FileName::parse(&entry.name);
        !matches!(name, FileName::Other | FileName::Lock | FileName::Temporary(_))
    };
    if entries.iter().any(of_store) {
        return Ok(());
    }
    if entries.iter().any(|entry| FileName::parse(&entry.name) == FileName::Other) {
        return Err(Error::invalid(format!("directory {dir} has files and is no store")));
    }
    Err(Error::new(ErrorKind::NotFound, format!("there is no store in {dir}")))
}

impl Found {
    /// Reads everything.
    pub(super) fn look(builder: &DbBuilder) -> Result<Self> {
        let listed = builder.storage.list(&builder.path);
        let entries = listed.map_err(|source| Error::io("list", &builder.path, source))?;
        // Damaged pages must not be kept, and a map of a bad device would end the process.
        let settings = Settings { cache_bytes: 0, mmap_max_level: None, ..builder.settings.clone() };
        let context = |id| TableContext::new(builder.storage.clone(), &settings, id, Listener::default());
        let mut found = Self {
            entries,
            store_id: StoreId::default(),
            context: context(StoreId::default()),
            state: State::default(),
            manifest: FileNo(0),
            pointed: false,
            trusted: false,
            tables: BTreeMap::new(),
            damage: Vec::new(),
            log_problem: None,
            ingested: HashMap::new(),
            ingested_is_whole: true,
            last_seq: SeqNo(0),
        };
        let known = found.look_at_manifests(builder)?;
        found.store_id = match known {
            Some(id) => id,
            None => found.most_common_owner(builder)?.unwrap_or_else(|| new_store_id(builder)),
        };
        found.context = context(found.store_id);
        found.look_at_tables(builder)?;
        found.look_at_log(builder)?;
        if found.trusted && found.is_stale() {
            found.trusted = false;
            let what = "it is older than the store: tables are there that it does not know";
            found.damage.push(RepairLoss::new(files::manifest(found.manifest), what));
        }
        if !found.trusted {
            // The logs have to be read without the manifest's word for where they begin.
            found.look_at_log(builder)?;
        }
        Ok(found)
    }

    fn numbers(&self, of: impl Fn(FileName<'_>) -> Option<FileNo>) -> Vec<FileNo> {
        let mut numbers: Vec<FileNo> =
            self.entries.iter().filter_map(|entry| of(FileName::parse(&entry.name))).collect();
        numbers.sort_unstable();
        numbers
    }

    /// Log files, rising.
    pub(super) fn logs(&self) -> Vec<FileNo> {
        self.numbers(|name| if let FileName::Log(no) = name { Some(no) } else { None })
    }

    /// Above all numbers in use.
    pub(super) fn next_file(&self) -> FileNo {
        let greatest = self.numbers(|name| name.no()).last().copied().unwrap_or_default();
        self.state.next_file.max(FileNo(greatest.0.saturating_add(1)))
    }

    /// Whether an ordinary open would say nothing.
    pub(super) fn is_healthy(&self) -> bool {
        let log_is_whole = self.log_problem.is_none() && self.ingested_is_whole;
        self.pointed && self.trusted && log_is_whole && self.damage.is_empty() && {
            let named = self.state.keyspaces.values().flat_map(|space| &space.tables);
            named.into_iter().all(|table| matches!(self.tables.get(&table.no), Some(Condition::Whole(..))))
        }
    }

    /// Reads pointer and manifests; returns the store's id if one of them says it.
    fn look_at_manifests(&mut self, builder: &DbBuilder) -> Result<Option<StoreId>> {
        let (storage, dir) = (&*builder.storage, &builder.path);
        let pointer = match as_damage(read_pointer(storage, dir))? {
            Ok(pointer) => Some(pointer),
            Err(error) => {
                self.damage.push(RepairLoss::new(files::CURRENT, error));
                None
            }
        };
        let mut numbers =
            self.numbers(|name| if let FileName::Manifest(no) = name { Some(no) } else { None });
        // The one that the pointer names last, so that it is looked at first.
        if let Some(pointer) = pointer {
            numbers.retain(|no| *no != pointer.manifest);
            numbers.push(pointer.manifest);
        }
        let mut id = pointer.map(|pointer| pointer.store_id);
        for (rank, no) in numbers.iter().rev().enumerate() {
            let name = files::manifest(*no);
            let path = dir.join(&name);
            let mut state = State::default();
            let read = ManifestFile::open(storage, &path).and_then(|file| {
                let owner = file.header.store_id;
                if id.is_some_and(|id| id != owner) || file.header.no != *no {
                    return Err(Error::corruption(&path, "it is another store's, or another manifest"));
                }
                id = Some(owner);
                file.read(&mut state)
            });
            let read = as_damage(read)?;
            let whole = read.is_ok();
            if let Err(error) = read {
                self.damage.push(RepairLoss::new(name, error));
            }
            if state.version == 0 {
                continue;
            }
            (self.state, self.manifest) = (state, *no);
            // One that nothing points to may be older than the one that is missing.
            self.pointed = whole && rank == 0 && pointer.is_some();
            self.trusted = whole && rank == 0;
            break;
        }
        Ok(id)
    }

    /// The store that most tables and logs are of.
    fn most_common_owner(&self, builder: &DbBuilder) -> Result<Option<StoreId>> {
        let mut counts: HashMap<StoreId, u64> = HashMap::new();
        for entry in &self.entries {
            let path = builder.path.join(&entry.name);
            let owner = match FileName::parse(&entry.name) {
                FileName::Table(_) => crate::table::owner(&*builder.storage, &path),
                FileName::Log(_) => log_header(builder, &path).map(|header| header.store_id),
                _ => continue,
            };
            if let Ok(owner) = as_damage(owner)? {
                *counts.entry(owner).or_default() += 1;
            }
        }
        Ok(counts.into_iter().max_by_key(|(id, count)| (*count, *id)).map(|(id, _)| id))
    }

    fn look_at_tables(&mut self, builder: &DbBuilder) -> Result<()> {
        let named: HashMap<FileNo, &TableMeta> = match self.trusted {
            true => self
                .state
                .keyspaces
                .values()
                .flat_map(|space| &space.tables)
                .map(|table| (table.no, table))
                .collect(),
            false => HashMap::new(),
        };
        for no in self.numbers(|name| if let FileName::Table(no) = name { Some(no) } else { None }) {
            let path = builder.path.join(files::table(no));
            let condition = examine(&self.context, &path, no, named.get(&no).copied())?;
            self.tables.insert(no, condition);
        }
        Ok(())
    }

    /// Reads the log as a strict open would, and notes what is wrong with it.
    fn look_at_log(&mut self, builder: &DbBuilder) -> Result<()> {
        let logs = self.logs();
        let (mut ingested, mut lacking) = (HashMap::new(), HashSet::new());
        let replay = self.replay(builder, &logs, RecoveryMode::Strict)?;
        let read = replay.run(|seq, op| {
            if op.kind == LogOpKind::Ingest {
                let tables = TableMeta::decode_list(op.value).unwrap_or_default();
                ingested.extend(tables.iter().map(|table| (table.no, seq)));
                let space = self.state.keyspaces.get(&op.keyspace).filter(|space| space.flushed < seq);
                let is_whole =
                    |table: &TableMeta| matches!(self.tables.get(&table.no), Some(Condition::Whole(..)));
                if space.is_some() && !tables.iter().all(is_whole) {
                    lacking.insert(op.keyspace);
                }
            }
            if op.kind == LogOpKind::Clear {
                // Nobody wants them any more.
                lacking.remove(&op.keyspace);
            }
            Ok(())
        });
        (self.log_problem, self.last_seq) = match as_damage(read)? {
            Ok(read) => (None, read.last_seq),
            Err(error) => {
                let file = error.file().unwrap_or_default().to_owned();
                let replay = self.replay(builder, &logs, RecoveryMode::PointInTime)?;
                (Some(RepairLoss::new(file, error)), replay.run(|_, _| Ok(()))?.last_seq)
            }
        };
        (self.ingested, self.ingested_is_whole) = (ingested, lacking.is_empty());
        Ok(())
    }

    /// A reading of the log.
    pub(super) fn replay<'a>(
        &self,
        builder: &'a DbBuilder,
        logs: &'a [FileNo],
        mode: RecoveryMode,
    ) -> Result<Replay<'a>> {
        let (live, last_seq, end) = match self.trusted {
            true => (self.state.logs, self.state.last_seq, self.state.log_end),
            false => {
                let (live, last_seq) = self.beginning(builder, logs)?;
                (live, last_seq, LogEnd::default())
            }
        };
        let (storage, dir) = (&*builder.storage, builder.path.as_path());
        Ok(Replay { storage, dir, store_id: self.store_id, files: logs, live, end, last_seq, mode })
    }

    /// Where the log begins if nothing says it: with the oldest file of which the header is right.
    fn beginning(&self, builder: &DbBuilder, logs: &[FileNo]) -> Result<(LiveLogs, SeqNo)> {
        let in_tables = self.tables.values().filter_map(|condition| match condition {
            Condition::Whole(_, meta) => Some(meta.max_seq),
            _ => None,
        });
        let in_tables = in_tables.max().unwrap_or_default();
        for no in logs {
            let header = as_damage(log_header(builder, &builder.path.join(files::log(*no))))?;
            if let Ok(header) = header.as_ref()
                && header.store_id == self.store_id
            {
                let before = SeqNo(header.first_seq.0.saturating_sub(1));
                return Ok((LiveLogs { oldest: *no, newest: FileNo(0) }, in_tables.max(before)));
            }
        }
        Ok((LiveLogs::default(), in_tables))
    }

    /// Whether the manifest is older than the store: it names tables that are gone, beside others
    /// that it does not know, or what is in those is not in the log.
    fn is_stale(&self) -> bool {
        let named = |no: &FileNo| {
            self.state.keyspaces.values().flat_map(|space| &space.tables).any(|table| table.no == *no)
        };
        let mut missing = self.state.keyspaces.values().flat_map(|space| &space.tables);
        let missing = missing.any(|table| !self.tables.contains_key(&table.no));
        self.tables.iter().any(|(no, condition)| match condition {
            Condition::Whole(footer, meta) if !named(no) => {
                missing || (footer.base_seq.0 == 0 && meta.max_seq > self.last_seq)
            }
            _ => false,
        })
    }

    /// The greatest sequence in any table that is there, part of the store or not: none that is left
    /// behind may seem to be newer than the store.
    pub(super) fn greatest_in_tables(&self, builder: &DbBuilder) -> Result<SeqNo> {
        let mut greatest = SeqNo(0);
        for no in self.tables.keys() {
            let path = builder.path.join(files::table(*no));
            if let Ok(Some(seq)) = as_damage(greatest_seq(&self.context, &path))? {
                greatest = greatest.max(seq);
            }
        }
        Ok(greatest)
    }

    /// The seed of the key hash, if something says it.
    pub(super) fn hash_seed(&self) -> Option<u64> {
        if self.state.version != 0 {
            return Some(self.state.hash_seed);
        }
        self.tables.values().find_map(|condition| match condition {
            Condition::Whole(footer, _) | Condition::Damaged(footer, _) => Some(footer.hash_seed),
            Condition::Unusable(_) => None,
        })
    }
}

fn log_header(builder: &DbBuilder, path: &std::path::Path) -> Result<FileHeader> {
    let failed = |source| Error::io("read", path, source);
    let file = FileInput::open(&*builder.storage, path).map_err(failed)?;
    let mut bytes = vec![0; FILE_HEADER_BYTES.min(usize::try_from(file.len()).unwrap_or(FILE_HEADER_BYTES))];
    file.read_at(&mut bytes, 0).map_err(failed)?;
    FileHeader::decode(&bytes, FileKind::Log).map_err(|error| Error::format(path, error))
}
