//! How far iterators walk: counted in moves of their sources.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::fake::{List, Version, View};
use crate::iter::Bounds;

const TOMBSTONES: u64 = 5_000;

/// Tombstones before, inside and after `[p/, p0)`, and a live key on each side of it.
fn tombstones() -> Arc<View> {
    let mut versions = vec![Version::put(b"a", 1), Version::put(b"q", 2)];
    for number in 0..TOMBSTONES {
        for prefix in ["o/", "p/", "p1/"] {
            versions.push(Version::delete(format!("{prefix}{number:06}").as_bytes(), 3));
        }
    }
    Arc::new(View::new(vec![List::new(versions)], 10))
}

#[test]
fn h04_a_bounded_scan_over_tombstones_stops_at_its_bounds() {
    let view = tombstones();
    assert!(view.iter(Bounds::prefix(b"p/")).next().is_none());
    let forward = view.moves();
    assert!((TOMBSTONES..TOMBSTONES + 20).contains(&forward), "{forward}");
    assert!(view.iter(Bounds::prefix(b"p/")).next_back().is_none());
    let backward = view.moves() - forward;
    assert!((TOMBSTONES..TOMBSTONES + 20).contains(&backward), "{backward}");
    // One version a key: stepped over, not sought past.
    assert_eq!(view.lists[0].seeks.load(Ordering::Relaxed), 2);
}

#[test]
fn h04_an_end_of_an_iterator_does_not_walk_past_the_other() {
    let versions = (0..TOMBSTONES).map(|number| Version::delete(format!("p/{number:06}").as_bytes(), 3));
    let live = [Version::put(b"a", 1), Version::put(b"b", 1), Version::put(b"q", 2)];
    let view = Arc::new(View::new(vec![List::new(versions.chain(live).collect())], 10));
    let mut iter = view.iter(Bounds::all());
    assert_eq!(iter.next_back().unwrap().unwrap().0, b"q");
    assert_eq!(iter.next_back().unwrap().unwrap().0, b"b");
    let before = view.moves();
    assert_eq!(iter.next().unwrap().unwrap().0, b"a");
    assert!(iter.next().is_none());
    assert!(view.moves() - before < 10, "{}", view.moves() - before);
}

#[test]
fn an_empty_range_reads_nothing() {
    let view = tombstones();
    for range in ["p/".."p/", "q".."p"] {
        assert!(view.iter(Bounds::of(range.clone())).next().is_none());
        assert!(view.iter(Bounds::of(range.clone())).next_back().is_none());
    }
    assert_eq!(view.moves(), 0);
}

#[test]
fn many_versions_of_one_key_are_sought_past() {
    const VERSIONS: u64 = 65_537;
    let neighbours = [Version::put(b"j", 1), Version::put(b"l", 1)];
    let versions: Vec<Version> =
        (1..=VERSIONS).map(|seq| Version::put(b"k", seq)).chain(neighbours).collect();
    for snapshot in [1, 2, VERSIONS / 2, VERSIONS - 1, VERSIONS, u64::MAX >> 8] {
        let view = Arc::new(View::new(vec![List::new(versions.clone())], snapshot));
        let newest = format!("value {}", snapshot.min(VERSIONS));
        let expected = [(b"j", "value 1"), (b"k", &newest), (b"l", "value 1")];
        for backward in [false, true] {
            let iter = view.iter(Bounds::all());
            let items: Vec<_> = match backward {
                false => iter.map(|item| item.unwrap()).collect(),
                true => iter.rev().map(|item| item.unwrap()).collect(),
            };
            let shown: Vec<_> = items.iter().map(|(key, value)| (&key[..], &value[..])).collect();
            let mut expected: Vec<_> = expected.map(|(key, value)| (&key[..], value.as_bytes())).into();
            if backward {
                expected.reverse();
            }
            assert_eq!(shown, expected);
        }
        assert!(view.moves() < 100, "{} moves at snapshot {snapshot}", view.moves());
    }
}

#[test]
fn a_fresh_iterator_and_cursor_read_nothing() {
    let view = tombstones();
    let (_iter, cursor) = (view.iter(Bounds::all()), view.cursor(Bounds::all()));
    assert!(!cursor.valid());
    assert_eq!(view.moves(), 0);
}
