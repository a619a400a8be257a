//! Readers beside the writer of the memtable they read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kiban_formats::{Kind, SeqNo};

use super::fake::View;
use crate::iter::Bounds;
use crate::memtable::Memtable;
use crate::source::EntryRef;

const WRITES: u64 = 20_000;
const KEYS: u64 = 8;

/// Write number `seq` sets one of a few keys to that number.
fn write(memtable: &Memtable, seq: u64) {
    let (key, value) = ([(seq % KEYS) as u8], seq.to_be_bytes());
    memtable.insert(EntryRef { key: &key, seq: SeqNo(seq), kind: Kind::Put, value: &value, payload_crc: 0 });
}

/// What write a snapshot sees for a key, both being at least `KEYS`.
fn seen(snapshot: u64, key: u64) -> u64 {
    snapshot - (snapshot - key) % KEYS
}

#[test]
fn h07_a_snapshot_shows_each_key_once_and_the_same_while_writes_go_on() {
    let memtable = Arc::new(Memtable::new());
    let visible = AtomicU64::new(2 * KEYS);
    (0..=2 * KEYS).for_each(|seq| write(&memtable, seq));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for seq in 2 * KEYS + 1..=WRITES {
                write(&memtable, seq);
                visible.store(seq, Ordering::Release);
            }
        });
        scope.spawn(|| {
            let mut snapshot = 0;
            while snapshot < WRITES {
                snapshot = visible.load(Ordering::Acquire);
                check(&Arc::new(View::over(&memtable, snapshot)), snapshot);
            }
        });
    });
}

fn check(view: &Arc<View>, snapshot: u64) {
    let mut cursor = view.cursor(Bounds::all());
    // Two on, one back, with the writer in between.
    assert!(cursor.first().unwrap());
    for key in 0..KEYS {
        assert_eq!(cursor.key(), [key as u8]);
        assert_eq!(cursor.value(), seen(snapshot, key).to_be_bytes(), "key {key} at {snapshot}");
        assert_eq!(cursor.next().unwrap(), key + 1 < KEYS);
        assert!(cursor.prev().unwrap());
        assert_eq!(cursor.key(), [key as u8]);
        assert_eq!(cursor.value(), seen(snapshot, key).to_be_bytes(), "key {key} at {snapshot}");
        assert_eq!(cursor.next().unwrap(), key + 1 < KEYS);
    }
    assert_eq!(view.iter(Bounds::all()).rev().count() as u64, KEYS);
}
