//! Making a store that does not open one that does.
//!
//! [`found`] reads everything and says what it is good for; [`spaces`] puts together what each
//! keyspace has, the log included; [`place`] puts tables whose levels are not known into levels;
//! [`lost`] keeps what could not be used. A new manifest is the moment at which the store changes:
//! before it nothing is removed, and a crash leaves the store as it was.

mod found;
mod log;
mod lost;
mod place;
mod spaces;

use std::sync::atomic::{AtomicU64, Ordering};

use kiban_formats::manifest::State;
use kiban_formats::{FileNo, StoreId};
use serde::Serialize;

use crate::db::DbBuilder;
use crate::db::open::take_lock;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::manifest::{ManifestStore, read_pointer};
use crate::output::OutputSite;
use crate::own_files::OwnFiles;
use crate::storage::random_id;

use found::Found;
use lost::Kept;
use spaces::Spaces;

/// What [`Db::repair`](crate::Db::repair) found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepairReport {
    /// Nothing was wrong, and nothing was changed.
    pub healthy: bool,
    /// The manifest was of no use, and was made anew from the tables.
    pub rebuilt: bool,
    /// Tables that are part of the store as they were.
    pub tables_kept: u64,
    /// Tables that are not. What could be read of them is in new ones.
    pub tables_lost: Vec<RepairLoss>,
    /// What else was damaged: pointer, manifest, logs.
    pub damage: Vec<RepairLoss>,
    /// Operations taken from the log.
    pub records_from_log: u64,
    /// The greatest sequence that the repaired store holds.
    pub last_sequence: u64,
    /// The names of all keyspaces.
    pub keyspaces: Vec<String>,
    /// Names of files that were moved to `lost` in the store's directory.
    pub moved: Vec<String>,
}

/// A file that could not be used, or not wholly.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RepairLoss {
    /// The file's name in the store's directory.
    pub file: String,
    /// What is wrong with it.
    pub what: String,
    /// Of a table: entries that were saved into new tables.
    pub entries_saved: u64,
}

impl RepairLoss {
    fn new(file: impl Into<String>, what: impl ToString) -> Self {
        Self { file: file.into(), what: what.to_string(), entries_saved: 0 }
    }
}

/// Repairs the store that the builder names.
pub(crate) fn repair(builder: DbBuilder) -> Result<RepairReport> {
    found::check_there(&builder)?;
    let _lock = take_lock(&DbBuilder { read_only: false, ..builder.clone() })?;
    let found = Found::look(&builder)?;
    if found.is_healthy() {
        let keyspaces = found.state.keyspaces.values().map(|space| space.name.clone()).collect();
        let tables_kept = found.state.keyspaces.values().map(|space| space.tables.len() as u64).sum();
        let last_sequence = found.last_seq.0;
        return Ok(RepairReport {
            healthy: true,
            tables_kept,
            last_sequence,
            keyspaces,
            ..RepairReport::default()
        });
    }
    let first_new = found.next_file();
    let next_file = AtomicU64::new(first_new.0);
    let repaired = prepare(&builder, &found, &next_file).and_then(|(mut report, state, kept)| {
        let mut manifest = ManifestStore::create(builder.storage.clone(), &builder.path, found.store_id);
        manifest.append(&state.snapshot(), || FileNo(next_file.fetch_add(1, Ordering::Relaxed)))?;
        report.moved = kept.release()?;
        Ok(report)
    });
    if repaired.is_err() && !has_new_manifest(&builder, first_new) {
        // Nothing names them.
        for no in first_new.0..next_file.into_inner() {
            let _ = builder.storage.remove(&builder.path.join(files::table(FileNo(no))));
        }
    }
    repaired
}

/// Whether the pointer names, or may name, a manifest with such a number.
fn has_new_manifest(builder: &DbBuilder, first_new: FileNo) -> bool {
    match read_pointer(&*builder.storage, &builder.path) {
        Ok(pointer) => pointer.manifest >= first_new,
        Err(error) => error.kind() == ErrorKind::Io && !error.is_missing_file(),
    }
}

/// All of the repair that changes nothing of what is there.
fn prepare<'b>(
    builder: &'b DbBuilder,
    found: &Found,
    next_file: &AtomicU64,
) -> Result<(RepairReport, State, Kept<'b>)> {
    let own_files = OwnFiles::new(builder.storage.clone());
    let site = OutputSite {
        dir: &builder.path,
        storage: &builder.storage,
        files: &own_files,
        table_bytes: builder.settings.table_bytes,
        filter_bits_per_key: builder.settings.filter_bits_per_key,
        seal_bytes: builder.settings.memtable_seal_bytes(),
        store_id: found.store_id,
        hash_seed: found.hash_seed().unwrap_or_else(|| builder.storage.random_u64()),
        next_file,
        writing: &found.context.writing,
    };
    let mut report = RepairReport { rebuilt: !found.trusted, ..RepairReport::default() };
    let mut spaces = Spaces::new(site, found);
    spaces.take_tables()?;
    let read = log::replay(builder, &mut spaces, found)?;
    let last = spaces.greatest_seq().max(read.last_seq).max(found.greatest_in_tables(builder)?);
    let state = spaces.finish(&mut report, last)?;
    report.damage = found.damage.iter().chain(&found.log_problem).cloned().collect();
    report.records_from_log = read.operations;
    report.last_sequence = last.0;
    report.keyspaces = state.keyspaces.values().map(|space| space.name.clone()).collect();
    let unused = report.tables_lost.iter().chain(&report.damage).map(|loss| loss.file.clone());
    let kept = lost::keep(builder, unused.chain(read.unread).collect::<Vec<_>>())?;
    Ok((report, state, kept))
}

/// An identity where nothing tells the store's.
fn new_store_id(builder: &DbBuilder) -> StoreId {
    StoreId(random_id(&*builder.storage))
}

/// Damage is what is reported; other errors end the repair.
fn as_damage<T>(result: Result<T>) -> Result<Result<T, Error>> {
    match result {
        Err(error) if error.kind() == ErrorKind::Unsupported => Err(error),
        other => Ok(other),
    }
}
