//! Iterators that turn, seek and end in the wrong place.

use kiban::{Cursor, Keyspace, Value, WriteBatch};

use crate::{MODES, Mode, pairs};

/// Runs `check` on a keyspace with these keys: in the memtable, in tables of level 0 that overlap,
/// in one run, and in all of these at once.
fn in_every_place(keys: &[&[u8]], check: impl Fn(&Keyspace, &str)) {
    for mode in MODES {
        for place in ["memtable", "level 0", "one run", "everywhere"] {
            let dir = tempfile::tempdir().unwrap();
            let db = mode.open(dir.path());
            let ks = db.default_keyspace();
            for part in 0..4 {
                keys.iter().skip(part).step_by(4).for_each(|key| ks.put(key, key).unwrap());
                let last = part == 3;
                if place == "level 0" || place == "everywhere" && !last {
                    ks.flush().unwrap();
                }
                if place == "everywhere" && part == 0 || place == "one run" && last {
                    ks.compact().unwrap();
                }
            }
            check(&ks, &format!("{mode:?}, {place}"));
        }
    }
}

/// The key that a mover stands on, or "end".
fn at(cursor: &Cursor, stands: kiban::Result<bool>) -> String {
    assert_eq!(stands.unwrap(), cursor.valid());
    if !cursor.valid() {
        return "end".to_owned();
    }
    assert_eq!(cursor.key(), cursor.value(), "the value of another key");
    String::from_utf8(cursor.key().to_vec()).unwrap()
}

/// Does the moves and says where each led: `>=k`, `<=k`, `<k`, `first`, `last`, `next`, `prev`.
fn walk(cursor: &mut Cursor, moves: &str) -> String {
    let step = |step: &str| {
        let stands = match step {
            "first" => cursor.first(),
            "last" => cursor.last(),
            "next" => cursor.next(),
            "prev" => cursor.prev(),
            _ if step.starts_with(">=") => cursor.seek(&step[2..]),
            _ if step.starts_with("<=") => cursor.seek_for_prev(&step[2..]),
            _ => cursor.seek_lt(&step[1..]),
        };
        at(cursor, stands)
    };
    moves.split(' ').map(step).collect::<Vec<_>>().join(" ")
}

#[test]
fn h12_turning_around_near_an_upper_bound_lands_in_the_right_place() {
    let keys: Vec<String> = (0..100).map(|no| format!("{no:02}")).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    in_every_place(&keys, |ks, place| {
        let mut cursor = ks.cursor_in("20".."60");
        assert_eq!(walk(&mut cursor, ">=40 next prev prev next"), "40 41 40 39 40", "{place}");
        assert_eq!(walk(&mut cursor, ">=59 next"), "59 end", "{place}");
        assert_eq!(walk(&mut cursor, "last prev"), "59 58", "{place}");
        assert_eq!(walk(&mut cursor, "first prev"), "20 end", "{place}");
        assert_eq!(walk(&mut cursor, "last next prev prev next next"), "59 end 59 58 59 end", "{place}");
        assert_eq!(walk(&mut cursor, "first prev next"), "20 end 20", "{place}");
    });
}

#[test]
fn h13_a_seek_outside_the_bounds_stays_inside_them() {
    let keys: Vec<Vec<u8>> = (b'a'..=b'z').map(|key| vec![key]).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    in_every_place(&keys, |ks, place| {
        let mut cursor = ks.cursor_in("f".."m");
        let moves = ">=a >=m >=z <=z <=f <f <=a";
        assert_eq!(walk(&mut cursor, moves), "f end end l f end end", "{place}");
        for bounds in ["m".."m", "m".."f"] {
            assert_eq!(
                walk(&mut ks.cursor_in(bounds.clone()), "first last >=a <=z"),
                "end end end end",
                "{place}"
            );
            assert_eq!(ks.range(bounds).count(), 0, "{place}");
        }
    });
}

#[test]
fn h14_a_reverse_prefix_scan_needs_no_help_with_the_last_key() {
    let keys: [&[u8]; 9] =
        [b"a:1", b"b:1", b"b:2", b"b:3", b"c:1", b"\xFF", b"\xFF\xFF", b"\xFF\xFF\0", b"\xFF\xFF\xFF"];
    in_every_place(&keys, |ks, place| {
        let forward = |prefix: &[u8]| pairs(ks.prefix(prefix)).map(|(key, _)| key).collect::<Vec<_>>();
        let backward =
            |prefix: &[u8]| ks.prefix(prefix).rev().map(|pair| pair.unwrap().0.to_vec()).collect::<Vec<_>>();
        let reversed = |keys: &[&[u8]]| keys.iter().rev().map(|key| key.to_vec()).collect::<Vec<_>>();
        for (prefix, expected) in [
            (&b"b:"[..], &keys[1..4]),
            (b"\xFF\xFF", &keys[6..]),
            (b"", &keys[..]),
            (b"b;", &[]),
            (b"\xFF\xFF\xFF\xFF", &[]),
        ] {
            assert_eq!(forward(prefix), expected, "{place}, prefix {}", prefix.escape_ascii());
            assert_eq!(backward(prefix), reversed(expected), "{place}, prefix {}", prefix.escape_ascii());
        }
    });
}

#[test]
fn h15_bounds_are_bytes_and_a_longer_key_is_behind_its_beginning() {
    let number = |no: u64| no.to_be_bytes();
    let keys: Vec<Vec<u8>> = (1..=3).map(|no| [&number(no)[..], b"x"].concat()).collect();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    in_every_place(&keys, |ks, place| {
        assert_eq!(ks.range(number(1)..=number(3)).count(), 2, "{place}");
        assert_eq!(ks.range(number(1)..number(4)).count(), 3, "{place}");
        assert_eq!(ks.prefix(number(3)).count(), 1, "{place}");
        assert_eq!(ks.range(number(1)..=number(3)).rev().count(), 2, "{place}");
    });
}

#[test]
fn h16_less_than_is_not_less_or_equal_in_a_seek_that_is_repeated() {
    let keys: Vec<String> = (1..10).map(|no| format!("{no:02}")).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    in_every_place(&keys, |ks, place| {
        let moves = "<05 <04 <04 <01 >=09 >=09 >=10 >=01";
        assert_eq!(walk(&mut ks.cursor(), moves), "04 03 03 end 09 09 end 01", "{place}");
        let moves = "<=05 <05 <=04 >=04 <04 <=00 <=09 <99";
        assert_eq!(walk(&mut ks.cursor(), moves), "05 04 04 04 03 end 09 09", "{place}");
    });
}

/// A get may still find an entry that is whole on a page that is not; a scan may not go on.
#[test]
fn h17_a_scan_that_meets_damage_never_ends_as_if_all_was_read() {
    for mode in MODES {
        let dir = tempfile::tempdir().unwrap();
        let one_table = kiban::Settings {
            memtable_bytes: 8 << 20,
            memtables_total_bytes: 32 << 20,
            table_bytes: 8 << 20,
            cache_bytes: 0,
            ..mode.settings()
        };
        let open = |mode: Mode| {
            let mapped = mode.settings().mmap_max_level;
            kiban::Db::builder(dir.path())
                .settings(kiban::Settings { mmap_max_level: mapped, ..one_table.clone() })
                .open()
                .unwrap()
        };
        let db = open(mode);
        let mut batch = WriteBatch::new();
        let key = |no: u32| format!("key {no:06}");
        let ks = db.default_keyspace();
        (0..20_000).for_each(|no| batch.put(&ks, key(no), format!("value {no:06}")));
        db.write(batch).unwrap();
        db.flush().unwrap();
        db.close().unwrap();
        let table = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path());
        let table = table.into_iter().find(|path| path.extension().is_some_and(|end| end == "sst")).unwrap();
        let mut bytes = std::fs::read(&table).unwrap();
        let middle = bytes.len() / 3;
        bytes[middle..middle + 128].fill(0xA5);
        std::fs::write(&table, bytes).unwrap();

        let db = open(mode);
        let ks = db.default_keyspace();
        let mut read = 0;
        let mut scan = ks.iter();
        let damage = loop {
            match scan.next() {
                Some(Ok((found, _))) => assert_eq!(found, key(read).as_bytes(), "{mode:?}"),
                Some(Err(error)) => break error,
                None => panic!("{mode:?}: the scan ended after {read} keys as if that was all"),
            }
            read += 1;
        };
        assert!(read > 1000, "{mode:?}: {read} keys before the damage");
        assert_eq!(damage.kind(), kiban::ErrorKind::Corruption, "{damage}");
        for _ in 0..2 {
            assert_eq!(scan.next().unwrap().unwrap_err().to_string(), damage.to_string(), "{mode:?}");
        }
        let mut refused = 0;
        for no in 0..20_000 {
            match ks.get(key(no)) {
                Ok(found) => assert_eq!(found.map(Value::into), Some(format!("value {no:06}").into_bytes())),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 0 && refused < 1000, "{mode:?}: {refused} gets were refused");
    }
}
