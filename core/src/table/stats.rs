//! Counters of what reads touch.

use crate::stats::PageStats;
use crate::tally::Tally;

const COUNTED: usize = 5;

/// What reads touched.
#[derive(Debug, Default)]
pub(super) struct ReadStats(Tally<COUNTED>);

/// Something to count.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counted {
    /// A data page was looked at.
    DataPage,
    /// A fence page was looked at.
    IndexPage,
    /// A page was read from its file.
    FileRead,
    /// A filter said that a key is not there.
    Filtered,
    /// A table could not be mapped.
    MapRefused,
}

impl ReadStats {
    #[inline]
    pub(super) fn count(&self, what: Counted) {
        self.0.count(what as usize);
    }

    /// All but what is not counted here.
    pub(super) fn sum(&self) -> PageStats {
        let sum = |what: Counted| self.0.sum(what as usize);
        PageStats {
            data_reads: sum(Counted::DataPage),
            index_reads: sum(Counted::IndexPage),
            file_reads: sum(Counted::FileRead),
            filtered: sum(Counted::Filtered),
            maps_refused: sum(Counted::MapRefused),
            ..PageStats::default()
        }
    }
}
