//! Background work: threads that flush sealed memtables and compact tables.

mod due;
mod health;
mod jobs;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

use kiban_formats::{FileNo, KeyspaceId};

use self::due::Due;
use self::health::Health;
pub(crate) use self::health::Scope;
use crate::error::{Error, Result};
use crate::event::Listener;
use crate::space::Space;
use crate::store::Store;
use crate::sync::{lock, wait};

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
    due: Due,
    /// Keyspaces of which something sealed joins the levels. One at a time each: what is younger
    /// is never published before what is older.
    flushing: HashSet<KeyspaceId>,
    /// Tables that are being compacted, or that are damaged.
    busy: HashSet<FileNo>,
    /// How many compactions of a keyspace run; those without are left out.
    compacting: HashMap<KeyspaceId, usize>,
    /// Tables whose index is being seen to.
    indexing: HashSet<FileNo>,
    /// Somebody has read a table, or made one, or waits. Before that no index is looked at, so that
    /// opening a store reads none.
    indexes_begun: bool,
    /// It is being decided where indexes are kept; none is seen to meanwhile.
    admitting: bool,
    /// Keyspaces of which none may begin, and the thread that compacts each by itself.
    stopped: HashMap<KeyspaceId, ThreadId>,
    health: Health,
    /// How often somebody asked that what failed be tried again at once.
    hurries: u64,
    /// The threads of the background.
    own: HashSet<ThreadId>,
    stopping: bool,
}

impl State {
    fn ends_compaction(&mut self, keyspace: KeyspaceId) {
        if let Some(running) = self.compacting.get_mut(&keyspace) {
            *running -= 1;
            if *running == 0 {
                self.compacting.remove(&keyspace);
            }
        }
    }

    /// Whether others wait for what this thread does.
    fn is_waited_for(&self) -> bool {
        let me = std::thread::current().id();
        self.own.contains(&me) || self.stopped.values().any(|thread| *thread == me)
    }

    fn is_idle(&self) -> bool {
        let nothing_runs = self.flushing.is_empty() && self.compacting.is_empty() && self.indexing.is_empty();
        self.due.is_empty() && nothing_runs && !self.admitting
    }
}

/// No compaction of a keyspace begins while this is held, and none runs.
#[derive(Debug)]
pub(crate) struct Stopped<'s> {
    upkeep: &'s Upkeep,
    keyspace: KeyspaceId,
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.upkeep.state);
        state.stopped.remove(&self.keyspace);
        state.due.push(self.keyspace);
        self.upkeep.changed.notify_all();
    }
}

impl Upkeep {
    /// Starts the threads.
    pub(crate) fn start(store: &Arc<Store>) -> Result<()> {
        store.upkeep.wake();
        for ordinal in 0..store.settings.background_threads {
            let weak = Arc::downgrade(store);
            let spawned = std::thread::Builder::new()
                .name(format!("kiban-{ordinal}"))
                .spawn(move || jobs::work(&weak))
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

    /// Wakes the threads: there may be work in any keyspace.
    pub(crate) fn wake(&self) {
        lock(&self.state).due.any = true;
        self.changed.notify_all();
    }

    /// Wakes the threads: a table that is read may lack its index.
    pub(crate) fn wake_for_indexes(&self) {
        lock(&self.state).indexes_begun = true;
        self.wake();
    }

    /// Wakes the threads: there may be work in this keyspace.
    pub(crate) fn wake_for(&self, space: &Space) {
        lock(&self.state).due.push(space.id);
        self.changed.notify_all();
    }

    /// What failed is tried again now: somebody waits for it.
    pub(crate) fn hurry(&self) {
        let mut state = lock(&self.state);
        state.hurries += 1;
        state.indexes_begun = true;
        drop(state);
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

    /// Whether whoever closes the store waits for the thread that asks.
    pub(crate) fn is_waited_for(&self) -> bool {
        lock(&self.state).is_waited_for()
    }

    /// Why a writer that found memtables, or level 0 of a keyspace, full need not wait for the
    /// background.
    pub(crate) fn trouble(&self, memtables_full: bool, level0_full: Option<KeyspaceId>) -> Option<Error> {
        let state = lock(&self.state);
        let health = &state.health;
        let some_flush_goes_on = state.flushing.iter().any(|id| !health.fails_to_flush(*id));
        let flush = || health.flush_failure().filter(|_| memtables_full && !some_flush_goes_on);
        level0_full.and_then(|id| health.compaction_failure(id)).or_else(flush)
    }

    /// All tables of a keyspace were written anew: what was wrong with them is over.
    pub(crate) fn cured(&self, space: &Space) {
        lock(&self.state).health.cured(space.id);
    }

    /// All that was in a keyspace is gone, and what was wrong with it.
    pub(crate) fn emptied(&self, space: &Space) {
        let mut state = lock(&self.state);
        state.health.forget(space.id);
        state.due.push(space.id);
        self.changed.notify_all();
    }

    /// Waits until `done`, for a change of state at a time.
    ///
    /// # Errors
    /// The failure of a job of the scope that ended after the call, or that its memtables will
    /// not be flushed any more, or that the store was closed.
    pub(crate) fn wait_until(
        &self,
        store: &Store,
        scope: Scope<'_>,
        mut done: impl FnMut() -> bool,
    ) -> Result<()> {
        self.hurry();
        self.wait_for_state(store, scope, |_| done()).map(drop)
    }

    /// Waits until nothing is being done and nothing has to be done.
    pub(crate) fn wait_idle(&self, store: &Store) -> Result<()> {
        self.hurry();
        let idle = |state: &mut State| state.is_idle() && state.health.halted(Scope::All).is_none();
        self.wait_for_state(store, Scope::All, idle).map(drop)
    }

    /// Keeps compactions of a keyspace from beginning, and waits for those that run.
    pub(crate) fn stop_compactions_of<'s>(&'s self, store: &Store, space: &Space) -> Result<Stopped<'s>> {
        let keyspace = space.id;
        let scope = Scope::Of(&[keyspace]);
        let mut state = self.wait_for_state(store, scope, |state| !state.stopped.contains_key(&keyspace))?;
        // Whoever closes the store waits for this compaction, or has forbidden it.
        store.check_open()?;
        state.stopped.insert(keyspace, std::thread::current().id());
        drop(state);
        let stopped = Stopped { upkeep: self, keyspace };
        drop(self.wait_for_state(store, scope, |state| !state.compacting.contains_key(&keyspace))?);
        Ok(stopped)
    }

    /// Keeps compactions of a keyspace from beginning, unless one runs.
    pub(crate) fn try_stop_compactions_of(&self, space: &Space) -> Option<Stopped<'_>> {
        let mut state = lock(&self.state);
        if state.stopped.contains_key(&space.id) || state.compacting.contains_key(&space.id) {
            return None;
        }
        state.stopped.insert(space.id, std::thread::current().id());
        Some(Stopped { upkeep: self, keyspace: space.id })
    }

    fn wait_for_state(
        &self,
        store: &Store,
        scope: Scope<'_>,
        mut done: impl FnMut(&mut State) -> bool,
    ) -> Result<MutexGuard<'_, State>> {
        let mut state = lock(&self.state);
        let failures = state.health.failures();
        loop {
            if done(&mut state) {
                return Ok(state);
            }
            let failure = state.health.failure_after(failures, scope);
            if let Some(error) = failure.or_else(|| state.health.halted(scope)) {
                return Err(error);
            }
            if state.stopping {
                store.check_open()?;
            }
            if Listener::is_being_told() && state.is_waited_for() {
                return Err(Error::invalid("a listener cannot wait for the thread that it is called from"));
            }
            state = wait(&self.changed, state);
        }
    }
}
