use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::source::Source;
use crate::value::{Key, Value};

fn put<'a>(key: &'a [u8], seq: u64, value: &'a [u8]) -> EntryRef<'a> {
    EntryRef { key, seq: SeqNo(seq), kind: Kind::Put, value, payload_crc: seq as u32 }
}

fn delete(key: &[u8], seq: u64) -> EntryRef<'_> {
    EntryRef { key, seq: SeqNo(seq), kind: Kind::Delete, value: b"", payload_crc: 0 }
}

fn value(bytes: &[u8]) -> Found {
    Found::Value(Value::copy(bytes))
}

#[test]
fn get_gives_the_newest_version_the_snapshot_sees() {
    let memtable = Memtable::new();
    memtable.insert(put(b"k", 3, b"three"));
    memtable.insert(delete(b"k", 5));
    memtable.insert(put(b"k", 7, b"seven"));
    memtable.insert(put(b"", 8, b""));
    let at = |seq| memtable.get(b"k", SeqNo(seq));
    assert_eq!(at(2), Found::Absent);
    assert_eq!(at(3), value(b"three"));
    assert_eq!(at(4), value(b"three"));
    assert_eq!(at(5), Found::Deleted);
    assert_eq!(at(6), Found::Deleted);
    assert_eq!(memtable.get(b"k", SeqNo::MAX), value(b"seven"));
    assert_eq!(memtable.get(b"", SeqNo::MAX), value(b""));
    assert_eq!(memtable.get(b"j", SeqNo::MAX), Found::Absent);
    assert_eq!(memtable.get(b"k\0", SeqNo::MAX), Found::Absent);
}

#[test]
fn a_value_outlives_the_memtable() {
    let memtable = Memtable::new();
    memtable.insert(put(b"key", 1, b"value"));
    let Found::Value(kept) = memtable.get(b"key", SeqNo(1)) else { panic!("the key is there") };
    drop(memtable);
    assert_eq!(kept, b"value");
}

#[test]
fn bytes_and_sequences_are_counted_and_a_replayed_entry_only_once() {
    let memtable = Memtable::new();
    assert_eq!((memtable.bytes(), memtable.seq_range(), memtable.is_empty()), (0, None, true));
    memtable.insert(put(b"key", 9, b"value"));
    memtable.insert(put(b"key", 4, b""));
    memtable.insert(put(b"key", 9, b"other value"));
    assert_eq!(memtable.bytes(), 2 * (NODE_BYTES + 24));
    assert_eq!(memtable.seq_range(), Some((SeqNo(4), SeqNo(9))));
    assert_eq!((memtable.len(), memtable.is_empty()), (2, false));
    assert_eq!(memtable.get(b"key", SeqNo(9)), value(b"value"));
}

#[test]
fn a_source_shares_the_entry_and_carries_its_checksum() {
    let memtable = Arc::new(Memtable::new());
    memtable.insert(put(b"key", 9, b"value"));
    let mut source = memtable.source();
    source.first().unwrap();
    let entry = source.entry().unwrap();
    assert_eq!((entry.key, entry.value, entry.payload_crc), (&b"key"[..], &b"value"[..], 9));
    let (key, value) = (source.key(), source.value());
    assert_eq!(key.as_ptr(), entry.key.as_ptr());
    assert_eq!(value.as_ptr(), entry.value.as_ptr());
    drop((source, memtable));
    assert_eq!((key, value), (Key::copy(b"key"), Value::copy(b"value")));
}

#[test]
fn readers_beside_the_writer_see_whole_entries_in_order() {
    let memtable = Arc::new(Memtable::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for seq in 0..20_000_u64 {
                let key = (seq * 7919 % 20_000).to_be_bytes();
                memtable.insert(put(&key, seq, &key));
            }
        });
        scope.spawn(|| {
            while memtable.len() < 20_000 {
                let mut source = memtable.source();
                source.first().unwrap();
                let mut before: Option<Vec<u8>> = None;
                while let Some(entry) = source.entry() {
                    assert_eq!(entry.key, entry.value);
                    assert!(before.is_none_or(|before| *before < *entry.key));
                    before = Some(entry.key.to_vec());
                    source.next().unwrap();
                }
            }
        });
    });
}

/// One mover of a source.
#[derive(Clone, Debug)]
enum Move {
    Seek(u8, u64),
    SeekBefore(u8, u64),
    First,
    Last,
    Next(usize),
    Prev(usize),
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        (0..20_u8, 0..12_u64).prop_map(|(key, seq)| Move::Seek(key, seq)),
        (0..20_u8, 0..12_u64).prop_map(|(key, seq)| Move::SeekBefore(key, seq)),
        Just(Move::First),
        Just(Move::Last),
        (1..90_usize).prop_map(Move::Next),
        (1..90_usize).prop_map(Move::Prev),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn a_source_walks_like_a_sorted_list(
        entries in proptest::collection::btree_set((0..20_u8, 0..12_u64), 0..150),
        walk in proptest::collection::vec(moves(), 1..20),
    ) {
        let memtable = Arc::new(Memtable::new());
        for &(key, seq) in &entries {
            memtable.insert(put(&[key], seq, &[]));
        }
        // Key ascending, sequence descending.
        let sorted: BTreeMap<(u8, u64), ()> =
            entries.iter().map(|&(key, seq)| ((key, u64::MAX - seq), ())).collect();
        let sorted: Vec<(u8, u64)> = sorted.keys().map(|&(key, seq)| (key, u64::MAX - seq)).collect();
        let first_at = |key: u8, seq: u64| {
            sorted.partition_point(|&(k, s)| (k, u64::MAX - s) < (key, u64::MAX - seq))
        };
        let mut source = memtable.source();
        let mut at: Option<usize> = None;
        for step in walk {
            match step {
                Move::Seek(key, seq) => {
                    source.seek(&[key], SeqNo(seq)).unwrap();
                    at = Some(first_at(key, seq)).filter(|&at| at < sorted.len());
                }
                Move::SeekBefore(key, seq) => {
                    source.seek_before(&[key], SeqNo(seq)).unwrap();
                    at = first_at(key, seq).checked_sub(1);
                }
                Move::First => {
                    source.first().unwrap();
                    at = Some(0).filter(|_| !sorted.is_empty());
                }
                Move::Last => {
                    source.last().unwrap();
                    at = sorted.len().checked_sub(1);
                }
                Move::Next(count) => for _ in 0..count {
                    let Some(here) = at else { break };
                    source.next().unwrap();
                    at = Some(here + 1).filter(|&at| at < sorted.len());
                },
                Move::Prev(count) => for _ in 0..count {
                    let Some(here) = at else { break };
                    source.prev().unwrap();
                    at = here.checked_sub(1);
                },
            }
            let found = source.entry().map(|entry| (entry.key[0], entry.seq.0));
            prop_assert_eq!(found, at.map(|at| sorted[at]));
        }
    }
}
