use std::collections::HashMap;

use super::sort::Pair;
use super::*;

/// A map whose pages are in memory.
struct Map {
    pages: Vec<u8>,
    map: HashPages,
    fallen_back: usize,
}

/// Makes the pages of what was collected, in the order of hashes, `at_once` at a time.
fn solve(collector: &Collector, keys: usize, at_once: usize) -> Map {
    let value_max = collector.pairs().iter().map(|pair| pair.value).filter(|value| *value != u64::MAX).max();
    let (geometry, keys) = Geometry::of(keys, collector.pairs().len(), value_bits(value_max.unwrap_or(0)));
    let mut made = Pages::new(collector.seed(), geometry, keys, |value| value);
    let mut pages = Vec::new();
    let (mut from, mut to, all) = (0, 0, collector.pairs().len());
    while to < all || from < all {
        to = (to + at_once).min(all);
        // All hashes that the directory cannot tell apart come together.
        let same = |pair: &Pair| pair.hash >> 32 == collector.pairs()[to - 1].hash >> 32;
        to += collector.pairs()[to..].iter().take_while(|pair| same(pair)).count();
        let sink = |page: &[u8]| {
            pages.extend_from_slice(page);
            Ok(())
        };
        from += made.make(&collector.pairs()[from..to], to == all, sink).unwrap();
    }
    let directory = Directory::decode(&made.directory.encode()).unwrap();
    Map { pages, map: HashPages::new(directory), fallen_back: made.fallen_back }
}

fn build(seed: u64, pairs: impl IntoIterator<Item = (u64, u64)>) -> Map {
    let mut collector = Collector::new(seed, 0);
    pairs.into_iter().for_each(|(hash, value)| collector.add(hash, value));
    let keys = collector.pairs().len();
    collector.sort();
    solve(&collector, keys, usize::MAX / 2)
}

impl Map {
    fn find(&self, hash: u64) -> Found {
        let slot = self.map.page(hash).and_then(|page| self.map.slot(&self.pages, page));
        slot.map_or_else(|found| found, |slot| self.map.value(&self.pages, slot))
    }
}

/// A stand-in for hashes of keys.
fn hash(no: u64) -> u64 {
    hash::remix(99, no.wrapping_mul(0xA076_1D64_78BD_642F))
}

#[test]
fn every_number_of_keys_is_found() {
    for count in [0, 1, 2, 3, 126, 127, 128, 129, 300, 779, 780, 781, 1_600, 6_000, 50_000] {
        let map = build(count, (0..count).map(|no| (hash(no), no * 3)));
        (0..count).for_each(|no| assert_eq!(map.find(hash(no)), Found::Value(no * 3), "{no} of {count}"));
        let absent = (count..count + 10_000).filter(|no| map.find(hash(*no)) != Found::Absent).count();
        assert!(absent <= 80, "{absent} of 10,000 absent keys pass among {count}");
        assert_eq!(map.fallen_back, 0);
    }
}

/// Numbers one after the other, as a program would count its records.
#[test]
#[ignore = "minutes and 6 GiB of memory; run by `just hundred-million`"]
fn a_hundred_million_regular_keys_are_all_found_and_no_page_falls_back() {
    const KEYS: u64 = 100_000_000;
    let hash = |no: u64| crate::key_hash(7, &no.to_be_bytes());
    let map = build(3, (0..KEYS).map(|no| (hash(no), no)));
    assert_eq!(map.fallen_back, 0);
    (0..KEYS).for_each(|no| assert_eq!(map.find(hash(no)), Found::Value(no), "{no}"));
}

#[test]
fn keys_that_share_a_hash_are_unknown_and_others_are_found() {
    for count in [50, 3_000] {
        let pairs = (0..count).map(|no| (hash(no), no)).chain([(hash(7), 1), (hash(7), 2), (hash(9), 3)]);
        let map = build(5, pairs);
        for no in 0..count {
            let expected = if no == 7 || no == 9 { Found::Unknown } else { Found::Value(no) };
            assert_eq!(map.find(hash(no)), expected);
        }
    }
}

#[test]
fn hashes_that_agree_in_many_bits_are_found() {
    let spread: [fn(u64) -> u64; 5] =
        [|no| no, |no| no << 40, |no| 0xABCD << 48 | no, |no| no.reverse_bits(), |no| no << 20 | 0x5_5555];
    for (which, hash) in spread.into_iter().enumerate() {
        let map = build(3, (0..20_000).map(|no| (hash(no), no)));
        (0..20_000).for_each(|no| assert_eq!(map.find(hash(no)), Found::Value(no), "spread {which}"));
    }
}

#[test]
fn hashes_that_the_directory_cannot_tell_apart_fall_back_alone() {
    // What the seed does to hashes cannot be undone here, so the pairs are put in as they are to be
    // after it: 3,000 that share their high 32 bits, among 6,000 others.
    let mut collector = Collector::new(0, 0);
    (0..9_000).for_each(|no| collector.add(hash(no), no));
    collector.sort();
    let shared = collector.pairs()[4_000].hash >> 32 << 32;
    let changed = collector.pairs().iter().enumerate().map(|(at, pair)| match at {
        4_000..7_000 => Pair { hash: shared | at as u64, ..*pair },
        _ => *pair,
    });
    let pairs: Vec<Pair> = changed.collect();
    let (geometry, keys) = Geometry::of(9_000, 9_000, value_bits(9_000));
    let mut made = Pages::new(0, geometry, keys, |value| value);
    let mut pages = Vec::new();
    let sink = |page: &[u8]| {
        pages.extend_from_slice(page);
        Ok(())
    };
    assert_eq!(made.make(&pairs, true, sink).unwrap(), 9_000);
    assert_eq!(made.fallen_back, 3_000);
    let values: HashMap<u64, u64> = pairs.iter().map(|pair| (pair.hash, pair.value)).collect();
    let map = HashPages::new(Directory::decode(&made.directory.encode()).unwrap());
    for (hash, value) in values {
        let slot = map.page_of_mixed(hash).and_then(|page| map.slot(&pages, page));
        let found = slot.map_or_else(|found| found, |slot| map.value(&pages, slot));
        let expected = if hash >> 32 == shared >> 32 { Found::Unknown } else { Found::Value(value) };
        assert_eq!(found, expected);
    }
}

#[test]
fn pages_are_the_same_however_many_pairs_are_there_at_a_time() {
    let pairs = (0..20_000).map(|no| (hash(no), no)).chain([(hash(3), 9)]);
    let mut collector = Collector::new(4, 0);
    pairs.for_each(|(hash, value)| collector.add(hash, value));
    collector.sort();
    let whole = solve(&collector, 20_001, usize::MAX / 2);
    for at_once in [1, 100, 779, 5_000] {
        let parts = solve(&collector, 20_001, at_once);
        assert!(parts.pages == whole.pages, "{at_once}");
    }
}

#[test]
fn builds_are_alike_in_whatever_order_pairs_come() {
    let pairs: Vec<(u64, u64)> = (0..5_000).map(|no| (hash(no), no)).chain([(hash(3), 9)]).collect();
    let forwards = build(1, pairs.iter().copied());
    let backwards = build(1, pairs.iter().rev().copied());
    assert!(forwards.pages == backwards.pages);
    assert!(forwards.pages != build(2, pairs).pages, "the seed counts");
}
