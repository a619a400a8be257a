use super::*;

/// Where a cursor stands, as the model's entry.
fn standing(source: &TableSource) -> Option<Entry> {
    let entry = source.entry()?;
    assert_eq!(entry.payload_crc, payload_crc(entry.key, entry.value), "the caller's checksum comes back");
    assert_eq!(source.value(), entry.value);
    assert_eq!(source.key(), entry.key);
    let value = (entry.kind == Kind::Put).then(|| entry.value.to_vec());
    Some((entry.key.to_vec(), entry.seq.0, value))
}

#[test]
fn a_scan_shows_every_entry_once_in_both_directions() {
    for seed in 0..40 {
        let sample = Sample::new(random_entries(seed));
        for mode in MODES {
            let mut source = TableSource::new(sample.open(mode).unwrap().0);
            assert!(standing(&source).is_none());
            source.first().unwrap();
            for expected in &sample.entries {
                assert_eq!(standing(&source).as_ref(), Some(expected), "seed {seed}, {mode:?}");
                source.next().unwrap();
            }
            assert!(standing(&source).is_none());
            source.last().unwrap();
            for expected in sample.entries.iter().rev() {
                assert_eq!(standing(&source).as_ref(), Some(expected), "seed {seed}, {mode:?}");
                source.prev().unwrap();
            }
            assert!(standing(&source).is_none());
        }
    }
}

#[test]
fn seeks_and_steps_in_any_order_agree_with_a_model() {
    for seed in 0..60 {
        walk(seed, &Sample::new(random_entries(seed)));
        walk(seed, &Sample::ingested(random_entries(seed)).0);
    }
}

fn walk(seed: u64, sample: &Sample) {
    let entries = &sample.entries;
    let mut random = Random(seed ^ 0x5EEC);
    let mode = MODES[seed as usize % MODES.len()];
    let mut source = TableSource::new(sample.open(mode).unwrap().0);
    // The model's place; off the ends: none.
    let mut place: Option<usize> = None;
    for step in 0..600 {
        let (mut key, mut seq, _) = entries[random.below(entries.len() as u64) as usize].clone();
        match random.below(4) {
            0 => key = random.bytes(2),
            1 => seq = random.below(100_000),
            _ => {}
        }
        let at = entries.partition_point(|entry| entry.0.cmp(&key).then(seq.cmp(&entry.1)).is_lt());
        match (random.below(6), place) {
            (0, _) => {
                source.seek(&key, SeqNo(seq)).unwrap();
                place = (at < entries.len()).then_some(at);
            }
            (1, _) => {
                source.seek_before(&key, SeqNo(seq)).unwrap();
                place = at.checked_sub(1);
            }
            (2 | 3, Some(here)) => {
                source.next().unwrap();
                place = (here + 1 < entries.len()).then_some(here + 1);
            }
            (_, Some(here)) => {
                source.prev().unwrap();
                place = here.checked_sub(1);
            }
            (_, None) => {
                source.last().unwrap();
                place = Some(entries.len() - 1);
            }
        }
        let expected = place.map(|place| entries[place].clone());
        assert_eq!(standing(&source), expected, "seed {seed}, {mode:?}, step {step}");
    }
}

#[test]
fn an_ingested_table_has_the_sequence_that_the_manifest_says() {
    let (sample, seq) = Sample::ingested(random_entries(1));
    for mode in MODES {
        let (table, _) = sample.open(mode).unwrap();
        for (key, _, _) in &sample.entries {
            assert_eq!(get(&table, key, seq.0).unwrap(), sample.expected(key, seq.0));
            assert_eq!(get(&table, key, seq.0 - 1).unwrap(), Found::Absent);
        }
        assert_eq!(table.verify().unwrap(), []);
    }
    let wrong = [sample.meta.at(SeqNo(39_999)), TableMeta { min_seq: SeqNo(45_000), ..sample.meta.clone() }];
    for meta in wrong {
        let sample = Sample { meta, disk: sample.disk.clone(), entries: Vec::new() };
        let error = sample.open(MODES[0]).unwrap_err();
        assert!(error.to_string().contains("an ingested table of base sequence 40000"), "{error}");
    }
}

#[test]
fn a_damaged_page_is_an_error_that_repeats_and_never_an_end() {
    let entries: Vec<Entry> =
        (0..500u32).map(|no| (no.to_be_bytes().to_vec(), 1, Some(vec![no as u8; 100]))).collect();
    let sample = Sample::new(entries);
    let mut bytes = sample.file();
    // In the third data page.
    bytes[2 * 4096 + 1_000] ^= 1;
    sample.disk.set_bytes(path(), bytes);
    for mode in MODES {
        let mut source = TableSource::new(sample.open(mode).unwrap().0);
        source.first().unwrap();
        let error = loop {
            assert!(source.entry().is_some(), "{mode:?}: an end in the middle of the table");
            if let Err(error) = source.next() {
                break error;
            }
        };
        assert!(error.to_string().contains("data page at offset 8192"), "{error}");
        assert!(source.entry().is_none());
        assert!(source.next().is_err() && source.prev().is_err());
        source.last().unwrap();
        assert_eq!(standing(&source).as_ref(), sample.entries.last());
        while source.prev().is_ok() {
            assert!(source.entry().is_some(), "{mode:?}: an end in the middle of the table");
        }
        // Around it everything is read.
        source.seek(&0u32.to_be_bytes(), SeqNo(9)).unwrap();
        assert_eq!(standing(&source).as_ref(), sample.entries.first());
    }
}
