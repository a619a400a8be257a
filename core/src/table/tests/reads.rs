use super::*;

#[test]
fn reads_agree_with_a_model_at_every_snapshot() {
    for seed in 0..24 {
        let sample = Sample::new(random_entries(seed));
        let mut random = Random(seed ^ 0xABCD);
        for mode in MODES {
            let (table, _) = sample.open(mode).unwrap();
            for at in 0..sample.entries.len() {
                let (key, seq, _) = &sample.entries[at];
                for snapshot in [*seq, seq.saturating_sub(1), seq + 1, random.below(100_000), SeqNo::MAX.0] {
                    let expected = sample.expected(key, snapshot);
                    assert_eq!(
                        get(&table, key, snapshot).unwrap(),
                        expected,
                        "seed {seed}, {mode:?}, {key:?} at {snapshot}"
                    );
                }
            }
            for _ in 0..200 {
                let len = random.below(6);
                let key: Vec<u8> = (0..len).map(|_| b"abk\0\xFF"[random.below(5) as usize]).collect();
                let expected = sample.expected(&key, SeqNo::MAX.0);
                assert_eq!(
                    get(&table, &key, SeqNo::MAX.0).unwrap(),
                    expected,
                    "seed {seed}, {mode:?}, {key:?}"
                );
            }
        }
    }
}

/// Keys of 38 bytes, values of 256, a few versions here and there.
fn records(count: u64) -> Vec<Entry> {
    let entries = (0..count).flat_map(|no| {
        let key = [&(no * 977).to_be_bytes()[..], &[7; 30]].concat();
        let versions = if no % 10 == 0 { 40 } else { 1 };
        (0..versions)
            .rev()
            .map(move |version| (key.clone(), 10 + version, Some(vec![no as u8; 256])))
            .collect::<Vec<_>>()
    });
    entries.collect()
}

#[test]
fn a_hit_touches_one_data_page_and_one_fence_page_at_every_snapshot() {
    let sample = Sample::new(records(2_000));
    for mode in MODES {
        let (table, context) = sample.open(mode).unwrap();
        for (key, seq, _) in sample.entries.iter().step_by(7) {
            let before = context.page_stats();
            assert_eq!(get(&table, key, *seq).unwrap(), sample.expected(key, *seq));
            let (data, index, _) = touched(&context, &before);
            assert_eq!((data, index), (1, 1), "{mode:?}, {key:?} at {seq}");
        }
    }
}

#[test]
fn an_absent_key_is_mostly_answered_by_the_filter_and_never_by_more_than_one_page() {
    let sample = Sample::new(records(2_000));
    let (table, context) = sample.open(MODES[1]).unwrap();
    for no in 0..2_000u64 {
        let key = [&(no * 977 + 1).to_be_bytes()[..], &[7; 30]].concat();
        let before = context.page_stats();
        assert_eq!(get(&table, &key, 100).unwrap(), Found::Absent);
        assert!(touched(&context, &before).0 <= 1);
    }
    let filtered = context.page_stats().filtered;
    assert!((1_900..2_000).contains(&filtered), "{filtered} of 2,000");
}

#[test]
fn the_cache_answers_the_second_time_and_no_cache_reads_again() {
    let sample = Sample::new(records(500));
    for (cache_bytes, reads) in [(1 << 20, 0), (0, 2)] {
        let (table, context) = sample.open(Mode { cache_bytes, mapped: false }).unwrap();
        let key = &sample.entries[100].0;
        let before = context.page_stats();
        get(&table, key, 100).unwrap();
        assert_eq!(touched(&context, &before), (1, 1, 2));
        assert_eq!(context.budget.frames().bytes() > 0, cache_bytes > 0);
        let before = context.page_stats();
        get(&table, key, 100).unwrap();
        assert_eq!(touched(&context, &before), (1, 1, reads));
    }
}

#[test]
fn a_value_stays_readable_when_its_table_is_gone() {
    let large = vec![9; 50_000];
    let entries = vec![(b"a".to_vec(), 1, Some(b"small".to_vec())), (b"b".to_vec(), 2, Some(large.clone()))];
    let sample = Sample::new(entries);
    for mode in MODES {
        let (table, context) = sample.open(mode).unwrap();
        let values = [get(&table, b"a", 9).unwrap(), get(&table, b"b", 9).unwrap()];
        drop((table, context));
        let [Found::Value(a), Found::Value(b)] = values else { panic!("both are there") };
        assert_eq!(a, b"small");
        assert_eq!(b, large);
    }
}

#[test]
fn a_jumbo_record_of_another_key_or_a_later_version_is_not_read_to_its_end() {
    let entries = vec![(b"b".to_vec(), 5, Some(vec![9; 1 << 20])), (b"b".to_vec(), 3, None)];
    let sample = Sample::new(entries);
    let (table, context) = sample.open(MODES[0]).unwrap();
    let before = context.page_stats();
    assert_eq!(get(&table, b"b", 4).unwrap(), Found::Deleted);
    assert_eq!(get(&table, b"b", 2).unwrap(), Found::Absent);
    assert!(touched(&context, &before).2 <= 4);
    assert_eq!(get(&table, b"b", 5).unwrap(), Found::Value(crate::value::Value::copy(&vec![9; 1 << 20])));
}
