//! Counters of the read path: a line of their own for each thread, so that counting does not
//! make threads wait for each other.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::stats::PageStats;

const SHARDS: usize = 32;

/// What reads touched.
#[derive(Debug, Default)]
pub(super) struct ReadStats {
    shards: [Shard; SHARDS],
}

/// Two cache lines, because processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    data: AtomicU64,
    index: AtomicU64,
    file: AtomicU64,
    filtered: AtomicU64,
    maps_refused: AtomicU64,
}

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

thread_local! {
    static SHARD: Cell<usize> = const { Cell::new(usize::MAX) };
}

static NEXT_SHARD: AtomicUsize = AtomicUsize::new(0);

/// A number of this thread, below [`SHARDS`].
#[inline]
pub(crate) fn shard() -> usize {
    let mine = SHARD.get();
    if mine != usize::MAX {
        return mine;
    }
    let new = NEXT_SHARD.fetch_add(1, Ordering::Relaxed) % SHARDS;
    SHARD.set(new);
    new
}

impl ReadStats {
    #[inline]
    pub(super) fn count(&self, what: Counted) {
        let shard = &self.shards[shard()];
        let counter = match what {
            Counted::DataPage => &shard.data,
            Counted::IndexPage => &shard.index,
            Counted::FileRead => &shard.file,
            Counted::Filtered => &shard.filtered,
            Counted::MapRefused => &shard.maps_refused,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// All but what is not counted here.
    pub(super) fn sum(&self) -> PageStats {
        let sum = |counter: fn(&Shard) -> &AtomicU64| {
            self.shards.iter().map(|shard| counter(shard).load(Ordering::Relaxed)).sum()
        };
        PageStats {
            data_reads: sum(|shard| &shard.data),
            index_reads: sum(|shard| &shard.index),
            file_reads: sum(|shard| &shard.file),
            filtered: sum(|shard| &shard.filtered),
            maps_refused: sum(|shard| &shard.maps_refused),
            ..PageStats::default()
        }
    }
}
