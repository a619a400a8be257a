use proptest::prelude::*;

use super::*;
use crate::{Kind, SeqNo, SlotNo, payload_crc};

const SALT: u32 = 0x5EED;

#[derive(Clone, Debug)]
struct Owned {
    key: Vec<u8>,
    seq: u64,
    value: Option<Vec<u8>>,
    newer: Option<u64>,
}

impl Owned {
    fn entry(&self) -> NewEntry<'_> {
        let value = self.value.as_deref().unwrap_or_default();
        NewEntry {
            key: &self.key,
            seq: SeqNo(self.seq),
            kind: if self.value.is_some() { Kind::Put } else { Kind::Delete },
            newer: self.newer.map(SeqNo),
            value,
            payload_crc: payload_crc(&self.key, value),
        }
    }
}

/// Sorted entries, versions of a key newest first, each naming the newer one.
fn sorted(mut entries: Vec<Owned>) -> Vec<Owned> {
    entries.sort_by(|a, b| a.key.cmp(&b.key).then(b.seq.cmp(&a.seq)));
    entries.dedup_by(|a, b| a.key == b.key && a.seq == b.seq);
    for at in 1..entries.len() {
        if entries[at - 1].key == entries[at].key {
            entries[at].newer = Some(entries[at - 1].seq);
        }
    }
    entries
}

fn build(geometry: PageGeometry, entries: &[Owned]) -> (Vec<u8>, usize, Vec<Placed>) {
    let mut builder = PageBuilder::new(geometry);
    let fitting = entries.iter().take_while(|entry| builder.try_add(&entry.entry())).count();
    let (mut bytes, mut places) = (Vec::new(), Vec::new());
    builder.finish((7, 5), SALT, &mut bytes, |_, placed| places.push(placed));
    (bytes, fitting, places)
}

fn some_entries() -> impl Strategy<Value = Vec<Owned>> {
    let key = prop::collection::vec(prop::sample::select(&[0u8, b'a', b'b', 0xFF][..]), 0..12);
    let value = prop::option::of(prop::collection::vec(any::<u8>(), 0..300));
    let entry = (key, 1..50u64, value).prop_map(|(key, seq, value)| Owned { key, seq, value, newer: None });
    prop::collection::vec(entry, 1..80).prop_map(sorted)
}

proptest! {
    #[test]
    fn entries_come_back_and_are_found(
        entries in some_entries(),
        page_bytes in prop::sample::select(&PAGE_BYTES[..]),
        align in prop::sample::select(&[1u32, 2, 4, 8][..]),
    ) {
        let geometry = PageGeometry { page_bytes, align };
        let (bytes, fitting, places) = build(geometry, &entries);
        prop_assert_eq!(bytes.len(), page_bytes as usize);
        let page = Page::parse(&bytes).unwrap();
        page.verify(SALT).unwrap();
        prop_assert!(page.verify_crc(SALT + 1).is_err());
        prop_assert_eq!((page.len() as usize, page.first_entry(), page.first_key()), (fitting, 7, 5));
        for (slot, expected) in entries[..fitting].iter().enumerate() {
            let entry = page.entry(SlotNo(slot as u16)).unwrap();
            entry.verify().unwrap();
            prop_assert!(entry.key_is(&expected.key));
            prop_assert_eq!(entry.value(), expected.value.as_deref().unwrap_or_default());
            prop_assert_eq!(entry.newer, expected.newer.map(SeqNo));
            prop_assert_eq!(entry.payload_crc(), expected.entry().payload_crc);
            prop_assert_eq!(usize::from(places[slot].offset) % align as usize, 0);
            prop_assert_eq!(page.slot_at(places[slot].offset), Some(SlotNo(slot as u16)));
            prop_assert_eq!(page.slot_at(places[slot].offset + 1), None);
        }
        for probe in &entries {
            for seq in [0, probe.seq, probe.seq + 1, SeqNo::MAX.0] {
                let is_before = |entry: &&Owned| {
                    entry.key.cmp(&probe.key).then(seq.cmp(&entry.seq)) == std::cmp::Ordering::Less
                };
                let expected = entries[..fitting].iter().take_while(is_before).count();
                prop_assert_eq!(page.search(&probe.key, SeqNo(seq)).unwrap() as usize, expected);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(mut bytes: Vec<u8>, key: Vec<u8>, fill: bool) {
        bytes.resize(if fill { 4096 } else { bytes.len() }, 0);
        if let Ok(page) = Page::parse(&bytes) {
            let _ = page.verify(SALT);
            let _ = page.verify_crc(SALT);
            let _ = page.search(&key, SeqNo(3));
            for slot in 0..page.len().min(50) {
                let _ = page.entry(SlotNo(slot)).map(|entry| entry.verify());
            }
        }
    }
}

fn small_page() -> Vec<u8> {
    let entry = |key: &str, seq, value: Option<&str>| Owned {
        key: key.into(),
        seq,
        value: value.map(|value| value.into()),
        newer: None,
    };
    let entries = sorted(vec![
        entry("apple", 9, Some("red")),
        entry("apple", 4, None),
        entry("apricot", 300, Some("")),
        entry("april", 5, Some("month")),
    ]);
    build(PageGeometry { page_bytes: 4096, align: 4 }, &entries).0
}

#[test]
fn every_changed_bit_of_a_page_is_found() {
    let whole = small_page();
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let found = Page::parse(&bytes).and_then(|page| page.verify_crc(SALT));
        assert!(found.is_err(), "bit {bit}");
    }
}

#[test]
fn every_changed_bit_of_an_entry_is_found_without_the_page() {
    let whole = small_page();
    let page = Page::parse(&whole).unwrap();
    for slot in 0..page.len() {
        let entry = page.entry(SlotNo(slot)).unwrap();
        for bit in entry.range.start * 8..entry.range.end * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let found = Page::parse(&bytes)
                .and_then(|page| page.entry(SlotNo(slot)))
                .and_then(|entry| entry.verify());
            assert!(found.is_err(), "slot {slot}, bit {bit}");
        }
    }
}

#[test]
fn a_record_too_long_for_a_page_is_a_jumbo_run() {
    let owned = Owned { key: vec![b'k'; 5000], seq: 3, value: Some(vec![7; 20_000]), newer: None };
    assert!(!PageBuilder::new(PageGeometry { page_bytes: 8192, align: 1 }).try_add(&owned.entry()));
    let (mut bytes, zeros) = jumbo_parts(&owned.entry(), (1, 2), SALT);
    bytes.extend_from_slice(owned.value.as_deref().unwrap());
    bytes.resize(bytes.len() + zeros, 0);
    assert_eq!(Page::jumbo_units(&bytes).map(u64::from), Some(units(bytes.len() as u64)));
    let page = Page::parse(&bytes).unwrap();
    page.verify(SALT).unwrap();
    let entry = page.entry(SlotNo(0)).unwrap();
    assert!(page.is_jumbo() && entry.key_is(&owned.key));
    assert_eq!(Some(entry.value()), owned.value.as_deref());
    assert_eq!(page.search(&owned.key, SeqNo(3)).unwrap(), 0);
    assert_eq!(page.search(&owned.key, SeqNo(2)).unwrap(), 1);
    for bit in (0..bytes.len() * 8).step_by(101) {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(Page::parse(&changed).and_then(|page| page.verify(SALT)).is_err(), "bit {bit}");
    }
}
