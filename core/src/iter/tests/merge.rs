//! The merge alone, as a source.

use std::sync::Arc;

use kiban_formats::SeqNo;
use proptest::prelude::*;

use super::fake::{List, ListSource, Version};
use crate::iter::merged;
use crate::source::Source;

#[derive(Clone, Debug)]
enum Move {
    Seek(u8, u64),
    SeekBefore(u8, u64),
    First,
    Last,
    Next,
    Prev,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        1 => (0..8_u8, 0..40_u64).prop_map(|(key, seq)| Move::Seek(key, seq)),
        1 => (0..8_u8, 0..40_u64).prop_map(|(key, seq)| Move::SeekBefore(key, seq)),
        1 => Just(Move::First),
        1 => Just(Move::Last),
        6 => Just(Move::Next),
        6 => Just(Move::Prev),
    ];
    proptest::collection::vec(one, 1..60)
}

/// Entries shared among up to nine sources; some stand in two.
fn lists() -> impl Strategy<Value = Vec<Vec<(u8, u64)>>> {
    let list = proptest::collection::vec((0..8_u8, 0..40_u64), 0..20);
    proptest::collection::vec(list, 0..10)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn a_merge_walks_like_one_sorted_list(lists in lists(), moves in moves()) {
        let mut sorted: Vec<(u8, u64)> = lists.iter().flatten().copied().collect();
        sorted.sort_by_key(|&(key, seq)| (key, u64::MAX - seq));
        sorted.dedup();
        let sources = lists.iter().map(|list| {
            let versions = list.iter().map(|&(key, seq)| Version::put(&[key], seq)).collect();
            Box::new(ListSource::new(&Arc::new(List::new(versions)))) as Box<dyn Source>
        });
        let mut merge = merged(sources.collect());
        let before = |key: u8, seq: u64| {
            sorted.partition_point(|&(k, s)| (k, u64::MAX - s) < (key, u64::MAX - seq))
        };
        let mut at: Option<usize> = None;
        for step in moves {
            at = match step {
                Move::Seek(key, seq) => {
                    merge.seek(&[key], SeqNo(seq)).unwrap();
                    Some(before(key, seq))
                }
                Move::SeekBefore(key, seq) => {
                    merge.seek_before(&[key], SeqNo(seq)).unwrap();
                    before(key, seq).checked_sub(1)
                }
                Move::First => {
                    merge.first().unwrap();
                    Some(0)
                }
                Move::Last => {
                    merge.last().unwrap();
                    sorted.len().checked_sub(1)
                }
                Move::Next => at.map(|here| {
                    merge.next().unwrap();
                    here + 1
                }),
                Move::Prev => at.and_then(|here| {
                    merge.prev().unwrap();
                    here.checked_sub(1)
                }),
            }.filter(|&at| at < sorted.len());
            let found = merge.entry().map(|entry| (entry.key[0], entry.seq.0));
            prop_assert_eq!(found, at.map(|at| sorted[at]));
        }
    }
}

#[test]
fn a_failed_merge_repeats_its_error_until_it_is_placed_anew() {
    let good = List::new(vec![Version::put(b"b", 1), Version::put(b"d", 1)]);
    let mut bad = List::new(vec![Version::put(b"a", 1), Version::put(b"c", 1)]);
    bad.bad = Some(1);
    let source = |list| Box::new(ListSource::new(&Arc::new(list))) as Box<dyn Source>;
    let mut merge = merged(vec![source(good), source(bad)]);
    merge.first().unwrap();
    for _ in 0..2 {
        assert!(merge.next().is_err());
        assert!(merge.prev().is_err());
        assert!(merge.entry().is_none());
    }
    merge.seek(b"d", SeqNo::MAX).unwrap();
    assert_eq!(merge.entry().map(|entry| entry.key), Some(&b"d"[..]));
    merge.next().unwrap();
    assert!(merge.entry().is_none());
}
