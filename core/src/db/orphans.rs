//! Files that a crash, or a recovery that gave something up, left behind.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::Ordering;

use kiban_formats::manifest::{Change, LiveLogs, LogEnd, State};
use kiban_formats::{FileNo, SeqNo};

use super::directory::Directory;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::files::{self, FileName};
use crate::store::Store;
use crate::sync::lock;
use crate::table;

/// A table that the manifest does not name is what a crash left of a flush, and the log has all
/// that is in it. If it has not, the manifest lost an edit that was durable.
pub(super) fn check_orphans(store: &Store, found: &Directory, last_seq: SeqNo) -> Result<()> {
    let manifest = lock(&store.manifest);
    let named: HashSet<FileNo> =
        manifest.state().keyspaces.values().flat_map(|space| &space.tables).map(|table| table.no).collect();
    for (name, entry) in found.names() {
        let FileName::Table(no) = name else { continue };
        if named.contains(&no) {
            continue;
        }
        let path = store.dir.join(&entry.name);
        if table::greatest_seq(&store.tables, &path)?.is_some_and(|seq| seq > last_seq) {
            let current = store.dir.join(files::manifest(manifest.current()));
            let what = format!(
                "it does not name table {no}, and the log lacks what is in that: records are missing"
            );
            return Err(Error::corruption(&current, what));
        }
    }
    Ok(())
}

/// What recovery found to be no part of the store.
pub(super) struct LeftBehind {
    /// What the manifest says is needed of the log.
    pub(super) live_logs: LiveLogs,
    /// Logs that are not part of history.
    pub(super) discarded: Vec<FileNo>,
    /// What the manifest says of the log's end does not hold.
    pub(super) end_is_lost: bool,
}

impl LeftBehind {
    /// What the manifest must no longer say, or must say before files go. `greatest` is the
    /// greatest number of these.
    fn changes(
        &self,
        store: &Store,
        found: &Directory,
        state: &State,
        greatest: Option<FileNo>,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        if greatest.is_some_and(|no| no >= state.next_file) {
            changes.push(Change::NextFile(FileNo(store.next_file.load(Ordering::Relaxed))));
        }
        let is_discarded = |no: FileNo| self.discarded.contains(&no);
        if state.logs.newest >= state.logs.oldest && is_discarded(state.logs.newest) {
            // The manifest must not ask for a log that goes.
            let kept = found.logs().into_iter().rfind(|no| !is_discarded(*no));
            changes.push(Change::Logs(LiveLogs { newest: kept.unwrap_or(FileNo(0)), ..state.logs }));
        }
        if self.end_is_lost && state.log_end.no >= self.live_logs.oldest && state.log_end.no.0 != 0 {
            changes.push(Change::LogEnd(LogEnd::default()));
        }
        changes
    }
}

/// Removes unfinished files and numbered ones that nothing names. Numbers of what goes stay used.
pub(super) fn remove_orphans(store: &Store, found: &Directory, left: &LeftBehind) -> Result<()> {
    let mut manifest = lock(&store.manifest);
    let live = tables_in_use(store, manifest.state());
    let is_orphan = |name: FileName<'_>| match name {
        FileName::Temporary(_) => true,
        FileName::Manifest(no) => no != manifest.current(),
        FileName::Log(no) => no < left.live_logs.oldest || left.discarded.contains(&no),
        FileName::Table(no) | FileName::Sidecar(no, _) => !live.contains(&no),
        FileName::Lock | FileName::Current | FileName::Other => false,
    };
    let orphans: Vec<_> = found.names().filter(|(name, _)| is_orphan(*name)).collect();
    let greatest = orphans.iter().filter_map(|(name, _)| name.no()).max();
    let changes = left.changes(store, found, manifest.state(), greatest);
    if !changes.is_empty() {
        manifest.append(&changes, || store.new_file_no())?;
    }
    if !orphans.is_empty() {
        manifest.make_durable(|| store.new_file_no())?;
    }
    // Listeners are called with no lock held. Nobody else has the store yet.
    drop(manifest);
    for (_, entry) in orphans {
        let path = store.dir.join(&entry.name);
        match store.storage.remove(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &path, source));
            }
            _ => store.listener.tell(|| Event::OrphanRemoved { file: path }),
        }
    }
    Ok(())
}

/// The tables that the manifest names, and those of an ingest that so far only the log names.
fn tables_in_use(store: &Store, state: &State) -> HashSet<FileNo> {
    let views: Vec<_> = store.spaces().iter().map(|space| space.view_owned()).collect();
    let named = state.keyspaces.values().flat_map(|space| &space.tables).map(|table| table.no);
    named.chain(views.iter().flat_map(|view| view.tables()).map(|table| table.meta.no)).collect()
}
