//! Random tables against a sorted list.

use std::cmp::Reverse;

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// What the newest visible version of `key` is, by looking at all of them.
fn expected(versions: &[Version], key: &[u8], snapshot: u64) -> Found {
    let visible = versions.iter().find(|version| version.key == key && version.seq.0 <= snapshot);
    match visible {
        None => Found::Absent,
        Some(version) => match &version.value {
            None => Found::Deleted,
            Some(value) => Found::Value(crate::value::Value::copy(value)),
        },
    }
}

/// The ordinal of the first entry at or after (key, sequence).
fn lower_bound(versions: &[Version], key: &[u8], seq: u64) -> usize {
    versions.partition_point(|version| (version.key.as_slice(), version.seq) < (key, Reverse(seq)))
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    let symbols = select(&[0u8, b'a', b'b', 0xFF][..]);
    (prop::option::of(1..40usize), proptest::collection::vec(symbols, 0..6)).prop_map(|(pad, mut key)| {
        // Some long shared prefixes among short keys.
        if let Some(pad) = pad {
            key.splice(0..0, std::iter::repeat_n(b'p', pad));
        }
        key
    })
}

fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
    let len = prop_oneof![
        30 => 0..40usize,
        10 => 200..2_000usize,
        1 => 3_900..4_200usize,
        1 => 60_000..140_000usize,
    ];
    prop_oneof![
        1 => Just(None),
        6 => (len, any::<u8>()).prop_map(|(len, byte)| Some(vec![byte; len])),
    ]
}

fn versions() -> impl Strategy<Value = Vec<Version>> {
    let version =
        (key(), 1..60u64, value()).prop_map(|(key, seq, value)| Version { key, seq: Reverse(seq), value });
    proptest::collection::vec(version, 1..300).prop_map(|mut versions| {
        versions.sort();
        versions.dedup_by(|a, b| a.key == b.key && a.seq == b.seq);
        versions
    })
}

/// A move of a source.
#[derive(Clone, Debug)]
enum Move {
    Seek(Vec<u8>, u64),
    SeekBefore(Vec<u8>, u64),
    First,
    Last,
    Next,
    Prev,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        2 => (key(), 0..62u64).prop_map(|(key, seq)| Move::Seek(key, seq)),
        2 => (key(), 0..62u64).prop_map(|(key, seq)| Move::SeekBefore(key, seq)),
        1 => Just(Move::First),
        1 => Just(Move::Last),
        8 => Just(Move::Next),
        8 => Just(Move::Prev),
    ];
    proptest::collection::vec(one, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_read_agrees_with_the_list(
        versions in versions(),
        others in proptest::collection::vec(key(), 0..20),
        snapshots in proptest::collection::vec(0..62u64, 1..6),
        moves in moves(),
    ) {
        let made = Made::new(&versions);
        prop_assert_eq!(made.meta.entries, versions.len() as u64);
        prop_assert_eq!(made.meta.bytes, made.bytes().len() as u64);
        for mode in MODES {
            let table = made.open(mode).unwrap();
            prop_assert_eq!(table.verify().unwrap(), vec![]);
            let keys = versions.iter().map(|version| &version.key).chain(&others);
            for key in keys {
                for snapshot in snapshots.iter().copied().chain([SeqNo::MAX.0]) {
                    let found = get(&table, key, snapshot).unwrap();
                    prop_assert_eq!(found, expected(&versions, key, snapshot), "{:?} at {}", key, snapshot);
                }
            }
            prop_assert_eq!(&scan(&table).unwrap(), &versions);
            let mut backward = scan_back(&table).unwrap();
            backward.reverse();
            prop_assert_eq!(&backward, &versions);
            walk(&table, &versions, &moves)?;
        }
    }
}

/// Makes the moves and compares each standing place.
fn walk(table: &Arc<Table>, versions: &[Version], moves: &[Move]) -> Result<(), TestCaseError> {
    let mut source = TableSource::new(table.clone());
    let mut at: Option<usize> = None;
    for a_move in moves {
        match a_move {
            Move::Seek(key, seq) => {
                source.seek(key, SeqNo(*seq)).unwrap();
                at = Some(lower_bound(versions, key, *seq));
            }
            Move::SeekBefore(key, seq) => {
                source.seek_before(key, SeqNo(*seq)).unwrap();
                at = lower_bound(versions, key, *seq).checked_sub(1);
            }
            Move::First => {
                source.first().unwrap();
                at = Some(0);
            }
            Move::Last => {
                source.last().unwrap();
                at = versions.len().checked_sub(1);
            }
            // A source is stepped only where it stands on an entry.
            Move::Next | Move::Prev if source.entry().is_none() => continue,
            Move::Next => {
                source.next().unwrap();
                at = at.map(|at| at + 1);
            }
            Move::Prev => {
                source.prev().unwrap();
                at = at.and_then(|at| at.checked_sub(1));
            }
        }
        let wanted = at.and_then(|at| versions.get(at));
        prop_assert_eq!(standing(&source).as_ref(), wanted, "after {:?}", a_move);
    }
    Ok(())
}

#[test]
fn one_key_with_versions_over_many_pages_is_found_at_every_snapshot() {
    let mut versions: Vec<Version> =
        (1..=5_000u64).rev().map(|seq| Version::put("key", 2 * seq, seq.to_le_bytes())).collect();
    versions.insert(0, Version::put("kex", 7, "before"));
    versions.push(Version::put("kez", 7, "behind"));
    let made = Made::new(&versions);
    for mode in MODES {
        let table = made.open(mode).unwrap();
        for snapshot in (0..10_050).step_by(7) {
            assert_eq!(get(&table, b"key", snapshot).unwrap(), expected(&versions, b"key", snapshot));
        }
    }
}

#[test]
fn entries_out_of_order_are_refused_loudly() {
    let versions = [Version::put("b", 1, ""), Version::put("a", 2, "")];
    assert!(std::panic::catch_unwind(|| Made::new(&versions)).is_err());
    let same = [Version::put("a", 1, ""), Version::put("a", 1, "")];
    assert!(std::panic::catch_unwind(|| Made::new(&same)).is_err());
}
