//! Pages above 4 KiB that end before the longest page would.

use super::*;
use kiban_formats::UNIT_BYTES;

/// Four of these end in the 13th of the 16 units of a page of 64 KiB.
fn records(count: u32) -> Vec<Entry> {
    let mut random = Random(7);
    let mut record = |no: u32| {
        let key = [&no.to_be_bytes()[..], &random.bytes(34)].concat();
        (key, 1 + u64::from(no), Some(random.bytes(13_050)))
    };
    (0..count).map(&mut record).collect()
}

#[test]
fn the_space_behind_the_last_entry_of_a_page_is_not_written() {
    let sample = Sample::new(records(401));
    let (table, _) = sample.open(MODES[0]).unwrap();
    let footer = &table.footer;
    assert_eq!((footer.shape.page_bytes(), table.properties.data_pages), (64 << 10, 101));
    assert_eq!((footer.data_units, footer.fence_units), (100 * 13 + 4, 1));
    assert_eq!(table.verify().unwrap(), []);
}

#[test]
fn trimmed_pages_are_read_one_a_hit_and_scanned_both_ways() {
    let sample = Sample::new(records(130));
    for mode in MODES {
        let (table, context) = sample.open(mode).unwrap();
        for (key, seq, _) in &sample.entries {
            let before = context.page_stats();
            assert_eq!(get(&table, key, *seq).unwrap(), sample.expected(key, *seq), "{mode:?}");
            let (data, index, _) = touched(&context, &before);
            assert_eq!((data, index), (1, 1), "{mode:?}, {key:?}");
            let absent = [&key[..4], &[0xFF; 34]].concat();
            assert_eq!(get(&table, &absent, *seq).unwrap(), Found::Absent, "{mode:?}");
        }
        let mut source = TableSource::new(table);
        source.first().unwrap();
        for (key, _, value) in &sample.entries {
            let entry = source.entry().unwrap();
            assert_eq!((entry.key, Some(entry.value)), (&key[..], value.as_deref()), "{mode:?}");
            source.next().unwrap();
        }
        assert!(source.entry().is_none(), "{mode:?}");
        source.last().unwrap();
        for (key, _, value) in sample.entries.iter().rev() {
            let entry = source.entry().unwrap();
            assert_eq!((entry.key, Some(entry.value)), (&key[..], value.as_deref()), "{mode:?}");
            source.prev().unwrap();
        }
        assert!(source.entry().is_none(), "{mode:?}");
    }
}

#[test]
fn pages_of_different_lengths_are_found_by_the_numbers_that_fences_list() {
    let mut random = Random(11);
    let mut record = |no: u32| {
        let len = 3_000 + random.below(12_000);
        (no.to_be_bytes().to_vec(), 1, Some(random.bytes(len)))
    };
    let sample = Sample::new((0..390).map(&mut record).collect());
    let (table, _) = sample.open(MODES[0]).unwrap();
    let (pages, units) = (table.properties.data_pages as u32, table.footer.data_units);
    assert!(table.properties.jumbo_runs == 0 && units % pages != 0, "{units} units on {pages} pages");
    assert_eq!(table.verify().unwrap(), []);
    for mode in MODES {
        let (table, _) = sample.open(mode).unwrap();
        for (key, seq, _) in &sample.entries {
            assert_eq!(get(&table, key, *seq).unwrap(), sample.expected(key, *seq), "{mode:?}, {key:?}");
        }
    }
}

#[test]
fn the_cache_holds_no_more_than_the_pages_own_bytes() {
    let sample = Sample::new(records(130));
    let (table, context) = sample.open(Mode { cache_bytes: 64 << 20, mapped: false }).unwrap();
    for (key, seq, _) in &sample.entries {
        get(&table, key, *seq).unwrap();
    }
    let pages = u64::from(table.footer.data_units + table.footer.fence_units) * UNIT_BYTES as u64;
    let cached = context.budget.frames().bytes();
    assert!((pages..pages + pages / 20).contains(&cached), "{cached} for {pages}");
}

/// The length is read before any checksum is compared.
#[test]
fn a_page_that_lies_about_its_length_gives_errors_and_right_answers_only() {
    let sample = Sample::new(records(20));
    let whole = sample.file();
    let starts: Vec<usize> = (0..5).map(|page| page * 13 * UNIT_BYTES).collect();
    for (start, units) in starts.iter().flat_map(|start| (0..16).map(move |units| (*start, units))) {
        let mut bytes = whole.clone();
        bytes[start + 1] = units << 4;
        let is_whole = bytes == whole;
        sample.disk.set_bytes(path(), bytes);
        for mode in MODES {
            let (table, _) = sample.open(mode).unwrap();
            let mut source = TableSource::new(table.clone());
            let mut scanned = source.first();
            while scanned.is_ok() && source.entry().is_some() {
                scanned = source.next();
            }
            assert_eq!(scanned.is_ok(), is_whole, "{start}, {units}, {mode:?}");
            assert_eq!(table.verify().unwrap().is_empty(), is_whole, "{start}, {units}, {mode:?}");
            for (key, seq, _) in &sample.entries {
                if let Ok(found) = get(&table, key, *seq) {
                    assert_eq!(found, sample.expected(key, *seq), "{start}, {units}, {mode:?}");
                }
                let absent = [&key[..4], &[0xFF; 34]].concat();
                if let Ok(found) = get(&table, &absent, *seq) {
                    assert_eq!(found, Found::Absent, "{start}, {units}, {mode:?}");
                }
            }
        }
    }
}
