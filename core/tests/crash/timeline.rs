//! What was done to a store, and how much of it must still be there.

use crate::history::{Batch, Contents, apply};
use crate::pairs::Pairs;

/// One step of history: it happens whole or not at all.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Batch(Batch),
    Clear {
        space: usize,
    },
    /// The keyspace is dropped and made anew.
    Drop {
        space: usize,
    },
    Ingest {
        space: usize,
        pairs: Pairs,
    },
}

impl Step {
    pub(crate) fn apply(&self, contents: &mut Contents) {
        match self {
            Self::Batch(batch) => apply(contents, batch),
            Self::Clear { space } | Self::Drop { space } => contents[*space].clear(),
            Self::Ingest { space, pairs } => contents[*space].extend(pairs.iter().cloned()),
        }
    }
}

/// Steps in the order they were handed in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) steps: Vec<Step>,
    /// So many were acknowledged; the one after them, if any, was in flight.
    pub(crate) acked: usize,
    /// So many must survive a power cut.
    pub(crate) durable: usize,
}

impl Timeline {
    /// The contents after the first `count` steps.
    pub(crate) fn contents(&self, count: usize) -> Contents {
        let mut contents = Contents::default();
        self.steps[..count].iter().for_each(|step| step.apply(&mut contents));
        contents
    }

    /// The contents after all acknowledged steps.
    pub(crate) fn now(&self) -> Contents {
        self.contents(self.acked)
    }

    /// The greatest number of steps, at least `least`, after which the contents are `found`.
    pub(crate) fn find(&self, found: &Contents, least: usize) -> Option<usize> {
        let mut contents = self.contents(least);
        let mut at = (contents == *found).then_some(least);
        for (no, step) in self.steps.iter().enumerate().skip(least) {
            step.apply(&mut contents);
            if contents == *found {
                at = Some(no + 1);
            }
        }
        at
    }

    /// A store was found to hold the first `count` steps; the others never happened.
    pub(crate) fn settle(&mut self, count: usize) {
        self.steps.truncate(count);
        self.acked = count;
        self.durable = self.durable.min(count);
    }
}
