//! What reads touch.

use super::*;
use crate::stats::PageStats;

const KEYS: u32 = 50_000;

fn key(no: u32) -> [u8; 8] {
    // Even keys are there, odd ones between them are not.
    u64::from(2 * no).to_be_bytes()
}

fn absent(no: u32) -> [u8; 8] {
    u64::from(2 * no + 1).to_be_bytes()
}

fn table(value_len: usize, keys: u32) -> Made {
    let versions: Vec<Version> =
        (0..keys).map(|no| Version::put(key(no), 1 + u64::from(no), vec![7; value_len])).collect();
    Made::new(&versions)
}

/// What `run` adds to the counters.
fn touched(context: &TableContext, run: impl FnOnce()) -> PageStats {
    let before = context.page_stats();
    run();
    let after = context.page_stats();
    PageStats {
        data_reads: after.data_reads - before.data_reads,
        index_reads: after.index_reads - before.index_reads,
        file_reads: after.file_reads - before.file_reads,
        filtered: after.filtered - before.filtered,
    }
}

#[test]
fn a_hit_touches_one_data_page_and_one_index_page_in_every_mode() {
    let made = table(100, KEYS);
    for mode in MODES {
        let context = made.context(mode);
        let table = made.open_in(&context).unwrap();
        let hits = 1_000;
        let reads = touched(&context, || {
            for no in (0..KEYS).step_by((KEYS / hits) as usize) {
                assert!(matches!(get(&table, &key(no), 1 << 40).unwrap(), Found::Value(_)));
            }
        });
        let hits = u64::from(hits);
        assert_eq!((reads.data_reads, reads.index_reads, reads.filtered), (hits, hits, 0), "{mode:?}");
        match mode {
            Mode::Uncached => assert_eq!(reads.file_reads, 2 * hits),
            Mode::Cached => assert!(reads.file_reads <= hits + u64::from(table.footer.fence_units)),
            Mode::Mapped => assert_eq!(reads.file_reads, 0),
        }
    }
}

#[test]
fn a_warm_cache_reads_no_file_and_no_cache_keeps_nothing() {
    let made = table(100, 1_000);
    for (mode, again) in [(Mode::Cached, 0), (Mode::Uncached, 2_000)] {
        let context = made.context(mode);
        let table = made.open_in(&context).unwrap();
        let all =
            || (0..1_000).for_each(|no| assert_ne!(get(&table, &key(no), 1 << 40).unwrap(), Found::Absent));
        all();
        assert_eq!(touched(&context, all).file_reads, again, "{mode:?}");
        assert_eq!(context.cached_bytes() == 0, mode == Mode::Uncached);
    }
}

#[test]
fn the_filter_answers_for_most_absent_keys_without_a_page() {
    let made = table(20, KEYS);
    let context = made.context(Mode::Cached);
    let table = made.open_in(&context).unwrap();
    let reads = touched(&context, || {
        for no in 0..10_000 {
            assert_eq!(get(&table, &absent(no), 1 << 40).unwrap(), Found::Absent);
        }
    });
    // Ten bits a key let 1.3 % pass.
    assert!(reads.filtered > 9_800, "{reads:?}");
    assert_eq!(reads.data_reads, 10_000 - reads.filtered);
}

#[test]
fn a_scan_touches_each_data_page_once() {
    let made = table(100, KEYS);
    let pages = |table: &Table| table.properties.data_pages;
    for mode in MODES {
        let context = made.context(mode);
        let table = made.open_in(&context).unwrap();
        for forward in [true, false] {
            let reads = touched(&context, || {
                let entries = if forward { scan(&table) } else { scan_back(&table) }.unwrap();
                assert_eq!(entries.len(), KEYS as usize);
            });
            assert_eq!(reads.data_reads, pages(&table), "{mode:?}");
            assert_eq!(reads.index_reads, u64::from(table.footer.fence_units), "{mode:?}");
        }
    }
}

#[test]
fn a_jumbo_value_is_read_only_if_it_is_the_answer_and_is_not_cached() {
    let versions = [
        Version::put("a", 1, vec![1; 300_000]),
        Version::put("b", 2, vec![2; 3_000_000]),
        Version::put("c", 3, vec![3; 300_000]),
    ];
    let made = Made::new(&versions);
    for mode in MODES {
        let context = made.context(mode);
        let table = made.open_in(&context).unwrap();
        assert_eq!(table.properties.jumbo_runs, 3);
        let reads = touched(&context, || {
            assert_eq!(get(&table, b"b", 1).unwrap(), Found::Absent, "not visible yet");
            let Found::Value(value) = get(&table, b"b", 2).unwrap() else { panic!("{mode:?}") };
            assert_eq!(value, vec![2; 3_000_000]);
        });
        assert_eq!(reads.data_reads, 2);
        // The fence page is all that a cache may keep.
        assert!(context.cached_bytes() < 5_000, "{mode:?}: {}", context.cached_bytes());
    }
}

#[test]
fn values_outlive_the_table_and_its_file() {
    let versions = [Version::put("k", 1, "value"), Version::put("l", 1, vec![5; 100_000])];
    let made = Made::new(&versions);
    for mode in MODES {
        let table = made.open(mode).unwrap();
        let found = [get(&table, b"k", 9).unwrap(), get(&table, b"l", 9).unwrap()];
        drop(table);
        let expected = versions.each_ref().map(|version| version.value.clone().unwrap());
        for (found, expected) in found.into_iter().zip(expected) {
            let Found::Value(value) = found else { panic!("{mode:?}: {found:?}") };
            assert_eq!(value, expected);
        }
    }
}

#[test]
fn the_writer_appends_in_large_pieces_and_estimates_the_file() {
    let storage: Arc<dyn Storage> = Arc::new(MemStorage::new(1));
    let options = TableOptions {
        no: FileNo(7),
        level: Level(0),
        store_id: STORE,
        table_id: TableId([9; 16]),
        hash_seed: SEED,
        filter_bits_per_key: 10,
    };
    let counting = crate::storage::CountingStorage::new(storage);
    let seam: Arc<dyn Storage> = Arc::new(counting.clone());
    let path = Path::new("/00000007.sst");
    let mut writer = TableWriter::create(&seam, path, options).unwrap();
    for no in 0..KEYS {
        writer.add(Version::put(key(no), 1, [7; 100]).entry()).unwrap();
    }
    let estimate = writer.estimated_bytes() as f64;
    let bytes = writer.finish().unwrap().bytes as f64;
    assert!((estimate / bytes - 1.0).abs() < 0.02, "{estimate} estimated, {bytes} written");
}
