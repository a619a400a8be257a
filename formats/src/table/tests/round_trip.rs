use std::cmp::Reverse;

use proptest::prelude::*;

use super::*;

fn some_entries() -> impl Strategy<Value = Vec<Owned>> {
    let key = prop::collection::vec(prop::sample::select(&[0u8, b'a', b'b', 0xFF][..]), 0..10);
    let short = prop::collection::vec(any::<u8>(), 0..60);
    let long = (any::<u8>(), 0..9_000usize).prop_map(|(byte, len)| vec![byte; len]);
    let value = prop::option::weighted(0.8, prop_oneof![8 => short, 1 => long]);
    let entry = (prop::collection::vec(any::<u8>(), 0..3), key, 0..40u64, value);
    let entry = entry.prop_map(|(start, key, seq, value)| Owned {
        key: [start, key].concat(),
        seq: Reverse(seq),
        value,
    });
    prop::collection::vec(entry, 1..300).prop_map(|mut entries| {
        entries.sort();
        entries.dedup_by(|a, b| (&a.key, a.seq) == (&b.key, b.seq));
        entries
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn entries_come_back_and_properties_count_them(entries in some_entries()) {
        let (file, summary) = encode(&entries);
        prop_assert_eq!(file.len() as u64, summary.footer.file_bytes);
        prop_assert_eq!(summary.footer.keyspace, FACTS.keyspace);
        prop_assert_eq!(Footer::decode(&file[file.len() - FOOTER_BYTES..], file.len() as u64), Ok(summary.footer.clone()));
        prop_assert_eq!(&read(&file).unwrap(), &entries);
        let properties = &summary.properties;
        let mut keys: Vec<&Vec<u8>> = entries.iter().map(|entry| &entry.key).collect();
        prop_assert_eq!(properties.raw_key_bytes as usize, keys.iter().map(|key| key.len()).sum::<usize>());
        keys.dedup();
        prop_assert_eq!(properties.keys as usize, keys.len());
        prop_assert_eq!((&properties.smallest, &properties.largest), (keys[0], keys[keys.len() - 1]));
        let tombstones = entries.iter().filter(|entry| entry.value.is_none()).count();
        prop_assert_eq!(properties.tombstones as usize, tombstones);
        let values = entries.iter().flat_map(|entry| &entry.value);
        prop_assert_eq!(properties.raw_value_bytes as usize, values.map(Vec::len).sum::<usize>());
        let seqs = || entries.iter().map(|entry| entry.seq.0);
        prop_assert_eq!((properties.min_seq.0, properties.max_seq.0), (seqs().min().unwrap(), seqs().max().unwrap()));
        // The plain definition of the shape of the keys.
        let common = keys.iter().map(|key| key.iter().zip(keys[0]).take_while(|(a, b)| a == b).count()).min().unwrap();
        prop_assert_eq!(properties.common_len as usize, common);
        let mut alphabet = [0u8; 32];
        keys.iter().flat_map(|key| &key[common..]).for_each(|byte| alphabet[usize::from(byte / 8)] |= 1 << (byte % 8));
        prop_assert_eq!(properties.alphabet, alphabet);
        for (class, count) in properties.key_lengths.iter().enumerate() {
            let lens = if class == 0 { 0..1 } else { 1 << (class - 1)..1 << class };
            prop_assert_eq!(*count as usize, keys.iter().filter(|key| lens.contains(&key.len())).count());
        }
    }
}

#[test]
fn the_same_entries_give_the_same_bytes() {
    let entries: Vec<Owned> = (0..500u32).map(|no| Owned::new(no.to_be_bytes(), 1, Some(&[7; 50]))).collect();
    assert_eq!(encode(&entries).0, encode(&entries).0);
}

#[test]
fn extreme_keys_and_values_come_back() {
    let longest = vec![0xFF; crate::page::KEY_BYTES_MAX];
    let entries = vec![
        Owned::new("", 9, None),
        Owned::new("", 3, Some(b"")),
        Owned::new([0], 1, Some(&[1; 3_000_000])),
        Owned::new([0; 5_000], 1, Some(b"")),
        Owned::new(vec![0xFE; 70_000], 5, Some(b"x")),
        Owned::new(vec![0xFE; 70_000], 4, None),
        Owned::new(vec![0xFE; 70_000], 0, Some(&[2; 70_000])),
        Owned::new(&longest[..longest.len() - 1], 5, Some(b"y")),
        Owned::new(&longest, SeqNo::MAX.0, Some(b"z")),
    ];
    let (file, summary) = encode(&entries);
    assert_eq!(read(&file).unwrap(), entries);
    assert!(summary.properties.jumbo_runs > 3);
}

#[test]
fn many_versions_of_one_key_come_back() {
    let entries: Vec<Owned> =
        (0..20_000u64).rev().map(|seq| Owned::new("key", seq * 2, Some(&seq.to_le_bytes()))).collect();
    let (file, summary) = encode(&entries);
    assert_eq!(read(&file).unwrap(), entries);
    assert_eq!((summary.properties.keys, summary.footer.filter.len), (1, 32));
    assert!(file.len() < 20_000 * 32, "older versions are short: {} bytes", file.len());
}

#[test]
#[should_panic(expected = "entries are added in the order")]
fn entries_out_of_order_are_a_broken_invariant() {
    encode(&[Owned::new("k", 2, None), Owned::new("k", 2, None)]);
}

#[test]
fn the_estimate_is_near_the_size() {
    for (count, value_len) in [(10u32, 10usize), (3_000, 100), (60_000, 100), (200, 20_000)] {
        let value = vec![3; value_len];
        let mut encoder = TableEncoder::new(FACTS);
        let mut sink = Bytes::default();
        for no in 0..count {
            let key = (u64::from(no) << 20).to_be_bytes();
            let entry = TableEntry {
                key: &key,
                hash: hash(&key),
                seq: SeqNo(1),
                kind: Kind::Put,
                value: &value,
                payload_crc: payload_crc(&key, &value),
            };
            sound(encoder.add(&entry, &mut sink));
        }
        let estimate = encoder.estimated_bytes() as f64;
        sound(encoder.finish(&mut sink));
        let size = sink.count as f64;
        // Whole pages are more than a few small records.
        assert!(estimate <= size * 1.02 && estimate >= size * 0.75 - 10_000.0, "{estimate} of {size}");
    }
}
