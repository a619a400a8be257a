//! Faults that users of such engines reported, as they look at this layer.

use std::ops::Bound;
use std::sync::Arc;

use super::fake::{List, Version, View};
use crate::error::Result;
use crate::iter::{Bounds, Cursor};

fn text_keys(keys: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Arc<View> {
    Arc::new(View::dealt(keys.into_iter().map(Into::into)))
}

/// Where a mover left the cursor: the key, or `end`.
fn shown(moved: Result<bool>, cursor: &Cursor) -> String {
    match moved.unwrap() {
        true => String::from_utf8_lossy(cursor.key()).into_owned(),
        false => "end".into(),
    }
}

macro_rules! walk {
    ($cursor:ident: $($mover:ident($($key:expr)?) => $expected:expr),* $(,)?) => {
        $(
            let moved = $cursor.$mover($($key)?);
            assert_eq!(shown(moved, &$cursor), $expected, stringify!($mover($($key)?)));
        )*
    };
}

#[test]
fn h12_turning_round_near_a_bound_stays_in_place() {
    let view = text_keys((0..100).map(|number| format!("{number:02}")));
    let mut cursor = view.cursor(Bounds::of("20".."60"));
    walk!(cursor: seek("40") => "40", next() => "41", prev() => "40", prev() => "39", next() => "40");
    walk!(cursor: seek("59") => "59", next() => "end");
    walk!(cursor: last() => "59", prev() => "58");
    walk!(cursor: first() => "20", prev() => "end", next() => "20", prev() => "end", prev() => "end");
    walk!(cursor: last() => "59", next() => "end", next() => "end", prev() => "59");
}

#[test]
fn h13_seeks_outside_the_bounds_clamp() {
    let keys = || (b'a'..=b'z').map(|letter| [letter]);
    let only_memtable =
        View::new(vec![], 100).with_memtable(&keys().map(|key| Version::put(&key, 1)).collect::<Vec<_>>());
    for view in [text_keys(keys()), Arc::new(only_memtable)] {
        let mut cursor = view.cursor(Bounds::of("f".."m"));
        walk!(cursor:
            seek("a") => "f", seek("m") => "end", seek("z") => "end",
            seek_for_prev("z") => "l", seek_for_prev("f") => "f", seek_lt("f") => "end", seek_for_prev("a") => "end",
            seek_lt("z") => "l", seek_lt("m") => "l", seek_lt("l") => "k", seek_lt("a") => "end");
        for odd in ["m".."m", "m".."f"] {
            let mut cursor = view.cursor(Bounds::of(odd.clone()));
            walk!(cursor: first() => "end", last() => "end", next() => "end", prev() => "end",
                seek("h") => "end", seek_for_prev("h") => "end", seek_lt("h") => "end");
            assert_eq!(view.iter(Bounds::of(odd.clone())).count(), 0);
        }
        let excluded = (Bound::Excluded("f"), Bound::Included("m"));
        let mut cursor = view.cursor(Bounds::of::<&str, _>(excluded));
        walk!(cursor: seek("a") => "g", seek("f") => "g", seek("m") => "m", seek("n") => "end",
            seek_for_prev("z") => "m", seek_for_prev("f") => "end", seek_lt("m") => "l", seek_lt("n") => "m");
    }
}

fn keys_of(view: &Arc<View>, bounds: Bounds, backward: bool) -> Vec<Vec<u8>> {
    let iter = view.iter(bounds);
    let key = |item: Result<(crate::Key, crate::Value)>| item.unwrap().0.to_vec();
    if backward { iter.rev().map(key).collect() } else { iter.map(key).collect() }
}

#[test]
fn h14_prefix_scans_go_both_ways_with_any_bytes() {
    let keys: [&[u8]; 9] =
        [b"a:1", b"b:1", b"b:2", b"b:3", b"c:1", b"\xff", b"\xff\xff", b"\xff\xff\0", b"\xff\xff\xff"];
    let view = text_keys(keys);
    let prefix = |prefix: &[u8], backward| keys_of(&view, Bounds::prefix(prefix), backward);
    assert_eq!(prefix(b"b:", true), [b"b:3", b"b:2", b"b:1"]);
    assert_eq!(prefix(b"\xff\xff", false), keys[6..]);
    assert_eq!(prefix(b"\xff\xff", true), [keys[8], keys[7], keys[6]]);
    assert_eq!(prefix(b"bb", false), [b""; 0]);
    assert_eq!(prefix(b"bb", true), [b""; 0]);
    assert_eq!(prefix(b"", false), keys);
    assert_eq!(prefix(b"", true).len(), 9);
}

#[test]
fn h15_bounds_are_plain_byte_order() {
    let number = |number: u64| number.to_be_bytes();
    let view = text_keys((1..=3).map(|key| [&number(key)[..], b"x"].concat()));
    let count = |bounds| keys_of(&view, bounds, false).len();
    assert_eq!(count(Bounds::of(number(1)..=number(3))), 2);
    assert_eq!(count(Bounds::of(number(1)..number(4))), 3);
    assert_eq!(count(Bounds::prefix(&number(3))), 1);
}

#[test]
fn h16_a_seek_again_to_the_same_place_is_a_seek() {
    let view = text_keys((1..=9).map(|number| format!("{number:02}")));
    let mut cursor = view.cursor(Bounds::all());
    walk!(cursor:
        seek_lt("05") => "04", seek_lt("04") => "03", seek_lt("04") => "03", seek_lt("01") => "end",
        seek("09") => "09", seek("09") => "09", seek("10") => "end", seek("01") => "01");
}

#[test]
fn h37_the_empty_key_is_the_first_key() {
    let view = text_keys([&b""[..], b"\0", b"a"]);
    let mut cursor = view.cursor(Bounds::all());
    walk!(cursor: first() => "", seek("") => "", seek_lt("\0") => "", prev() => "end", seek_lt("") => "end",
        last() => "a", seek_for_prev("") => "", next() => "\0");
}

#[test]
fn h05_a_snapshot_sees_a_key_that_was_deleted_after_it() {
    let versions = vec![Version::put(b"k", 1), Version::delete(b"k", 3)];
    for (snapshot, count) in [(0, 0), (1, 1), (2, 1), (3, 0)] {
        let view = Arc::new(View::new(vec![List::new(versions.clone())], snapshot));
        assert_eq!(keys_of(&view, Bounds::all(), false).len(), count);
        assert_eq!(keys_of(&view, Bounds::all(), true).len(), count);
    }
}

#[test]
fn public_iterators_can_be_sent_and_kept() {
    fn assert_send<T: Send + 'static>() {}
    assert_send::<crate::Iter>();
    assert_send::<Cursor>();
}
