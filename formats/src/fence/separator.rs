//! The shortest key that tells two pages apart.

use crate::SeqNo;
use crate::page::shared_len;

/// A place between two entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Separator {
    /// A key.
    pub key: Vec<u8>,
    /// Stands before this version of it; `None`: before all versions.
    pub seq: Option<SeqNo>,
}

/// The shortest separator after the entry (`last`, `last_seq`) that is not after the first entry
/// of the next page, whose key is `first`: its length as a prefix of `first`, and its sequence.
pub fn separator_between(last: &[u8], last_seq: SeqNo, first: &[u8]) -> (usize, Option<SeqNo>) {
    if last == first {
        // Sequences of a key fall, so the last one's is above that of the first, and above 0.
        return (first.len(), Some(SeqNo(last_seq.0.saturating_sub(1))));
    }
    (shared_len(last, first) + 1, None)
}
