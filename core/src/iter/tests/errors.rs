//! Errors are shown where they are met, and again: never a clean end (H17).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::fake::{List, Version, View, damage};
use crate::error::ErrorKind;
use crate::iter::{Bounds, Cursor, Iter};

const KEYS: usize = 100;
const BAD: usize = 40;

fn damaged() -> Arc<View> {
    let versions = (0..KEYS).map(|number| Version::put(&[number as u8], 1)).collect();
    let mut list = List::new(versions);
    list.bad = Some(BAD);
    Arc::new(View::new(vec![list], 10))
}

#[test]
fn h17_a_scan_gives_all_before_the_damage_then_the_error_for_ever() {
    let mut iter = damaged().iter(Bounds::all());
    for number in 0..BAD {
        assert_eq!(iter.next().unwrap().unwrap().0, [number as u8]);
    }
    for _ in 0..3 {
        assert_eq!(iter.next().unwrap().unwrap_err().kind(), ErrorKind::Corruption);
        assert_eq!(iter.next_back().unwrap().unwrap_err().kind(), ErrorKind::Corruption);
    }
}

#[test]
fn h17_a_reverse_scan_gives_all_after_the_damage_then_the_error_for_ever() {
    let mut iter = damaged().iter(Bounds::all()).rev();
    for number in (BAD + 1..KEYS).rev() {
        assert_eq!(iter.next().unwrap().unwrap().0, [number as u8]);
    }
    for _ in 0..3 {
        assert_eq!(iter.next().unwrap().unwrap_err().kind(), ErrorKind::Corruption);
    }
}

#[test]
fn h17_a_newer_version_that_cannot_be_read_never_lets_an_older_one_through() {
    let mut newer = List::new(vec![Version::put(b"j", 1), Version::put(b"k", 5)]);
    newer.bad = Some(1);
    let older = List::new(vec![Version::put(b"k", 2), Version::put(b"l", 3)]);
    let view = Arc::new(View::new(vec![newer, older], 10));
    let mut iter = view.iter(Bounds::all());
    assert!(iter.next_back().unwrap().is_err());
    let mut cursor = view.cursor(Bounds::all());
    assert!(cursor.seek(b"k").is_err());
    assert!(cursor.seek_for_prev(b"k").is_err());
    assert!(cursor.seek(b"l").unwrap());
    assert_eq!(cursor.value(), b"value 3");
}

#[test]
fn a_cursor_repeats_an_error_on_steps_and_tries_again_on_seeks() {
    let mut cursor = damaged().cursor(Bounds::all());
    assert!(cursor.seek([BAD as u8 - 1]).unwrap());
    for _ in 0..2 {
        assert!(cursor.next().is_err());
        assert!(cursor.prev().is_err());
        assert!(!cursor.valid());
    }
    assert!(cursor.seek([BAD as u8 + 1]).unwrap());
    assert_eq!(cursor.key(), [BAD as u8 + 1]);
    assert!(cursor.prev().is_err());
    assert!(cursor.prev().is_err());
    assert!(cursor.next().is_err());
    assert!(cursor.first().unwrap());
    assert!(cursor.last().unwrap());
    assert_eq!(cursor.key(), [KEYS as u8 - 1]);
}

#[test]
fn after_the_key_next_to_damage_the_other_way_is_open() {
    let mut cursor = damaged().cursor(Bounds::all());
    assert!(cursor.last().unwrap());
    while cursor.key() != [BAD as u8 + 1] {
        assert!(cursor.prev().unwrap());
    }
    assert_eq!(cursor.value(), b"value 1");
    assert!(cursor.next().unwrap());
    assert_eq!(cursor.key(), [BAD as u8 + 2]);
}

#[test]
fn a_closed_store_is_noticed_at_the_next_step() {
    let view = damaged();
    let (mut iter, mut cursor) = (view.iter(Bounds::all()), view.cursor(Bounds::all()));
    let kept = iter.next().unwrap().unwrap();
    assert!(cursor.first().unwrap());
    view.closed.store(true, Ordering::Relaxed);
    for _ in 0..2 {
        assert_eq!(iter.next().unwrap().unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(cursor.next().unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(cursor.first().unwrap_err().kind(), ErrorKind::Closed);
    }
    assert_eq!(kept.1, b"value 1");
}

#[test]
fn a_table_that_cannot_be_opened_is_an_error_that_repeats() {
    let view = damaged();
    view.unopenable.store(true, Ordering::Relaxed);
    let (mut iter, mut cursor) = (view.iter(Bounds::all()), view.cursor(Bounds::all()));
    assert!(iter.next().unwrap().is_err());
    assert!(cursor.next().is_err());
    view.unopenable.store(false, Ordering::Relaxed);
    assert!(iter.next().unwrap().is_err());
    assert!(iter.next_back().unwrap().is_err());
    assert!(cursor.next().is_err());
    assert!(cursor.prev().is_err());
    assert!(!cursor.valid());
    assert!(cursor.seek([3]).unwrap());
    assert_eq!(cursor.key(), [3]);
}

#[test]
fn a_refused_iterator_gives_its_error_at_both_ends() {
    let mut iter = Iter::failed(damage());
    let mut cursor = Cursor::failed(damage());
    for _ in 0..2 {
        assert!(iter.next().unwrap().is_err());
        assert!(iter.next_back().unwrap().is_err());
        assert!(cursor.first().is_err());
        assert!(cursor.next().is_err());
        assert!(!cursor.valid());
    }
}

#[test]
#[should_panic(expected = "ask `valid()` first")]
fn reading_a_cursor_that_stands_on_no_key_panics() {
    let _ = damaged().cursor(Bounds::all()).key().len();
}
