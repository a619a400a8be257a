use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;
use crate::{Kind, PageNo, SeqNo, SlotNo, TableId, UNIT_BYTES, payload_crc};

const SALT: u32 = 0x5EED;
const FIRST: FirstOrdinals = FirstOrdinals { entry: 7, key: 5 };

#[derive(Clone, Debug)]
struct Owned {
    key: Vec<u8>,
    seq: u64,
    /// `None`: a tombstone.
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

    fn order(&self, key: &[u8], seq: u64) -> Ordering {
        self.key.as_slice().cmp(key).then(seq.cmp(&self.seq))
    }
}

/// Sorted entries, versions of a key newest first, each naming the newer one.
fn sorted(mut entries: Vec<Owned>) -> Vec<Owned> {
    entries.sort_by(|a, b| a.order(&b.key, b.seq));
    entries.dedup_by(|a, b| a.key == b.key && a.seq == b.seq);
    for at in 1..entries.len() {
        if entries[at - 1].key == entries[at].key {
            entries[at].newer = Some(entries[at - 1].seq);
        }
    }
    entries
}

/// A page of the entries that fit it, and how many those are.
fn build(shape: PageShape, entries: &[Owned]) -> (Vec<u8>, usize) {
    let mut builder = PageBuilder::new(shape);
    let fitting = entries.iter().take_while(|entry| builder.try_add(&entry.entry())).count();
    let mut bytes = Vec::new();
    builder.finish(FIRST, SALT, &mut bytes);
    assert!(builder.is_empty(), "the builder starts the next page");
    (bytes, fitting)
}

fn verify(bytes: &[u8], shape: PageShape) -> Result<PageSummary, crate::FormatError> {
    verify_page(bytes, shape, SALT, &mut None, |_| {})
}

fn some_entries() -> impl Strategy<Value = Vec<Owned>> {
    let key = prop::collection::vec(prop::sample::select(&[0u8, b'a', b'b', 0xFF][..]), 0..12);
    let value = prop::option::of(prop::collection::vec(any::<u8>(), 0..300));
    let entry = (key, 1..50u64, value).prop_map(|(key, seq, value)| Owned { key, seq, value, newer: None });
    prop::collection::vec(entry, 1..80).prop_map(sorted)
}

fn some_shape() -> impl Strategy<Value = PageShape> {
    let bytes = prop::sample::select(&[4u32 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10][..]);
    let align = prop::sample::select(&[1u8, 2, 4, 8][..]);
    (bytes, align).prop_map(|(bytes, align)| PageShape::new(bytes, align).unwrap())
}

proptest! {
    #[test]
    fn entries_come_back_as_they_were(entries in some_entries(), shape in some_shape()) {
        let (bytes, fitting) = build(shape, &entries);
        let page = Page::parse(&bytes).unwrap();
        page.check_crc(SALT).unwrap();
        let last = page.entry(SlotNo(fitting as u16 - 1)).unwrap();
        let used = last.value_offset + last.value.len();
        prop_assert_eq!(bytes.len(), used.div_ceil(UNIT_BYTES) * UNIT_BYTES);
        prop_assert!(bytes.len() <= shape.page_bytes());
        prop_assert_eq!((page.count(), page.first()), (fitting, FIRST));
        for (slot, expected) in entries[..fitting].iter().enumerate() {
            let entry = page.entry(SlotNo(slot as u16)).unwrap();
            entry.verify().unwrap();
            prop_assert!(entry.has_key(&expected.key));
            prop_assert_eq!(entry.to_key(), expected.key.clone());
            prop_assert_eq!((entry.seq, entry.kind), (SeqNo(expected.seq), expected.entry().kind));
            prop_assert_eq!(entry.value, expected.value.as_deref().unwrap_or_default());
            prop_assert_eq!(&bytes[entry.value_offset..][..entry.value.len()], entry.value);
            prop_assert_eq!(entry.newer, expected.newer.map(SeqNo));
            prop_assert_eq!(entry.payload_crc(), expected.entry().payload_crc);
        }
        let summary = verify(&bytes, shape).unwrap();
        let keys = entries[..fitting].iter().filter(|entry| entry.newer.is_none()).count();
        prop_assert_eq!((summary.entries as usize, summary.new_keys as usize), (fitting, keys));
    }

    #[test]
    fn a_search_finds_the_first_entry_that_is_not_before(
        entries in some_entries(),
        shape in some_shape(),
        others in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..6), 0..10),
    ) {
        let (bytes, fitting) = build(shape, &entries);
        let page = Page::parse(&bytes).unwrap();
        for key in entries.iter().map(|entry| &entry.key).chain(&others) {
            for seq in [0, 1, 7, 25, 49, 50, SeqNo::MAX.0] {
                let before = entries[..fitting].iter().take_while(|entry| entry.order(key, seq).is_lt());
                prop_assert_eq!(page.search(key, SeqNo(seq)).unwrap(), before.count());
            }
        }
    }

    #[test]
    fn slots_name_the_starts_of_entries_and_nothing_else(entries in some_entries(), shape in some_shape()) {
        let (bytes, fitting) = build(shape, &entries);
        let page = Page::parse(&bytes).unwrap();
        let starts: Vec<usize> = (0..fitting).map(|slot| page.offset(slot)).collect();
        for offset in 0..shape.page_bytes() as u32 {
            let found = page.entry_at(offset as u16).unwrap();
            let expected = starts.iter().position(|start| *start == offset as usize);
            prop_assert_eq!(found.is_some(), expected.is_some());
            if let Some(slot) = expected {
                prop_assert_eq!(found.unwrap().to_key(), page.entry(SlotNo(slot as u16)).unwrap().to_key());
            }
        }
        prop_assert!(starts.iter().all(|start| start.is_multiple_of(shape.align())));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(mut bytes: Vec<u8>, key: Vec<u8>, fill: bool, shape in some_shape()) {
        bytes.resize(if fill { shape.page_bytes() } else { bytes.len() }, 0);
        let _ = Jumbo::parse(&bytes, SALT);
        let _ = verify(&bytes, shape);
        if let Ok(page) = Page::parse(&bytes) {
            let _ = page.search(&key, SeqNo(3));
            for slot in 0..page.count().min(50) {
                let _ = page.entry(SlotNo(slot as u16)).map(|entry| entry.verify());
                let _ = page.entry_at(slot as u16).map(|entry| entry.map(|entry| entry.verify()));
            }
        }
    }
}

const SMALL: PageShape = PageShape::SMALLEST;

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
    build(SMALL, &entries).0
}

fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes
}

#[test]
fn every_changed_bit_of_a_page_is_found() {
    let whole = small_page();
    verify(&whole, SMALL).unwrap();
    for bit in 0..whole.len() * 8 {
        let bytes = flipped(&whole, bit);
        let found = Page::parse(&bytes).and_then(|page| page.check_crc(SALT));
        assert!(found.is_err(), "bit {bit}");
    }
}

#[test]
fn every_changed_bit_of_an_entry_is_found_without_the_page() {
    let whole = small_page();
    let page = Page::parse(&whole).unwrap();
    for slot in 0..page.count() {
        let entry = page.entry(SlotNo(slot as u16)).unwrap();
        for bit in page.offset(slot) * 8..(entry.value_offset + entry.value.len()) * 8 {
            let bytes = flipped(&whole, bit);
            let found = Page::parse(&bytes)
                .and_then(|page| page.entry(SlotNo(slot as u16)))
                .and_then(|entry| entry.verify());
            assert!(found.is_err(), "slot {slot}, bit {bit}");
        }
    }
}

/// A page of four units at most that needs three, with the start of another page behind it.
fn trimmed_page() -> (PageShape, Vec<u8>, Vec<u8>) {
    let shape = PageShape::new(16 << 10, 8).unwrap();
    let entry = |no: u8| Owned { key: vec![no; 20], seq: 9, value: Some(vec![no; 5_500]), newer: None };
    let entries = [entry(1), entry(2), entry(3), entry(4)];
    let (page, fitting) = build(shape, &entries);
    assert_eq!((page.len(), fitting), (3 * UNIT_BYTES, 2));
    let followed = [&page[..], &build(shape, &entries[2..]).0[..UNIT_BYTES]].concat();
    (shape, page, followed)
}

#[test]
fn a_page_ends_with_the_unit_of_its_last_entry_whatever_follows() {
    let (shape, bytes, followed) = trimmed_page();
    verify(&bytes, shape).unwrap();
    assert!(verify(&followed, shape).is_err(), "bytes that are not the page's");
    let page = Page::parse(&followed).unwrap();
    page.check_crc(SALT).unwrap();
    assert_eq!(page.bytes(), bytes);
    for cut in 0..bytes.len() {
        assert!(Page::parse(&bytes[..cut]).is_err(), "cut at {cut}");
    }
    assert!(verify(&bytes, PageShape::new(8 << 10, 8).unwrap()).is_err(), "longer than the table's pages");
}

#[test]
fn every_changed_bit_of_a_trimmed_page_is_found() {
    let (_, page, followed) = trimmed_page();
    for (whole, bit) in
        [&page, &followed].into_iter().flat_map(|whole| (0..page.len() * 8).map(move |bit| (whole, bit)))
    {
        let bytes = flipped(whole, bit);
        let found = Page::parse(&bytes).and_then(|page| page.check_crc(SALT));
        assert!(found.is_err(), "bit {bit} of {} bytes", whole.len());
    }
}

#[test]
fn a_unit_behind_the_last_entry_is_refused_under_a_right_checksum() {
    let (shape, mut bytes, _) = trimmed_page();
    bytes.resize(shape.page_bytes(), 0);
    bytes[1] += 1 << 4;
    put_crc(&mut bytes, SALT);
    Page::parse(&bytes).unwrap().check_crc(SALT).unwrap();
    let error = verify(&bytes, shape).unwrap_err();
    assert!(error.to_string().contains("a unit behind its last entry"), "{error}");
}

/// A checksum that was made anew proves nothing about sense.
#[test]
fn a_page_with_a_fixed_up_checksum_is_still_checked_for_sense() {
    let whole = small_page();
    let mut refused = 0;
    for bit in 0..whole.len() * 8 {
        let mut bytes = flipped(&whole, bit);
        put_crc(&mut bytes, SALT);
        // The ordinals are the table's to check.
        let is_ordinal = (FIELD_FIRST_ENTRY..FIELD_CRC + 4).contains(&(bit / 8));
        assert_eq!(verify(&bytes, SMALL).is_err(), !is_ordinal, "bit {bit}");
        refused += usize::from(!is_ordinal);
    }
    assert!(refused > 4_000 * 8);
}

#[test]
fn a_page_of_another_table_or_place_is_refused() {
    let salt = TableSalt::new(TableId([1; 16]));
    let salts =
        [salt.page(PageNo(3)), salt.page(PageNo(4)), TableSalt::new(TableId([2; 16])).page(PageNo(3))];
    let mut builder = PageBuilder::new(SMALL);
    let owned = Owned { key: b"k".to_vec(), seq: 1, value: Some(b"v".to_vec()), newer: None };
    assert!(builder.try_add(&owned.entry()));
    let mut bytes = Vec::new();
    builder.finish(FIRST, salts[0], &mut bytes);
    let page = Page::parse(&bytes).unwrap();
    assert_eq!(salts.map(|salt| page.check_crc(salt).is_ok()), [true, false, false]);
}

#[test]
fn a_page_holds_as_many_records_as_the_bytes_allow() {
    let records = |len: usize| {
        let record = move |no: u32| Owned {
            key: no.to_be_bytes().to_vec(),
            seq: 1,
            value: Some(vec![7; len]),
            newer: None,
        };
        (0..20_000).map(record).collect::<Vec<_>>()
    };
    // 16 of header; 2 of slot, 12 + 1 + 1 of head, the key; the key's first 3 bytes shared once.
    assert_eq!(build(SMALL, &records(0)).1, (4096 - 16 - 3) / (2 + 14 + 1));
    assert_eq!(build(PageShape::new(64 << 10, 1).unwrap(), &records(0)).1, (65_536 - 16) / (2 + 14 + 4));
    // One record fills the page to the last byte, one more byte and it is a jumbo run.
    let one = |len: usize| Owned { key: vec![1; 4], seq: 1, value: Some(vec![7; len]), newer: None };
    let most = 4096 - 16 - 2 - (12 + 1 + 2) - 4;
    assert!(PageBuilder::fits_empty(SMALL, &one(most).entry()));
    assert!(!PageBuilder::fits_empty(SMALL, &one(most + 1).entry()));
}

fn jumbo_run(owned: &Owned) -> Vec<u8> {
    let mut bytes = Vec::new();
    let units = encode_jumbo_head(&owned.entry(), FIRST, SALT, &mut bytes).unwrap();
    bytes.extend_from_slice(owned.value.as_deref().unwrap());
    assert_eq!(bytes.len().div_ceil(UNIT_BYTES), units as usize);
    bytes.resize(units as usize * UNIT_BYTES, 0);
    bytes
}

#[test]
fn a_jumbo_run_comes_back_whole() {
    let key = vec![b'k'; 5000];
    let owned = Owned { key: key.clone(), seq: 3, value: Some(vec![7; 20_000]), newer: Some(9) };
    let bytes = jumbo_run(&owned);
    assert!(is_jumbo(&bytes) && !is_jumbo(&small_page()));
    let head = Jumbo::head_bytes(&bytes[..UNIT_BYTES]).unwrap();
    let jumbo = Jumbo::parse(&bytes[..head], SALT).unwrap();
    assert_eq!((jumbo.key, jumbo.first, jumbo.value_len), (&*key, FIRST, 20_000));
    assert_eq!((jumbo.seq(), jumbo.kind(), jumbo.newer()), (SeqNo(3), Kind::Put, Some(SeqNo(9))));
    let entry = jumbo.entry(&bytes[jumbo.value_offset..][..20_000]);
    entry.verify().unwrap();
    assert_eq!(entry.payload_crc(), owned.entry().payload_crc);
    let mut before = Some(Neighbour { key, seq: SeqNo(9) });
    verify_jumbo(&bytes, SALT, &mut before, |_| {}).unwrap();
    assert_eq!(before.unwrap().seq, SeqNo(3));
}

#[test]
fn every_changed_bit_and_every_cut_of_a_jumbo_run_is_found() {
    let owned = Owned { key: b"key".to_vec(), seq: 3, value: Some(vec![7; 5_000]), newer: None };
    let whole = jumbo_run(&owned);
    let verify = |bytes: &[u8]| verify_jumbo(bytes, SALT, &mut None, |_| {});
    verify(&whole).unwrap();
    for bit in 0..whole.len() * 8 {
        assert!(verify(&flipped(&whole, bit)).is_err(), "bit {bit}");
    }
    let value_end = whole.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    for cut in 0..value_end {
        assert!(verify(&whole[..cut]).is_err(), "cut at {cut}");
    }
}

fn shape_of(key_len: usize, value_len: impl Fn(usize) -> usize) -> PageShape {
    let keys: Vec<Vec<u8>> = (0..2_000u64)
        .map(|no| xxhash_rust::xxh3::xxh3_128(&no.to_le_bytes()).to_be_bytes().repeat(3)[..key_len].to_vec())
        .collect();
    let records: Vec<SampleRecord<'_>> =
        keys.iter().enumerate().map(|(no, key)| SampleRecord { key, value_len: value_len(no) }).collect();
    choose_shape(&records, false)
}

#[test]
fn small_records_stand_on_small_pages_and_large_ones_where_they_waste_least() {
    for small in [0, 1, 16, 64, 100, 256] {
        assert_eq!(shape_of(38, |_| small).page_bytes(), 4 << 10, "{small}");
    }
    assert_eq!(shape_of(38, |_| 2_100).page_bytes(), 32 << 10, "7 records leave 8 % of 16 KiB");
    assert_eq!(shape_of(38, |_| 13_050).page_bytes(), 64 << 10, "4 records end in the 13th unit");
    assert_eq!(shape_of(38, |_| 100_000).page_bytes(), 4 << 10, "nothing but jumbo runs");
    assert_eq!(shape_of(38, |no| if no % 500 == 0 { 300_000 } else { 100 }).page_bytes(), 4 << 10);
}

#[test]
fn alignment_is_the_largest_that_costs_almost_nothing() {
    assert_eq!(shape_of(16, |_| 1).align(), 1, "records of 31 bytes cannot afford it");
    // 38 + 256 + 16 bytes of head: 13 records leave 30 bytes of a page.
    assert_eq!(shape_of(38, |_| 256).align(), 2);
    assert_eq!(shape_of(38, |_| 40_000).align(), 8);
}
