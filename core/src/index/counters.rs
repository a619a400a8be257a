//! What came of an index's answers.

use serde::Serialize;

use crate::tally::Tally;

/// What came of one lookup.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome {
    /// The place was the key's.
    Hit,
    /// A promise that the key is not there, or deleted.
    Absent,
    /// The place was another key's, and the table does not have this one.
    FalsePositive,
    /// The place was wrong, and the table has the key.
    Refuted,
    /// It could not tell.
    Unknown,
    /// There was no index to ask where one is wanted.
    Fallback,
}

const OUTCOMES: usize = 6;

/// Counts of one format in one store.
#[derive(Debug, Default)]
pub(crate) struct IndexCounters(Tally<OUTCOMES>);

/// What came of the answers of one format's indexes since the store was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct IndexCounts {
    /// Tables that have one attached.
    pub tables: u64,
    /// Lookups.
    pub lookups: u64,
    /// Lookups whose place was the key's.
    pub hits: u64,
    /// Promises that a key is not in the table, or deleted.
    pub absent: u64,
    /// Places of other keys, where the table does not have the key asked for.
    pub false_positives: u64,
    /// Wrong places, where the table has the key: the index was let go and is built anew.
    pub refuted: u64,
    /// Lookups that it could not answer.
    pub unknown: u64,
    /// Lookups of the sorted index, because the wanted one was not there.
    pub fallbacks: u64,
    /// Bytes of heap of the attached ones.
    pub resident_bytes: u64,
    /// Mapped bytes of the attached ones.
    pub mapped_bytes: u64,
}

impl IndexCounters {
    #[inline]
    pub(crate) fn count(&self, outcome: Outcome) {
        self.0.count(outcome as usize);
    }

    /// The sums; tables and bytes are the caller's.
    pub(crate) fn sum(&self) -> IndexCounts {
        let sum = |outcome: Outcome| self.0.sum(outcome as usize);
        let (hits, absent, unknown) = (sum(Outcome::Hit), sum(Outcome::Absent), sum(Outcome::Unknown));
        let (false_positives, refuted) = (sum(Outcome::FalsePositive), sum(Outcome::Refuted));
        IndexCounts {
            lookups: hits + absent + unknown + false_positives + refuted,
            hits,
            absent,
            false_positives,
            refuted,
            unknown,
            fallbacks: sum(Outcome::Fallback),
            ..IndexCounts::default()
        }
    }
}
