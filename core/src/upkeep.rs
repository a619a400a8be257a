//! Background work: threads that flush sealed memtables.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use kiban_formats::KeyspaceId;

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
    busy: HashSet<KeyspaceId>,
    /// Failures so far, and the last one, until a job succeeds.
    failures: u64,
    last_error: Option<Error>,
    stopping: bool,
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

    /// Ends the threads after the jobs they are at.
    pub(crate) fn stop(&self) {
        lock(&self.state).stopping = true;
        self.changed.notify_all();
        for thread in lock(&self.threads).drain(..) {
            // A job that panicked has said so on stderr; closing goes on.
            let _ = thread.join();
        }
    }

    /// Why the last job failed, if none succeeded since.
    pub(crate) fn last_error(&self) -> Option<Error> {
        lock(&self.state).last_error.clone()
    }

    /// Waits until `done`, for a change of state at a time.
    ///
    /// # Errors
    /// The failure of a job that began after the call, or that the store was closed.
    pub(crate) fn wait_until(&self, store: &Store, mut done: impl FnMut() -> bool) -> Result<()> {
        let mut state = lock(&self.state);
        let failures = state.failures;
        loop {
            if done() {
                return Ok(());
            }
            if let Some(error) = state.last_error.as_ref().filter(|_| state.failures > failures) {
                return Err(error.clone());
            }
            if state.stopping {
                return store.check_open();
            }
            state = wait(&self.changed, state);
        }
    }
}

/// A thread's life: take a job, do it, say how it went.
fn work(store: &Weak<Store>) {
    while let Some(store) = store.upgrade() {
        let Some(space) = next_job(&store) else { return };
        // A bug in a job must not leave those who wait for it waiting.
        let job = AssertUnwindSafe(|| store.flush_oldest(&space));
        let result = catch_unwind(job).unwrap_or_else(|_| {
            let message = format!("a background thread of store {} panicked", store.dir.display());
            Err(Error::new(ErrorKind::Io, message))
        });
        finish_job(&store, &space, result);
    }
}

/// Waits for a keyspace with a sealed memtable that nobody flushes; `None` when stopping.
fn next_job(store: &Store) -> Option<Arc<Space>> {
    let mut state = lock(&store.upkeep.state);
    loop {
        if state.stopping {
            return None;
        }
        let idle = |space: &Arc<Space>| !state.busy.contains(&space.id) && !space.view().sealed.is_empty();
        if let Some(space) = store.spaces().into_iter().find(idle) {
            state.busy.insert(space.id);
            return Some(space);
        }
        state = wait(&store.upkeep.changed, state);
    }
}

fn finish_job(store: &Store, space: &Space, result: Result<()>) {
    let failed = result.err();
    if let Some(error) = &failed {
        store.listener.tell(|| Event::BackgroundError { message: error.to_string() });
    }
    let mut state = lock(&store.upkeep.state);
    state.failures += u64::from(failed.is_some());
    state.last_error = failed;
    store.upkeep.changed.notify_all();
    drop(state);
    store.signal_room();
    let mut state = lock(&store.upkeep.state);
    if state.last_error.is_some() && !state.stopping {
        // The keyspace stays busy while we wait, so that nobody tries again at once.
        state = wait_for(&store.upkeep.changed, state, RETRY_AFTER);
    }
    state.busy.remove(&space.id);
    store.upkeep.changed.notify_all();
}
