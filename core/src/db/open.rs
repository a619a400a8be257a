//! Opening: lock, pointer, manifest, log, and no table.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, RwLock};

use kiban_formats::log::{LogOp, LogOpKind};
use kiban_formats::manifest::{Change, KeyspaceState, STORE_VERSION};
use kiban_formats::{FileNo, KeyspaceId, Kind, SeqNo, StoreId, TableMeta, payload_crc};

use kiban_indexes::Registry;

use super::DbBuilder;
use super::directory::{Directory, check_others};
use super::orphans::{LeftBehind, check_orphans, remove_orphans};
use crate::commit::Commit;
use crate::durable::Durable;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Event;
use crate::files::{self, FileName};
use crate::index::Indexing;
use crate::levels::Levels;
use crate::log::{Journal, Replay};
use crate::manifest::ManifestStore;
use crate::options::KeyspaceOptions;
use crate::own_files::OwnFiles;
use crate::settings::RecoveryMode;
use crate::snapshot::Snapshots;
use crate::source::EntryRef;
use crate::space::{DEFAULT_KEYSPACE, Space};
use crate::storage::{Lock, LockMode, random_id};
use crate::store::{LetGo, Store};
use crate::sync::lock;
use crate::table::TableContext;
use crate::table::TableHandle;
use crate::upkeep::Upkeep;
use crate::view::View;

/// Tells the stores of this process apart.
static NEXT_UID: AtomicU64 = AtomicU64::new(1);

/// Opens a store, or makes one.
pub(super) fn open(builder: DbBuilder) -> Result<Arc<Store>> {
    let found = Directory::look(&*builder.storage, &builder.path)?;
    let is_store = found.check(&builder)?;
    if !is_store {
        let made = builder.storage.create_dir_all(&builder.path);
        made.map_err(|source| Error::io("create", &builder.path, source))?;
    }
    let directory_lock = take_lock(&builder)?;
    // Under the lock nobody else changes the directory.
    let found = Directory::look(&*builder.storage, &builder.path)?;
    let (storage, dir) = (builder.storage.clone(), builder.path.as_path());
    let mut manifest = if found.check(&builder)? {
        ManifestStore::open(storage, dir)?
    } else {
        ManifestStore::create(storage.clone(), dir, StoreId(random_id(&*storage)))
    };
    let next_file = AtomicU64::new(found.next_file(manifest.state()).0);
    if manifest.current().0 == 0 {
        create(&mut manifest, builder.storage.random_u64(), &next_file)?;
    }
    found.check_tables(manifest.state(), dir)?;
    check_others(&builder, manifest.state())?;
    let store = assemble(builder, manifest, next_file, directory_lock, &found)?;
    recover(&store, &found)?;
    note_sidecars(&store.spaces(), &found);
    let weak = Arc::downgrade(&store);
    store.tables.on_missing_index(move || {
        let Some(store) = weak.upgrade() else { return };
        if store.read_only {
            store.index_all_if_read_only();
        } else {
            store.upkeep.wake_for_indexes();
        }
    });
    if !store.read_only {
        store.index_required_at_open()?;
        Upkeep::start(&store)?;
    }
    Ok(store)
}

/// The first manifest of a new store.
fn create(manifest: &mut ManifestStore, hash_seed: u64, next_file: &AtomicU64) -> Result<()> {
    let id = KeyspaceId(0);
    let changes = [
        Change::Facts { version: STORE_VERSION, hash_seed },
        Change::AddKeyspace { id, name: DEFAULT_KEYSPACE.to_owned(), options: String::new() },
    ];
    manifest.append(&changes, || FileNo(next_file.fetch_add(1, Ordering::Relaxed)))
}

pub(crate) fn take_lock(builder: &DbBuilder) -> Result<Option<Box<dyn Lock>>> {
    let path = builder.path.join(files::LOCK);
    let mode = if builder.read_only { LockMode::Shared } else { LockMode::Exclusive };
    match builder.storage.lock(&path, mode) {
        Ok(lock) => Ok(Some(lock)),
        Err(source) if source.kind() == io::ErrorKind::WouldBlock => {
            let message = format!("store {} is locked by another opener", builder.path.display());
            Err(Error::new(ErrorKind::Locked, message))
        }
        // Nobody can lock a directory without a lock file that nobody can make one in.
        Err(source) if source.kind() == io::ErrorKind::NotFound && builder.read_only => Ok(None),
        Err(source) => Err(Error::io("lock", &path, source)),
    }
}

fn assemble(
    builder: DbBuilder,
    manifest: ManifestStore,
    next_file: AtomicU64,
    directory_lock: Option<Box<dyn Lock>>,
    found: &Directory,
) -> Result<Arc<Store>> {
    let indexing = indexing(&builder)?;
    let DbBuilder { path: dir, settings, read_only, listener, storage, .. } = builder;
    let uid = NEXT_UID.fetch_add(1, Ordering::Relaxed);
    let state = manifest.state();
    let own_files = OwnFiles::new(storage.clone());
    let space = |(id, space): (&KeyspaceId, &KeyspaceState)| {
        let view = View::new(levels(&own_files, &dir, space));
        let options = KeyspaceOptions::from_text(&space.name, &space.options)?;
        let space = Space::new(uid, *id, space.name.clone(), view, space.flushed);
        space.set_options(options, &settings, &indexing).map_err(|error| {
            let message = format!("keyspace {:?}: its stored options: {error}", space.name);
            Error::caused(error.kind(), message, error)
        })?;
        Ok((*id, Arc::new(space)))
    };
    let spaces: HashMap<KeyspaceId, Arc<Space>> = state.keyspaces.iter().map(space).collect::<Result<_>>()?;
    let default_space = spaces.values().find(|space| space.name == DEFAULT_KEYSPACE).cloned();
    let Some(default_space) = default_space else {
        let path = dir.join(files::manifest(manifest.current()));
        return Err(Error::corruption(&path, "the keyspace `default` is missing"));
    };
    let journal = Journal::recovering(
        storage.clone(),
        dir.clone(),
        manifest.store_id(),
        settings.memtable_seal_bytes().max(LOG_BYTES_MIN),
        (found.logs(), state.logs),
    );
    let next_seq = SeqNo(state.last_seq.0 + 1);
    Ok(Arc::new(Store {
        uid,
        id: manifest.store_id(),
        hash_seed: state.hash_seed,
        tables: TableContext::new(storage.clone(), &settings, manifest.store_id(), listener.clone()),
        indexing,
        dir,
        storage,
        files: own_files,
        settings,
        read_only,
        directory_lock: Mutex::new(directory_lock),
        default_space,
        spaces: RwLock::new(spaces),
        snapshots: Snapshots::default(),
        cleared: Mutex::default(),
        checkpoints: Mutex::default(),
        kept_logs: Mutex::default(),
        commit: Mutex::new(Commit::new(journal, next_seq)),
        room: Condvar::new(),
        durable: Mutex::new(Durable::default()),
        manifest: Mutex::new(manifest),
        memtable_bytes: AtomicU64::new(0),
        next_file,
        upkeep: Upkeep::default(),
        listener,
        visible: AtomicU64::new(next_seq.0 - 1),
        closed: AtomicBool::new(false),
        let_go: LetGo::default(),
        writing: RwLock::new(()),
    }))
}

/// The formats that this build and the program know, and the policy, which names no other.
fn indexing(builder: &DbBuilder) -> Result<Indexing> {
    let mut registry = Registry::built_in();
    for format in &builder.formats {
        registry.register(format.clone()).map_err(|error| Error::invalid(error.to_string()))?;
    }
    if builder.policy_of_all.is_some() && !builder.read_only {
        return Err(Error::invalid("`index_policy_of_all` is for stores opened for reading only"));
    }
    let policy = builder.policy_of_all.as_ref().unwrap_or(&builder.policy);
    policy.check(&registry)?;
    Ok(match &builder.policy_of_all {
        Some(policy) => Indexing::of_all(registry, policy.clone()),
        None => Indexing::new(registry, policy.clone()),
    })
}

/// Tells tables which indexes stand beside them, of known formats and of others.
fn note_sidecars(spaces: &[Arc<Space>], found: &Directory) {
    let mut sidecars: HashMap<FileNo, Vec<(&str, u64)>> = HashMap::new();
    for (name, entry) in found.names() {
        if let FileName::Sidecar(no, format) = name {
            sidecars.entry(no).or_default().push((format, entry.len));
        }
    }
    for space in spaces {
        for table in space.view().tables() {
            for (format, bytes) in sidecars.get(&table.meta.no).into_iter().flatten() {
                table.index().has_sidecar(format, *bytes);
            }
        }
    }
}

/// A log file shorter than this is not followed by a new one.
const LOG_BYTES_MIN: u64 = 64 << 10;

fn levels(own_files: &Arc<OwnFiles>, dir: &Path, space: &KeyspaceState) -> Levels {
    let handle = |table: &TableMeta| {
        Arc::new(TableHandle::new(table.clone(), dir.join(files::table(table.no)), own_files.clone()))
    };
    Levels::new(space.tables.iter().map(handle))
}

/// Replays the log into memtables, flushing those that become full, and removes what no
/// manifest names.
fn recover(store: &Arc<Store>, found: &Directory) -> Result<()> {
    let (live, end, last_seq, next_keyspace) = {
        let manifest = lock(&store.manifest);
        let state = manifest.state();
        (state.logs, state.log_end, state.last_seq, state.next_keyspace)
    };
    let logs = found.logs();
    let replay = Replay {
        storage: &*store.storage,
        dir: &store.dir,
        store_id: store.id,
        files: &logs,
        live,
        end,
        last_seq,
        mode: store.settings.recovery,
    };
    let recovered = replay.run(|seq, op| replay_one(store, next_keyspace, seq, op))?;
    store.visible.store(recovered.last_seq.0, Ordering::Release);
    let (operations, truncated_bytes) = (recovered.operations, recovered.truncated_bytes);
    let left = LeftBehind {
        live_logs: live,
        discarded: recovered.discarded.clone(),
        // Given up in part, or as a whole.
        end_is_lost: recovered.logs.iter().all(|log| log.no != end.no || log.bytes < end.bytes),
    };
    let log_files = recovered.logs.len();
    if store.settings.recovery == RecoveryMode::Strict {
        check_orphans(store, found, recovered.last_seq)?;
    }
    {
        let mut commit = lock(&store.commit);
        commit.next_seq = SeqNo(recovered.last_seq.0 + 1);
        commit.journal.recovered(recovered);
    }
    if operations > 0 || truncated_bytes > 0 {
        store.listener.tell(|| Event::Recovered { records: operations, truncated_bytes });
    }
    if store.read_only {
        return Ok(());
    }
    remove_orphans(store, found, &left)?;
    if log_files > LOG_FILES_AT_OPEN_MAX { flush_all(store) } else { Ok(()) }
}

/// A log of more files than this is flushed at open. Each session that writes adds a file, and
/// many short sessions would make a log that takes long to read.
const LOG_FILES_AT_OPEN_MAX: usize = 8;

/// Makes tables of all that was recovered, so that the log can go. On a full disk that is left to
/// the background, which tries until there is room.
fn flush_all(store: &Arc<Store>) -> Result<()> {
    for space in store.spaces() {
        if !space.view().active.is_empty() {
            space.seal();
        }
        match flush_sealed(store, &space) {
            Err(error) if error.is_disk_full() => {}
            flushed => flushed?,
        }
    }
    Ok(())
}

fn replay_one(store: &Arc<Store>, next_keyspace: u32, seq: SeqNo, op: &LogOp<'_>) -> Result<()> {
    let Some(space) = store.space(op.keyspace) else {
        if op.keyspace.0 < next_keyspace {
            // Dropped since.
            return Ok(());
        }
        let what = format!("the log names keyspace {}, which the manifest does not know", op.keyspace);
        return Err(Error::corruption(&store.dir, what));
    };
    if seq <= space.flushed() {
        return Ok(());
    }
    let kind = match op.kind {
        LogOpKind::Put => Kind::Put,
        LogOpKind::Delete => Kind::Delete,
        LogOpKind::Clear => return store.clear_again(&space, seq),
        LogOpKind::Ingest => return store.ingest_again(&space, seq, op.value),
    };
    let payload_crc = payload_crc(op.key, op.value);
    store.remember(&space, EntryRef { key: op.key, seq, kind, value: op.value, payload_crc });
    if store.read_only {
        return Ok(());
    }
    // An ingest seals what is before it, full or not.
    if memtable_bytes(&space) >= space.settings().memtable_seal_bytes() {
        space.seal();
        return flush_sealed(store, &space);
    }
    if store.memtable_bytes.load(Ordering::Relaxed) >= store.settings.memtables_total_bytes
        && let Some(largest) = store.spaces().iter().max_by_key(|space| memtable_bytes(space))
    {
        largest.seal();
        return flush_sealed(store, largest);
    }
    Ok(())
}

fn memtable_bytes(space: &Space) -> u64 {
    space.view().memtables().map(|memtable| memtable.bytes()).sum()
}

/// Lets all that is sealed of a keyspace join its levels.
fn flush_sealed(store: &Store, space: &Space) -> Result<()> {
    let count = space.view().sealed.len();
    (0..count).try_for_each(|_| store.flush_oldest(space))
}
