//! What went wrong in the background, keyspace by keyspace, until it goes well again.

use std::collections::HashMap;

use kiban_formats::KeyspaceId;

use crate::error::{Error, ErrorKind};

/// What a job of the background does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Flush,
    Compaction,
}

/// Whose failures somebody who waits is told of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scope<'a> {
    All,
    Of(&'a [KeyspaceId]),
}

impl Scope<'_> {
    fn has(self, id: KeyspaceId) -> bool {
        match self {
            Scope::All => true,
            Scope::Of(ids) => ids.contains(&id),
        }
    }
}

/// The keyspaces whose jobs fail. Nothing is kept of one whose jobs go well.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// Failures so far, of all keyspaces.
    failures: u64,
    sick: HashMap<KeyspaceId, Sick>,
}

#[derive(Debug, Default)]
struct Sick {
    /// The ordinal of the last failure among those of all keyspaces.
    last: u64,
    flush: Option<Error>,
    compaction: Option<Error>,
    /// Why some tables are not compacted any more.
    damage: Option<Error>,
    /// The log failed, so what is in memory becomes no table: only reopening helps.
    halted: Option<Error>,
}

impl Sick {
    fn slot(&mut self, task: Task) -> &mut Option<Error> {
        match task {
            Task::Flush => &mut self.flush,
            Task::Compaction => &mut self.compaction,
        }
    }
}

impl Health {
    /// Failures so far: those after this are the ones of which a caller is told.
    pub(super) fn failures(&self) -> u64 {
        self.failures
    }

    /// A job failed.
    pub(super) fn failed(&mut self, id: KeyspaceId, task: Task, error: &Error) {
        self.failures += 1;
        let sick = self.sick.entry(id).or_default();
        sick.last = self.failures;
        *sick.slot(task) = Some(error.clone());
        match (task, error.kind()) {
            (Task::Compaction, ErrorKind::Corruption) => sick.damage = Some(error.clone()),
            (Task::Flush, ErrorKind::WritesHalted) => sick.halted = Some(error.clone()),
            _ => {}
        }
    }

    /// A job went well.
    pub(super) fn succeeded(&mut self, id: KeyspaceId, task: Task) {
        let Some(sick) = self.sick.get_mut(&id) else { return };
        *sick.slot(task) = None;
        if sick.flush.is_none() && sick.compaction.is_none() && sick.damage.is_none() {
            self.sick.remove(&id);
        }
    }

    /// All its tables were written anew.
    pub(super) fn cured(&mut self, id: KeyspaceId) {
        if let Some(sick) = self.sick.get_mut(&id) {
            sick.damage = None;
        }
        self.succeeded(id, Task::Compaction);
    }

    /// All that was in it is gone.
    pub(super) fn forget(&mut self, id: KeyspaceId) {
        if !self.is_halted(id) {
            self.sick.remove(&id);
        }
    }

    /// The last failure, after so many, of a keyspace in the scope.
    pub(super) fn failure_after(&self, failures: u64, scope: Scope<'_>) -> Option<Error> {
        let of_scope = self.sick.iter().filter(|(id, sick)| sick.last > failures && scope.has(**id));
        let (_, last) = of_scope.max_by_key(|(_, sick)| sick.last)?;
        last.halted.clone().or_else(|| last.flush.clone()).or_else(|| last.compaction.clone())
    }

    /// Why a keyspace in the scope is never flushed again.
    pub(super) fn halted(&self, scope: Scope<'_>) -> Option<Error> {
        let mut of_scope = self.sick.iter().filter(|(id, _)| scope.has(**id));
        of_scope.find_map(|(_, sick)| sick.halted.clone())
    }

    /// Whether this keyspace is never flushed again.
    pub(super) fn is_halted(&self, id: KeyspaceId) -> bool {
        self.sick.get(&id).is_some_and(|sick| sick.halted.is_some())
    }

    /// Whether flushes of this keyspace fail.
    pub(super) fn fails_to_flush(&self, id: KeyspaceId) -> bool {
        self.sick.get(&id).is_some_and(|sick| sick.flush.is_some())
    }

    /// Why memtables stay full.
    pub(super) fn flush_failure(&self) -> Option<Error> {
        self.sick.values().find_map(|sick| sick.flush.clone())
    }

    /// Why level 0 of this keyspace stays full.
    pub(super) fn compaction_failure(&self, id: KeyspaceId) -> Option<Error> {
        let sick = self.sick.get(&id)?;
        sick.compaction.clone().or_else(|| sick.damage.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: KeyspaceId = KeyspaceId(1);
    const B: KeyspaceId = KeyspaceId(2);

    fn error(kind: ErrorKind) -> Error {
        Error::new(kind, "of the test")
    }

    #[test]
    fn a_failure_is_of_its_keyspace_and_its_task_and_goes_with_a_success_of_both() {
        let mut health = Health::default();
        health.failed(A, Task::Flush, &error(ErrorKind::Io));
        assert!(health.failure_after(0, Scope::All).is_some());
        assert!(health.failure_after(0, Scope::Of(&[A])).is_some());
        assert!(health.failure_after(0, Scope::Of(&[B])).is_none());
        assert!(health.failure_after(health.failures(), Scope::All).is_none());
        for (id, task) in [(B, Task::Flush), (A, Task::Compaction)] {
            health.succeeded(id, task);
            assert!(health.flush_failure().is_some() && health.fails_to_flush(A));
        }
        health.succeeded(A, Task::Flush);
        assert!(health.flush_failure().is_none() && !health.fails_to_flush(A));
        assert!(health.sick.is_empty());
    }

    #[test]
    fn damage_outlives_a_success_and_goes_with_the_tables() {
        let mut health = Health::default();
        health.failed(A, Task::Compaction, &error(ErrorKind::Corruption));
        health.succeeded(A, Task::Compaction);
        assert!(health.compaction_failure(A).is_some() && health.compaction_failure(B).is_none());
        health.cured(A);
        assert!(health.compaction_failure(A).is_none());
        health.failed(A, Task::Flush, &error(ErrorKind::Io));
        health.forget(A);
        assert!(health.sick.is_empty());
    }

    #[test]
    fn a_halt_is_told_to_all_who_come_later() {
        let mut health = Health::default();
        health.failed(A, Task::Flush, &error(ErrorKind::WritesHalted));
        assert!(health.halted(Scope::All).is_some() && health.halted(Scope::Of(&[A])).is_some());
        assert!(health.halted(Scope::Of(&[B])).is_none());
        health.forget(A);
        assert!(health.is_halted(A));
    }
}
