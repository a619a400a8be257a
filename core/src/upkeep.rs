//! Background work: threads that flush sealed memtables and compact tables.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

use kiban_formats::{FileNo, KeyspaceId};

use crate::compaction::{Plan, pick};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Event;
use crate::space::Space;
use crate::store::Store;
use crate::sync::{lock, wait, wait_for};

/// How long to wait before a failed job is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// The background threads and what they are at.
#[derive(Debug, Default)]
pub(crate) struct Upkeep {
    state: Mutex<State>,
    /// Signalled when there may be work, and when some is done.
    changed: Condvar,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct State {
    /// Keyspaces of which a memtable is being flushed. One at a time each: a younger memtable
    /// is never published before an older one.
    flushing: HashSet<KeyspaceId>,
    /// Tables that are being compacted, or that are damaged.
    busy: HashSet<FileNo>,
    /// How many compactions of a keyspace run.
    compacting: HashMap<KeyspaceId, usize>,
    /// Keyspaces of which none may begin, and the thread that compacts each by itself.
    stopped: HashMap<KeyspaceId, ThreadId>,
    /// Failures so far, and the last one, until a job succeeds.
    failures: u64,
    last_error: Option<Error>,
    /// Why some tables of a keyspace are not compacted any more.
    damage: HashMap<KeyspaceId, Error>,
    stopping: bool,
}

/// Something to do in the background.
#[derive(Debug)]
enum Job {
    /// The oldest sealed memtable of a keyspace becomes a table.
    Flush(Arc<Space>),
    Compact(Plan),
}

/// No compaction of a keyspace begins while this is held, and none runs.
#[derive(Debug)]
pub(crate) struct Stopped<'s> {
    upkeep: &'s Upkeep,
    keyspace: KeyspaceId,
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        lock(&self.upkeep.state).stopped.remove(&self.keyspace);
        self.upkeep.changed.notify_all();
    }
}

impl Upkeep {
    /// Starts the threads.
    pub(crate) fn start(store: &Arc<Store>) -> Result<()> {
        for ordinal in 0..store.settings.background_threads {
            let weak = Arc::downgrade(store);
            let spawned = std::thread::Builder::new()
                .name(format!("kiban-{ordinal}"))
                .spawn(move || work(&weak))
                .map_err(|source| Error::io("start a thread for", &store.dir, source));
            match spawned {
                Ok(thread) => lock(&store.upkeep.threads).push(thread),
                Err(error) => {
                    store.upkeep.stop();
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Wakes the threads: there may be work.
    pub(crate) fn wake(&self) {
        let _state = lock(&self.state);
        self.changed.notify_all();
    }

    /// Ends the threads after the jobs they are at, and waits for callers that compact. A
    /// listener may be who calls: nobody waits for its own thread.
    pub(crate) fn stop(&self) {
        let me = std::thread::current().id();
        let mut state = lock(&self.state);
        state.stopping = true;
        self.changed.notify_all();
        while state.stopped.values().any(|thread| *thread != me) {
            state = wait(&self.changed, state);
        }
        drop(state);
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            if thread.thread().id() != me {
                // A job that panicked has been reported; closing goes on.
                let _ = thread.join();
            }
        }
    }

    /// Why a writer need not wait for the background: the last job failed, or tables of the
    /// keyspace whose level 0 is full are damaged.
    pub(crate) fn trouble(&self, level0_full: Option<KeyspaceId>) -> Option<Error> {
        let state = lock(&self.state);
        let damage = || state.damage.get(&level0_full?).cloned();
        state.last_error.clone().or_else(damage)
    }

    /// Waits until `done`, for a change of state at a time.
    ///
    /// # Errors
    /// The failure of a job that began after the call, or that the store was closed.
    pub(crate) fn wait_until(&self, store: &Store, mut done: impl FnMut() -> bool) -> Result<()> {
        self.wait_for_state(store, |_| done()).map(drop)
    }

    /// Waits until nothing is being done and nothing has to be done.
    pub(crate) fn wait_idle(&self, store: &Store) -> Result<()> {
        let idle = |state: &mut State| {
            state.flushing.is_empty() && state.compacting.values().all(|running| *running == 0) && {
                let spaces = store.spaces();
                let pending = |space: &Arc<Space>| {
                    !space.view().sealed.is_empty() || pick(space, &store.settings, &state.busy).is_some()
                };
                !spaces.iter().any(pending)
            }
        };
        self.wait_for_state(store, idle).map(drop)
    }

    /// Keeps compactions of a keyspace from beginning, and waits for those that run.
    pub(crate) fn stop_compactions_of<'s>(&'s self, store: &Store, space: &Space) -> Result<Stopped<'s>> {
        let keyspace = space.id;
        let mut state = self.wait_for_state(store, |state| !state.stopped.contains_key(&keyspace))?;
        // Whoever closes the store waits for this compaction, or has forbidden it.
        store.check_open()?;
        state.stopped.insert(keyspace, std::thread::current().id());
        drop(state);
        let stopped = Stopped { upkeep: self, keyspace };
        let done = |state: &mut State| state.compacting.get(&keyspace).is_none_or(|running| *running == 0);
        drop(self.wait_for_state(store, done)?);
        Ok(stopped)
    }

    fn wait_for_state(
        &self,
        store: &Store,
        mut done: impl FnMut(&mut State) -> bool,
    ) -> Result<MutexGuard<'_, State>> {
        let mut state = lock(&self.state);
        let failures = state.failures;
        loop {
            if done(&mut state) {
                return Ok(state);
            }
            if let Some(error) = state.last_error.as_ref().filter(|_| state.failures > failures) {
                return Err(error.clone());
            }
            if state.stopping {
                store.check_open()?;
            }
            state = wait(&self.changed, state);
        }
    }
}

/// A thread's life: take a job, do it, say how it went.
fn work(store: &Weak<Store>) {
    while let Some(store) = store.upgrade() {
        let Some(job) = next_job(&store) else { return };
        // A bug in a job must not leave those who wait for it waiting.
        let run = AssertUnwindSafe(|| match &job {
            Job::Flush(space) => store.flush_oldest(space),
            Job::Compact(plan) => store.compact_plan(plan),
        });
        let result = catch_unwind(run).unwrap_or_else(|_| {
            let message = format!("a background thread of store {} panicked", store.dir.display());
            Err(Error::new(ErrorKind::Io, message))
        });
        let done = Done::of(&job);
        // What it held on to goes before it is over: when all is idle, files are at rest.
        drop(job);
        finish_job(&store, &done, result);
    }
}

/// A job that is over.
struct Done {
    keyspace: KeyspaceId,
    /// The tables of a compaction.
    tables: Option<Vec<FileNo>>,
}

impl Done {
    fn of(job: &Job) -> Self {
        match job {
            Job::Flush(space) => Self { keyspace: space.id, tables: None },
            Job::Compact(plan) => Self { keyspace: plan.space.id, tables: Some(plan.numbers().collect()) },
        }
    }
}

/// Waits for something to do; `None` when stopping. Flushes come first: writers wait for them.
fn next_job(store: &Store) -> Option<Job> {
    let mut state = lock(&store.upkeep.state);
    loop {
        if state.stopping {
            return None;
        }
        if let Some(job) = find_job(store, &state) {
            match &job {
                Job::Flush(space) => {
                    state.flushing.insert(space.id);
                }
                Job::Compact(plan) => {
                    state.busy.extend(plan.numbers());
                    *state.compacting.entry(plan.space.id).or_default() += 1;
                }
            }
            return Some(job);
        }
        state = wait(&store.upkeep.changed, state);
    }
}

fn find_job(store: &Store, state: &State) -> Option<Job> {
    let spaces = store.spaces();
    let sealed = |space: &&Arc<Space>| !state.flushing.contains(&space.id) && !space.view().sealed.is_empty();
    if let Some(space) = spaces.iter().find(sealed) {
        return Some(Job::Flush(space.clone()));
    }
    let mut free = spaces.iter().filter(|space| !state.stopped.contains_key(&space.id));
    free.find_map(|space| pick(space, &store.settings, &state.busy)).map(Job::Compact)
}

fn finish_job(store: &Store, done: &Done, result: Result<()>) {
    let failed = result.err().filter(|error| error.kind() != ErrorKind::Closed);
    if let Some(error) = &failed {
        store.listener.tell(|| Event::BackgroundError { message: error.to_string() });
    }
    let damage = failed.clone().filter(|error| error.kind() == ErrorKind::Corruption);
    let is_damage = damage.is_some();
    let mut state = lock(&store.upkeep.state);
    state.failures += u64::from(failed.is_some());
    state.last_error.clone_from(&failed);
    if let (Some(_), Some(damage)) = (&done.tables, damage) {
        state.damage.insert(done.keyspace, damage);
    }
    store.upkeep.changed.notify_all();
    drop(state);
    store.signal_room();
    let mut state = lock(&store.upkeep.state);
    if state.last_error.is_some() && !state.stopping {
        // Its memtable or tables stay busy while we wait, so that nobody tries again at once.
        state = wait_for(&store.upkeep.changed, state, RETRY_AFTER);
    }
    match &done.tables {
        None => {
            state.flushing.remove(&done.keyspace);
        }
        Some(tables) => {
            if !is_damage {
                state.busy.retain(|no| !tables.contains(no));
            }
            if let Some(running) = state.compacting.get_mut(&done.keyspace) {
                *running -= 1;
            }
        }
    }
    store.upkeep.changed.notify_all();
}
