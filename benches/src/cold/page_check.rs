//! Proof that files are where a cold stage says they are.

use std::io;
use std::path::PathBuf;

use super::ColdStage;
use crate::machine::page_cache::{CachedPages, drop_cached, read_files};
use crate::trial::Failure;

/// Most of the data that may be in the page cache.
const DATA_MAX: f64 = 0.01;
/// Least of the index that must be, where it is warm.
const INDEX_MIN: f64 = 0.99;
/// Pages that an open store holds whatever its size: lock files, heads, what the log was given.
const OPEN_PAGES_MAX: u64 = 16;

/// The files of a store.
#[derive(Debug, Default)]
pub(super) struct Files {
    pub(super) data: Vec<PathBuf>,
    /// Files of the index that is measured; none where it lies among the data.
    pub(super) index: Vec<PathBuf>,
}

impl Files {
    /// Drops all pages of a closed store.
    pub(super) fn drop_closed(&self) -> Result<(), Failure> {
        let all = [&self.data[..], &self.index].concat();
        drop_cached(&all).map_err(|error| io_failure(&error))?;
        let pages = CachedPages::of(&all).map_err(|error| io_failure(&error))?;
        is_cold(pages, 0)
    }

    /// Drops all pages of an open store, and brings those of its index back if the stage says so.
    pub(super) fn drop_opened(&self, stage: ColdStage) -> Result<(), Failure> {
        let all = [&self.data[..], &self.index].concat();
        drop_cached(&all).map_err(|error| io_failure(&error))?;
        let pages = |files: &[PathBuf]| CachedPages::of(files).map_err(|error| io_failure(&error));
        match stage {
            ColdStage::All => is_cold(pages(&all)?, OPEN_PAGES_MAX),
            ColdStage::IndexWarm => {
                read_files(&self.index).map_err(|error| io_failure(&error))?;
                is_cold(pages(&self.data)?, OPEN_PAGES_MAX)?;
                is_warm(pages(&self.index)?)
            }
        }
    }
}

fn is_cold(pages: CachedPages, free: u64) -> Result<(), Failure> {
    if pages.share() <= DATA_MAX || pages.cached <= free {
        return Ok(());
    }
    let CachedPages { all, cached } = pages;
    Err(Failure::Error(format!(
        "not cold: {cached} of {all} pages are in the page cache after they were dropped"
    )))
}

fn is_warm(index: CachedPages) -> Result<(), Failure> {
    if index.all == 0 || index.share() >= INDEX_MIN {
        return Ok(());
    }
    let CachedPages { all, cached } = index;
    Err(Failure::Error(format!("not warm: {cached} of {all} pages of the index are in the page cache")))
}

pub(super) fn io_failure(error: &io::Error) -> Failure {
    Failure::Error(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(cached: u64) -> CachedPages {
        CachedPages { all: 10_000, cached }
    }

    #[test]
    fn a_hundredth_of_the_data_may_be_left_and_of_the_index_may_be_missing() {
        assert_eq!(is_cold(pages(100), 0), Ok(()));
        assert_eq!(is_warm(pages(9_900)), Ok(()));
        for (result, expected) in [
            (is_cold(pages(101), 0), "not cold: 101 of 10000 pages"),
            (is_warm(pages(9_899)), "not warm: 9899 of 10000 pages"),
        ] {
            let Err(Failure::Error(error)) = result else { panic!("{result:?}") };
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn few_records_are_cold_with_the_pages_of_an_open_store_and_no_index_is_warm() {
        let few = CachedPages { all: 100, cached: OPEN_PAGES_MAX };
        assert_eq!(is_cold(few, OPEN_PAGES_MAX), Ok(()));
        assert!(is_cold(few, 0).is_err());
        assert_eq!(is_warm(CachedPages::default()), Ok(()));
    }
}
