//! Cold reads: a store whose pages are on the device and nowhere else.
//!
//! ```text
//! sync, drop every file from the page cache, proof      the store is closed
//! open                                                  its index attached, nothing read
//! drop what opening read; index warm: read the index    proof again
//! hits                                                  timed, faults and device bytes counted
//! close
//! ```

mod page_check;
mod trial;

pub(crate) use trial::{ColdSite, ColdTrial};

/// What is in memory when cold reads begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColdStage {
    /// Nothing.
    All,
    /// The files of the index that is measured, in the page cache.
    IndexWarm,
}

impl ColdStage {
    pub(crate) const ALL: [Self; 2] = [Self::IndexWarm, Self::All];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::All => "cold_all",
            Self::IndexWarm => "cold_index_warm",
        }
    }
}
