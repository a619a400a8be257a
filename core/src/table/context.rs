//! What all tables of a store share.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use kiban_formats::{Level, StoreId};

use super::notices::Notices;
use super::open_tables::OpenTables;
use super::stats::ReadStats;
use crate::event::Listener;
use crate::memory::{Budget, Gauge};
use crate::settings::Settings;
use crate::stats::PageStats;
use crate::storage::Storage;

/// Of the budget, what handles of open tables may take: a quarter.
const HANDLES_SHARE: u64 = 4;
/// With no budget handles take these bytes all the same, part of the engine's constant: without
/// a handle nothing is read.
const HANDLES_BYTES_MIN: u64 = 1 << 20;

/// What all tables of a store share. Cloning shares it, for one reference count.
#[derive(Clone, Debug)]
pub(crate) struct TableContext(Arc<Shared>);

/// See [`TableContext`].
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) store_id: StoreId,
    pub(crate) budget: Arc<Budget>,
    pub(super) open_tables: OpenTables,
    pub(super) stats: ReadStats,
    pub(crate) notices: Notices,
    /// Buffers of tables that are being written.
    pub(crate) writing: Gauge,
    /// Builders of indexes.
    pub(crate) building: Gauge,
    /// What was collected for indexes while tables were written.
    pub(crate) collecting: Gauge,
    mmap_max_level: Option<u32>,
    pub(crate) read_ahead: bool,
    /// Asks for the indexes that are missing.
    ask: AskForIndexes,
}

/// A call upward.
#[derive(Default)]
struct AskForIndexes(OnceLock<Box<dyn Fn() + Send + Sync>>);

impl fmt::Debug for AskForIndexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AskForIndexes")
    }
}

impl Deref for TableContext {
    type Target = Shared;
    #[inline]
    fn deref(&self) -> &Shared {
        &self.0
    }
}

impl TableContext {
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        settings: &Settings,
        store_id: StoreId,
        listener: Listener,
    ) -> Self {
        let handles_bytes_max = (settings.cache_bytes / HANDLES_SHARE).max(HANDLES_BYTES_MIN);
        Self(Arc::new(Shared {
            storage,
            store_id,
            budget: Budget::new(settings.cache_bytes),
            open_tables: OpenTables::new(settings.open_files_max as usize, handles_bytes_max),
            stats: ReadStats::default(),
            notices: Notices::new(listener),
            writing: Gauge::default(),
            building: Gauge::default(),
            collecting: Gauge::default(),
            mmap_max_level: settings.mmap_max_level,
            read_ahead: settings.read_ahead,
            ask: AskForIndexes::default(),
        }))
    }

    /// How the engine is asked for indexes that are missing: once, when it is assembled.
    pub(crate) fn on_missing_index(&self, ask: impl Fn() + Send + Sync + 'static) {
        let _ = self.ask.0.set(Box::new(ask));
    }

    /// Some table lost its index.
    pub(super) fn ask_for_indexes(&self) {
        if let Some(ask) = self.ask.0.get() {
            ask();
        }
    }

    /// Tables of this level are read through a map.
    pub(crate) fn maps(&self, level: Level) -> bool {
        self.mmap_max_level.is_some_and(|max| u32::from(level.0) <= max)
    }

    /// Bytes of what is there whatever the store holds.
    pub(crate) fn fixed_bytes(&self) -> u64 {
        size_of::<ReadStats>() as u64 + self.budget.frames().fixed_bytes() + self.open_tables.memory_bytes()
    }

    /// What reads touched so far.
    pub(crate) fn page_stats(&self) -> PageStats {
        PageStats { filters_refused: self.notices.filters_refused(), ..self.stats.sum() }
    }
}
