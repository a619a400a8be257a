//! What an open index answers.

use std::fmt::Debug;

use enum_dispatch::enum_dispatch;

use super::{Location, Probe};
use crate::Ph4;
use crate::accessor::Accessor;

/// What a format that keeps whole keys knows of a key without its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Ask the page.
    Unknown,
    /// Promise: no version that the snapshot may see is in this table.
    Absent,
    /// Promise: the newest version here that the snapshot may see is a tombstone.
    Deleted,
    /// Promise: the newest version here that the snapshot may see is a value.
    Live,
}

/// An open index of one table.
///
/// [`Location::Deleted`], and a [`Presence`] other than `Unknown`, are for formats that keep whole
/// keys and compare them ([`AccessorFormat::keeps_keys`](super::AccessorFormat::keeps_keys)).
#[enum_dispatch]
pub trait PointAccessor: Send + Sync + Debug {
    /// Where the key's entries are, if the table has the key.
    fn locate(&self, probe: &Probe<'_>) -> Location;

    /// The same for many keys: `out[i]` is for `probes[i]`. A format overrides it to fetch what
    /// several keys need at once.
    ///
    /// # Panics
    /// The slices have different lengths.
    fn locate_many(&self, probes: &[Probe<'_>], out: &mut [Location]) {
        assert_eq!(probes.len(), out.len(), "a location for each probe");
        for (probe, out) in probes.iter().zip(out) {
            *out = self.locate(probe);
        }
    }

    /// Begins to load what a probe of this hash will need first. A hint.
    fn prefetch(&self, _hash: u64) {}

    /// What it knows of the key without its page.
    fn presence(&self, _probe: &Probe<'_>) -> Presence {
        Presence::Unknown
    }

    /// Bytes of heap that it holds, exactly: they are charged to the budget.
    fn resident_bytes(&self) -> usize;

    /// Whether it answers [`Location::Absent`] for most keys that the table does not have, so that the
    /// table's filter need not be asked.
    fn rejects_absent(&self) -> bool {
        false
    }
}
