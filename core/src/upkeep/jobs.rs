//! The life of a background thread: take a job, do it, say how it went.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use kiban_formats::{FileNo, KeyspaceId};

use super::health::Task;
use super::{RETRY_AFTER, State};
use crate::compaction::{Plan, pick};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Event;
use crate::space::Space;
use crate::store::Store;
use crate::sync::{lock, wait, wait_while};
use crate::table::TableHandle;

/// Something to do in the background.
#[derive(Debug)]
enum Job {
    /// The oldest of what is sealed of a keyspace joins its levels.
    Flush(Arc<Space>),
    Compact(Plan),
    /// A table gets the index that its keyspace's policy wants.
    Index(Arc<Space>, Arc<TableHandle>),
    /// Where the indexes of all tables are kept is decided anew.
    Admit,
}

/// A job that is over.
struct Done {
    keyspace: KeyspaceId,
    /// `None`: an index, which no one waits for but `wait_idle`.
    task: Option<Task>,
    /// The tables of a compaction, or the one that was indexed.
    tables: Vec<FileNo>,
}

impl Done {
    /// `None`: the keyspaces have no more to do than before.
    fn of(job: &Job) -> Option<Self> {
        Some(match job {
            Job::Flush(space) => Self { keyspace: space.id, task: Some(Task::Flush), tables: Vec::new() },
            Job::Compact(plan) => {
                let tables = plan.numbers().collect();
                Self { keyspace: plan.space.id, task: Some(Task::Compaction), tables }
            }
            Job::Index(space, table) => Self { keyspace: space.id, task: None, tables: vec![table.meta.no] },
            Job::Admit => return None,
        })
    }
}

/// Works until the store is closed, or is no more.
pub(super) fn work(store: &Weak<Store>) {
    if let Some(store) = store.upgrade() {
        lock(&store.upkeep.state).own.insert(std::thread::current().id());
    }
    let mut failed = None;
    while let Some(store) = store.upgrade() {
        let Some((kind, job)) = next_job(&store, failed) else { return };
        // A bug in a job must not leave those who wait for it waiting.
        let run = AssertUnwindSafe(|| match &job {
            Job::Flush(space) => store.flush_oldest(space),
            Job::Compact(plan) => store.compact_plan(plan),
            Job::Index(space, table) => store.index_table(space, table),
            Job::Admit => store.admit_all(),
        });
        let result = catch_unwind(run).unwrap_or_else(|_| {
            let message = format!("a background thread of store {} panicked", store.dir.display());
            Err(Error::new(ErrorKind::Io, message))
        });
        let done = Done::of(&job);
        // What it held on to goes before it is over: when all is idle, files are at rest.
        drop(job);
        failed = result.is_err().then_some(kind);
        match done {
            Some(done) => finish_job(&store, &done, result),
            None => finish_admission(&store),
        }
    }
}

/// Looks for a job of one kind.
type Find = fn(&Store, &mut State) -> Option<Job>;

/// Flushes come first: writers wait for them.
const KINDS: [Find; 5] = [find_flush, find_collected, find_compaction, find_index, find_admission];

/// Waits for something to do, and says of which kind it is; `None` when stopping. `failed` is the kind
/// of a job that has just failed: it is looked for last, so that one that fails again and again does
/// not keep the only thread from all else.
fn next_job(store: &Store, failed: Option<usize>) -> Option<(usize, Job)> {
    let mut state = lock(&store.upkeep.state);
    loop {
        if state.stopping {
            return None;
        }
        let nothing_was_due = state.due.is_empty();
        if let Some(found) = find_job(store, &mut state, failed) {
            return Some(found);
        }
        if !nothing_was_due && state.due.is_empty() {
            // Whoever waits for that hears of it.
            store.upkeep.changed.notify_all();
        }
        state = wait(&store.upkeep.changed, state);
    }
}

fn find_job(store: &Store, state: &mut State, failed: Option<usize>) -> Option<(usize, Job)> {
    if std::mem::take(&mut state.due.any) {
        store.spaces().iter().for_each(|space| state.due.push(space.id));
    }
    let first = failed.map_or(0, |kind| kind + 1);
    let kinds = (first..first + KINDS.len()).map(|kind| kind % KINDS.len());
    kinds.into_iter().find_map(|kind| Some((kind, KINDS[kind](store, state)?)))
}

fn find_flush(store: &Store, state: &mut State) -> Option<Job> {
    while let Some(id) = state.due.flushes.pop() {
        // One that is being flushed comes back when that is over.
        let free = !state.flushing.contains(&id) && !state.health.is_halted(id);
        let Some(space) = store.space(id).filter(|_| free) else { continue };
        if !space.view().sealed.is_empty() {
            state.flushing.insert(id);
            return Some(Job::Flush(space));
        }
        // What failed may have been cleared.
        state.health.succeeded(id, Task::Flush);
    }
    None
}

fn find_compaction(store: &Store, state: &mut State) -> Option<Job> {
    while let Some(id) = state.due.compactions.pop() {
        // One of which none may begin comes back when it may.
        let free = !state.stopped.contains_key(&id);
        let Some(space) = store.space(id).filter(|_| free) else { continue };
        if let Some(plan) = pick(&space, &space.settings(), &state.busy) {
            state.busy.extend(plan.numbers());
            *state.compacting.entry(id).or_default() += 1;
            // There may be another one to do at the same time.
            state.due.compactions.push(id);
            return Some(Job::Compact(plan));
        }
    }
    None
}

/// A new table whose index only has to be solved: what was collected for it takes memory.
fn find_collected(store: &Store, state: &mut State) -> Option<Job> {
    if state.admitting {
        return None;
    }
    while let Some(id) = state.due.collected.pop() {
        if let Some(job) = find_table(store, state, id, |table| table.index().is_collected()) {
            state.due.collected.push(id);
            return Some(job);
        }
    }
    None
}

/// A table for which nothing was decided by the policy there is.
fn find_index(store: &Store, state: &mut State) -> Option<Job> {
    if state.admitting || !state.indexes_begun {
        return None;
    }
    while let Some(id) = state.due.indexes.pop() {
        if let Some(job) = find_table(store, state, id, |_| true) {
            // There may be another one to do at the same time.
            state.due.indexes.push(id);
            return Some(job);
        }
    }
    None
}

fn find_table(
    store: &Store,
    state: &mut State,
    id: KeyspaceId,
    is_asked_for: impl Fn(&TableHandle) -> bool,
) -> Option<Job> {
    let space = store.space(id)?;
    let policy = space.policy();
    let is_due = |table: &&Arc<TableHandle>| {
        let decision = policy.decision(table.meta.level);
        let is_free = !table.index().is_settled(decision) && !state.indexing.contains(&table.meta.no);
        is_free && is_asked_for(table)
    };
    let table = space.view().tables().find(is_due).cloned()?;
    state.indexing.insert(table.meta.no);
    drop(policy);
    Some(Job::Index(space, table))
}

/// Once all indexes are there: each that comes changes what is best for the others.
fn find_admission(_: &Store, state: &mut State) -> Option<Job> {
    let is_due = state.due.admission && state.indexing.is_empty() && !state.admitting;
    is_due.then(|| {
        state.due.admission = false;
        state.admitting = true;
        Job::Admit
    })
}

fn finish_admission(store: &Store) {
    lock(&store.upkeep.state).admitting = false;
    store.upkeep.changed.notify_all();
}

fn finish_job(store: &Store, done: &Done, result: Result<()>) {
    let Some(task) = done.task else { return finish_index(store, done) };
    let failed = result.err().filter(|error| error.kind() != ErrorKind::Closed);
    if let Some(error) = &failed {
        store.listener.tell(|| Event::BackgroundError { message: error.to_string() });
    }
    let kind = failed.as_ref().map(Error::kind);
    let mut state = lock(&store.upkeep.state);
    match &failed {
        // One that was dropped meanwhile is nobody's any more.
        Some(_) if store.space(done.keyspace).is_none() => state.health.forget(done.keyspace),
        Some(error) => state.health.failed(done.keyspace, task, error),
        None => state.health.succeeded(done.keyspace, task),
    }
    store.upkeep.changed.notify_all();
    drop(state);
    store.signal_room();
    let mut state = lock(&store.upkeep.state);
    let is_final = matches!(
        (task, kind),
        (Task::Flush, Some(ErrorKind::WritesHalted)) | (Task::Compaction, Some(ErrorKind::Corruption))
    );
    if kind.is_some() && !is_final && !state.stopping {
        // Its memtable or tables stay busy while we wait, so that nobody tries again at once.
        let hurries = state.hurries;
        let nobody_asks = |state: &mut State| !state.stopping && state.hurries == hurries;
        state = wait_while(&store.upkeep.changed, state, RETRY_AFTER, nobody_asks);
    }
    match task {
        Task::Flush => {
            state.flushing.remove(&done.keyspace);
        }
        Task::Compaction => {
            // Damaged tables stay busy.
            if !is_final {
                state.busy.retain(|no| !done.tables.contains(no));
            }
            state.ends_compaction(done.keyspace);
        }
    }
    state.due.push(done.keyspace);
    state.indexes_begun = true;
    store.upkeep.changed.notify_all();
}

fn finish_index(store: &Store, done: &Done) {
    let mut state = lock(&store.upkeep.state);
    state.indexing.retain(|no| !done.tables.contains(no));
    state.due.admission = true;
    state.due.indexes.push(done.keyspace);
    store.upkeep.changed.notify_all();
}
