//! The table of figures. `published` is what other stores, and what came before Kiban, reached.

use super::measure::Time::{self, Cpu, Idle, P50, P99, Publish};
use super::{Bar, Bound, Cache, Cells, Figure, Measure, Size, Threads};

const LMDB: &[&str] = &["control:lmdb"];
const LOG_STORES: &[&str] = &["control:fjall", "control:rocksdb"];
const FLOOR: &[&str] = &[crate::engine::FLOOR];
const SORTED: &[&str] = &["sorted"];

/// Keys of 38 bytes, values of 256.
const W1_RECORD_BYTES: f64 = 38.0 + 256.0;

const ANY: Cells = Cells {
    accessor: None,
    shape: None,
    n: Size::Any,
    layout: None,
    cache: Cache::Any,
    read: None,
    stage: "point",
    threads: Threads::Only(1),
};
const W1: Cells = Cells { shape: Some("w1"), n: Size::About(1_000_000), ..ANY };
const W1_BULK: Cells = Cells { layout: Some("bulk"), read: Some("mmap"), cache: Cache::AtLeast(33), ..W1 };
const W1_SMALL_CACHE: Cells = Cells { cache: Cache::Only(32), ..W1_BULK };
const W1_NORMAL: Cells = Cells { layout: Some("normal"), ..W1 };
const W1_MISS: Cells = Cells { stage: "miss", ..W1 };
const W1_LATEST: Cells = Cells { stage: "latest", ..W1 };
const W1_MULTIGET: Cells = Cells { stage: "multiget", ..W1 };
const W1_PH4: Cells = Cells { accessor: Some("ph4"), ..W1 };
const W2: Cells = Cells { cache: Cache::Only(33), ..W1_PH4 };
const COLD: Cells = Cells { stage: "cold_all", ..ANY };
const COLD_BTREE: Cells = Cells { accessor: Some("btree"), ..COLD };
const FLUSH_PH4: Cells = Cells { accessor: Some("ph4"), stage: "flush", threads: Threads::Any, ..W1 };
const COMPACT_PH4: Cells = Cells { stage: "compact", ..FLUSH_PH4 };
const BUFFERED: Cells = Cells { stage: "write_buffered", ..ANY };
const BUFFERED_PH4: Cells = Cells { accessor: Some("ph4"), ..BUFFERED };
const SYNC: Cells = Cells { stage: "write_sync", ..ANY };
const SYNC_PH4: Cells = Cells { accessor: Some("ph4"), ..SYNC };

const fn at_most(cells: Cells, measure: Measure, most: f64) -> Bar {
    Bar { cells, measure, bound: Bound::AtMost(most), aim: None }
}

const fn at_least(cells: Cells, measure: Measure, least: f64) -> Bar {
    Bar { cells, measure, bound: Bound::AtLeast(least), aim: None }
}

const fn aiming(bar: Bar, aim: f64) -> Bar {
    Bar { aim: Some(aim), ..bar }
}

const fn p50(to: &'static [&'static str]) -> Measure {
    Measure::Ratio { of: P50, to }
}

const fn p99(to: &'static [&'static str]) -> Measure {
    Measure::Ratio { of: P99, to }
}

const fn sorted(of: Time) -> Measure {
    Measure::Ratio { of, to: SORTED }
}

/// All of them.
pub(in crate::report) const FIGURES: &[Figure] = &[
    Figure {
        what: "W1 warm point p50, bulk, mapped",
        published: "0.56-0.70 of LMDB",
        bars: &[
            aiming(at_most(W1_BULK, p50(FLOOR), 1.6), 1.4),
            aiming(at_most(W1_BULK, p50(LMDB), 0.5), 0.4),
        ],
    },
    Figure {
        what: "W1 warm point p50, bulk, mapped, 32 MiB of cache",
        published: "0.685 of LMDB",
        bars: &[
            aiming(at_most(W1_SMALL_CACHE, p50(FLOOR), 1.6), 1.4),
            aiming(at_most(W1_SMALL_CACHE, p50(LMDB), 0.5), 0.4),
        ],
    },
    Figure {
        what: "W1 point p50, normal layout",
        published: "0.78-0.89 of LMDB",
        bars: &[at_most(W1_NORMAL, p50(FLOOR), 2.2), aiming(at_most(W1_NORMAL, p50(LMDB), 0.6), 0.5)],
    },
    Figure { what: "W1 point p99", published: "0.60-0.75 of LMDB", bars: &[at_most(W1, p99(LMDB), 0.6)] },
    Figure {
        what: "W1 misses p50",
        published: "fjall: 0.26-0.50 of LMDB",
        bars: &[at_most(W1_MISS, p50(LMDB), 0.3)],
    },
    Figure {
        what: "ph4 against sorted on the same tables, W1 point",
        published: "p50 0.56, throughput 1.8",
        bars: &[
            at_most(W1_PH4, p50(SORTED), 0.55),
            at_least(W1_PH4, Measure::Throughput { to: "sorted" }, 1.8),
        ],
    },
    Figure {
        what: "W1 latest-ten",
        published: "above 1 of LMDB",
        bars: &[
            at_most(Cells { read: Some("mmap"), ..W1_LATEST }, p50(LMDB), 1.0),
            at_most(Cells { read: Some("pread"), ..W1_LATEST }, p50(LMDB), 2.0),
        ],
    },
    Figure {
        what: "W1 multi_get of 100, a key, against LMDB's loop",
        published: "none",
        bars: &[aiming(at_most(W1_MULTIGET, p50(LMDB), 0.2), 0.12)],
    },
    Figure {
        what: "10 M records, point p50",
        published: "none",
        bars: &[at_most(Cells { n: Size::AtLeast(10_000_000), ..W1 }, p50(LMDB), 0.45)],
    },
    Figure {
        what: "W2 throughput, index on against off",
        published: "0.5 at most",
        bars: &[at_least(W2, Measure::Throughput { to: "sorted" }, 1.0)],
    },
    Figure {
        what: "W3 flush: publish, idle, CPU, with index against without",
        published: "1.362",
        bars: &[
            at_most(FLUSH_PH4, sorted(Publish), 1.05),
            at_most(FLUSH_PH4, sorted(Idle), 1.2),
            at_most(FLUSH_PH4, sorted(Cpu), 1.2),
        ],
    },
    Figure {
        what: "W3 compaction: publish, idle, CPU, with index against without",
        published: "1.263",
        bars: &[
            at_most(COMPACT_PH4, sorted(Publish), 1.05),
            at_most(COMPACT_PH4, sorted(Idle), 1.15),
            at_most(COMPACT_PH4, sorted(Cpu), 1.15),
        ],
    },
    Figure { what: "Foreground write p99 during W3, index on against off", published: "none", bars: &[] },
    Figure {
        what: "Table and accessors over raw bytes, W1",
        published: "+12 % then +9 %",
        bars: &[at_most(W1, Measure::Overhead { record_bytes: W1_RECORD_BYTES }, 0.04)],
    },
    Figure {
        what: "Locator bytes a key",
        published: "31.1",
        bars: &[at_most(W1_PH4, Measure::BytesPerKey, 5.0)],
    },
    Figure { what: "Bytes read at open of 1 M records", published: "all data", bars: &[] },
    Figure {
        what: "W4 pages and bytes a hit, all cold",
        published: ".bt 1.05-1.82 faults, .kvi 6.0",
        bars: &[
            at_most(COLD, Measure::DataPages, 1.0),
            at_most(COLD, Measure::IndexPages, 1.0),
            at_most(COLD, Measure::DeviceBytes, 4.5 * 1_024.0),
        ],
    },
    Figure {
        what: "W4 p50 all cold, pread, against a cold 4 KiB pread",
        published: "RocksDB, fjall 1.4",
        bars: &[at_most(Cells { read: Some("pread"), ..COLD }, p50(FLOOR), 1.3)],
    },
    Figure {
        what: "W4 with 4 readers, p99 mapped against pread",
        published: "3.5-4.3",
        bars: &[at_most(
            Cells { read: Some("mmap"), threads: Threads::Only(4), ..COLD },
            Measure::MappedOverPread,
            1.5,
        )],
    },
    Figure {
        what: "btree against kvi: size, cold speed",
        published: ".bt 4.5 times smaller, 1.6-4.9 times faster",
        bars: &[
            at_least(COLD_BTREE, Measure::SmallerThan { other: "kvi" }, 10.0),
            at_most(COLD_BTREE, p50(&["kvi"]), 1.0),
        ],
    },
    Figure {
        what: "W6 buffered writes, index on against off, and against the best of fjall and RocksDB",
        published: "none",
        bars: &[
            at_most(BUFFERED_PH4, p50(SORTED), 1.03),
            at_most(BUFFERED_PH4, p99(SORTED), 1.1),
            at_most(BUFFERED, p50(LOG_STORES), 1.2),
        ],
    },
    Figure {
        what: "W6 durable writes, index on against off, and against the best of fjall and RocksDB",
        published: "p99 left open",
        bars: &[at_most(SYNC_PH4, p50(SORTED), 1.05), at_most(SYNC, p50(LOG_STORES), 1.1)],
    },
];
