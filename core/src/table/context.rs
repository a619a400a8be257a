//! What all tables of a store share.

use std::sync::Arc;

use kiban_formats::{Level, StoreId};

use super::stats::ReadStats;
use crate::cache::PageCache;
use crate::settings::Settings;
use crate::stats::PageStats;
use crate::storage::Storage;

/// What all tables of a store share. Cloning shares it.
#[derive(Clone, Debug)]
pub(crate) struct TableContext {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) store_id: StoreId,
    pub(super) cache: Arc<PageCache>,
    pub(super) stats: Arc<ReadStats>,
    mmap_max_level: Option<u32>,
}

impl TableContext {
    pub(crate) fn new(storage: Arc<dyn Storage>, settings: &Settings, store_id: StoreId) -> Self {
        Self {
            storage,
            store_id,
            cache: Arc::new(PageCache::new(settings.cache_bytes)),
            stats: Arc::default(),
            mmap_max_level: settings.mmap_max_level,
        }
    }

    /// Tables of this level are read through a map.
    pub(super) fn maps(&self, level: Level) -> bool {
        self.mmap_max_level.is_some_and(|max| u32::from(level.0) <= max)
    }

    /// Bytes of the pages in the cache.
    pub(crate) fn cached_bytes(&self) -> u64 {
        self.cache.bytes()
    }

    /// What reads touched so far.
    pub(crate) fn page_stats(&self) -> PageStats {
        self.stats.sum()
    }
}
