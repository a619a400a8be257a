//! What an accessor answers.

use kiban_formats::{PageNo, SlotNo};

/// Where the key's entries are *if the table has the key*. Versions of a key stand together,
/// newest first; a location names the newest one, or, from a format that knows versions, the
/// newest one that the snapshot may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// Promise: no version that the snapshot may see is in this table. Older tables are still searched.
    Absent,
    /// Promise: the newest version here that the snapshot may see is a tombstone. The search ends.
    Deleted,
    /// Hint: it starts on this page.
    Page(PageNo),
    /// Hint: it is in this slot.
    Slot {
        /// The page.
        page: PageNo,
        /// The slot of that page.
        slot: SlotNo,
    },
    /// Hint: it starts at this byte of the page. A jumbo entry starts at its header.
    Entry {
        /// The page.
        page: PageNo,
        /// Bytes from the start of the page.
        offset: u16,
    },
    /// Hint: it is somewhere in this run of at most [`Location::RUN_PAGES_MAX`] pages; the engine
    /// searches it.
    Pages {
        /// First page of the run.
        first: PageNo,
        /// Last page of the run.
        last: PageNo,
    },
    /// Cannot tell: the sorted index answers.
    Unknown,
}

impl Location {
    /// Pages of the longest run that is searched. A longer one proves nothing.
    pub const RUN_PAGES_MAX: u32 = 64;
}

const _: () = assert!(size_of::<Location>() <= 16);
