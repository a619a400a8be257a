//! Which keyspaces may have something to do, so that nobody looks at all of them for each job.

use std::collections::{HashSet, VecDeque};

use kiban_formats::KeyspaceId;

/// Keyspaces in the order in which they came, each once.
#[derive(Debug, Default)]
pub(super) struct Queue {
    order: VecDeque<KeyspaceId>,
    members: HashSet<KeyspaceId>,
}

impl Queue {
    pub(super) fn push(&mut self, id: KeyspaceId) {
        if self.members.insert(id) {
            self.order.push_back(id);
        }
    }

    pub(super) fn pop(&mut self) -> Option<KeyspaceId> {
        let id = self.order.pop_front()?;
        self.members.remove(&id);
        Some(id)
    }
}

/// Keyspaces that may have something to do. Whoever makes something to do in one says so; whoever
/// looks and finds nothing takes it out.
#[derive(Debug, Default)]
pub(super) struct Due {
    /// Any keyspace may.
    pub(super) any: bool,
    pub(super) flushes: Queue,
    pub(super) compactions: Queue,
    pub(super) indexes: Queue,
    /// Tables of these are new: what was collected for their indexes waits.
    pub(super) collected: Queue,
    /// Tables have other indexes than when it was decided where those are kept.
    pub(super) admission: bool,
}

impl Due {
    pub(super) fn push(&mut self, id: KeyspaceId) {
        self.flushes.push(id);
        self.compactions.push(id);
        self.indexes.push(id);
        self.collected.push(id);
    }

    pub(super) fn is_empty(&self) -> bool {
        let queues = [&self.flushes, &self.compactions, &self.indexes, &self.collected];
        !self.any && !self.admission && queues.iter().all(|queue| queue.order.is_empty())
    }
}
