//! Which part of a table lies inside some bounds, by its fences alone.

use std::ops::Bound;

use kiban_formats::{PageNo, SeqNo};

use super::reader::Table;
use crate::error::Result;
use crate::iter::Bounds;

impl Table {
    /// The part of the table inside the bounds, which reach into it: so many of so many parts.
    /// Where a bound lies inside a page, it is taken to be its middle; the error is half a page at
    /// each end. Reads at most one fence page for each bound that lies inside the table.
    pub(crate) fn share_of(&self, bounds: &Bounds) -> Result<(u64, u64)> {
        let page_halves = u64::from(self.footer.shape.page_units());
        let halves = 2 * u64::from(self.footer.data_units);
        let middle = |page: PageNo| (2 * u64::from(page.0) + page_halves).min(halves);
        let start = match &bounds.lower {
            Bound::Included(key) | Bound::Excluded(key) if **key > *self.properties.smallest => {
                Some(self.sorted(key, SeqNo::MAX)?)
            }
            _ => None,
        };
        let end = match &bounds.upper {
            Bound::Included(key) | Bound::Excluded(key) if **key <= *self.properties.largest => {
                Some(self.sorted(key, SeqNo::MAX)?)
            }
            _ => None,
        };
        let part = match (start, end) {
            (Some(start), Some(end)) if start == end => page_halves,
            (start, end) => end.map_or(halves, middle).saturating_sub(start.map_or(0, middle)).max(1),
        };
        Ok((part.min(halves), halves))
    }
}
