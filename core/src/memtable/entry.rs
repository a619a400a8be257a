//! What the skip list stores, and how it is looked up without making one.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::sync::Arc;

use kiban_formats::{Kind, SeqNo};

use crate::source::EntryRef;
use crate::value::{Key, Value};

/// An entry. Cloning shares the buffer.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// The key, and the value right behind it.
    buffer: Arc<[u8]>,
    /// The sequence number above the kind's eight bits.
    tag: u64,
    /// Keys are at most 131,072 bytes.
    key_len: u32,
    payload_crc: u32,
}

// What `NODE_BYTES` counts for it.
const _: () = assert!(size_of::<Stored>() == 32);

impl Stored {
    /// Copies key and value into a buffer of their own.
    pub(super) fn new(entry: EntryRef<'_>) -> Self {
        let key_len = u32::try_from(entry.key.len());
        Self {
            buffer: joined(entry.key, entry.value),
            tag: entry.seq.0 << 8 | entry.kind as u64,
            key_len: key_len.expect("the key's length was checked before it was logged"),
            payload_crc: entry.payload_crc,
        }
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.buffer[..self.key_len as usize]
    }

    pub(super) fn kind(&self) -> Kind {
        Kind::from_bits(self.tag.to_le_bytes()[0]).expect("the tag was made from a kind")
    }

    fn seq(&self) -> SeqNo {
        SeqNo(self.tag >> 8)
    }

    pub(super) fn entry(&self) -> EntryRef<'_> {
        let (key, value) = self.buffer.split_at(self.key_len as usize);
        EntryRef { key, seq: self.seq(), kind: self.kind(), value, payload_crc: self.payload_crc }
    }

    pub(super) fn to_value(&self) -> Value {
        Value::shared(Arc::clone(&self.buffer), self.key_len as usize..self.buffer.len())
    }

    pub(super) fn to_key(&self) -> Key {
        Key::shared(Arc::clone(&self.buffer), 0..self.key_len as usize)
    }
}

/// One allocation, and for large values no second buffer in between: `Vec` to `Arc` would copy
/// once more, and a chain of the two slices would be copied byte by byte.
fn joined(key: &[u8], value: &[u8]) -> Arc<[u8]> {
    let mut buffer: Arc<[u8]> = std::iter::repeat_n(0, key.len() + value.len()).collect();
    let bytes = Arc::get_mut(&mut buffer).expect("nobody else has the buffer yet");
    let (key_part, value_part) = bytes.split_at_mut(key.len());
    key_part.copy_from_slice(key);
    value_part.copy_from_slice(value);
    buffer
}

/// A place in the order (key ascending, sequence descending): a stored entry's, or a borrowed
/// one to look up. A trait object, because the skip list looks up by `Borrow`, which must give
/// a reference, and an entry has no `(&[u8], SeqNo)` inside to refer to.
pub(super) trait Place {
    fn place(&self) -> (&[u8], SeqNo);
}

impl Place for Stored {
    fn place(&self) -> (&[u8], SeqNo) {
        (self.key(), self.seq())
    }
}

impl Place for (&[u8], SeqNo) {
    fn place(&self) -> (&[u8], SeqNo) {
        *self
    }
}

fn compare(a: (&[u8], SeqNo), b: (&[u8], SeqNo)) -> Ordering {
    a.0.cmp(b.0).then(b.1.cmp(&a.1))
}

impl<'a> Borrow<dyn Place + 'a> for Stored {
    fn borrow(&self) -> &(dyn Place + 'a) {
        self
    }
}

impl Eq for dyn Place + '_ {}
impl PartialEq for dyn Place + '_ {
    fn eq(&self, other: &Self) -> bool {
        compare(self.place(), other.place()).is_eq()
    }
}
impl Ord for dyn Place + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.place(), other.place())
    }
}
impl PartialOrd for dyn Place + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

// The same order as `dyn Place`, which `Borrow` demands.
impl Eq for Stored {}
impl PartialEq for Stored {
    fn eq(&self, other: &Self) -> bool {
        compare(self.place(), other.place()).is_eq()
    }
}
impl Ord for Stored {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.place(), other.place())
    }
}
impl PartialOrd for Stored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
