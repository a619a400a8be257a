//! Settings that must make no difference to any answer.

use kiban::{Durability, Settings};

use crate::store::tiny;

/// How many there are.
pub(crate) const COUNT: u64 = 8;

/// The `no`-th, counted around.
pub(crate) fn settings(no: u64) -> Settings {
    match no % COUNT {
        0 => tiny(),
        1 => Settings { mmap_max_level: Some(u32::MAX), cache_bytes: 1, ..tiny() },
        2 => Settings { filter_bits_per_key: 0, cache_bytes: 8 << 10, background_threads: 3, ..tiny() },
        3 => Settings {
            memtable_bytes: 1 << 10,
            memtables_total_bytes: 4 << 10,
            log_bytes_max: 4 << 10,
            ..tiny()
        },
        4 => Settings { background_threads: 1, ..Settings::default() },
        5 => Settings {
            table_bytes: 4 << 10,
            level_ratio: 2,
            level0_tables: 1,
            background_threads: 2,
            mmap_max_level: Some(0),
            ..tiny()
        },
        6 => Settings { table_bytes: 4 << 10, open_files_max: 16, cache_bytes: (64 << 10) + 1, ..tiny() },
        _ => Settings {
            durability: Durability::Sync,
            log_bytes_max: 4 << 10,
            level0_stall_tables: 8,
            cache_bytes: (1 << 20) + 1,
            filter_bits_per_key: 20,
            ..tiny()
        },
    }
}
