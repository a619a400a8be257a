//! Keys and values handed to the caller: shared, immutable, valid for as long as they are held.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::memory::Frame;
use crate::storage::Map;

/// A value. Cheap to clone; stays valid after compaction, drop and close.
#[derive(Clone)]
pub struct Value(Bytes);

/// A key. Cheap to clone; stays valid after compaction, drop and close.
#[derive(Clone)]
pub struct Key(Bytes);

/// Who keeps the bytes alive.
#[derive(Clone)]
enum Bytes {
    /// A buffer, or a part of one: a memtable's entry, a copied value.
    Shared(Arc<[u8]>, Range<usize>),
    /// A part of a page in memory.
    Framed(Frame, Range<usize>),
    /// A jumbo value read from disk.
    Owned(Arc<Vec<u8>>, Range<usize>),
    /// A part of a mapped file.
    Mapped(Arc<dyn Map>, Range<usize>),
}

impl Bytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Shared(buffer, range) => &buffer[range.clone()],
            Self::Framed(frame, range) => &frame.bytes[range.clone()],
            Self::Owned(buffer, range) => &buffer[range.clone()],
            Self::Mapped(map, range) => &map[range.clone()],
        }
    }
}

impl Value {
    /// A copy of `bytes`.
    pub(crate) fn copy(bytes: &[u8]) -> Self {
        Self(Bytes::Shared(Arc::from(bytes), 0..bytes.len()))
    }

    /// A part of a shared buffer.
    pub(crate) fn shared(buffer: Arc<[u8]>, range: Range<usize>) -> Self {
        Self(Bytes::Shared(buffer, range))
    }

    /// A part of a page in memory.
    pub(crate) fn framed(frame: Frame, range: Range<usize>) -> Self {
        Self(Bytes::Framed(frame, range))
    }

    /// A part of a buffer read from disk.
    pub(crate) fn part(buffer: Arc<Vec<u8>>, range: Range<usize>) -> Self {
        Self(Bytes::Owned(buffer, range))
    }

    /// A part of a mapped file.
    pub(crate) fn mapped(map: Arc<dyn Map>, range: Range<usize>) -> Self {
        Self(Bytes::Mapped(map, range))
    }
}

impl Key {
    /// A copy of `bytes`.
    pub(crate) fn copy(bytes: &[u8]) -> Self {
        Self(Bytes::Shared(Arc::from(bytes), 0..bytes.len()))
    }

    /// A part of a shared buffer.
    pub(crate) fn shared(buffer: Arc<[u8]>, range: Range<usize>) -> Self {
        Self(Bytes::Shared(buffer, range))
    }
}

macro_rules! bytes_like {
    ($name:ident) => {
        impl Deref for $name {
            type Target = [u8];
            fn deref(&self) -> &[u8] {
                self.0.as_slice()
            }
        }

        impl AsRef<[u8]> for $name {
            fn as_ref(&self) -> &[u8] {
                self
            }
        }

        impl Borrow<[u8]> for $name {
            fn borrow(&self) -> &[u8] {
                self
            }
        }

        impl From<$name> for Vec<u8> {
            fn from(bytes: $name) -> Self {
                match bytes.0 {
                    Bytes::Owned(buffer, range) if range == (0..buffer.len()) => {
                        Arc::try_unwrap(buffer).unwrap_or_else(|shared| (*shared).clone())
                    }
                    other => other.as_slice().to_vec(),
                }
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "b\"{}\"", self.escape_ascii())
            }
        }

        impl Eq for $name {}
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                **self == **other
            }
        }
        impl Ord for $name {
            fn cmp(&self, other: &Self) -> Ordering {
                (**self).cmp(&**other)
            }
        }
        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }
        impl std::hash::Hash for $name {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                (**self).hash(state);
            }
        }

        bytes_like!(@with $name, [u8], |it| it);
        bytes_like!(@with $name, &[u8], |it| *it);
        bytes_like!(@with $name, Vec<u8>, |it| it.as_slice());
        bytes_like!(@with $name, str, |it| it.as_bytes());
        bytes_like!(@with $name, &str, |it| it.as_bytes());
        impl<const N: usize> PartialEq<[u8; N]> for $name {
            fn eq(&self, other: &[u8; N]) -> bool {
                **self == other[..]
            }
        }
        impl<const N: usize> PartialEq<&[u8; N]> for $name {
            fn eq(&self, other: &&[u8; N]) -> bool {
                **self == other[..]
            }
        }
    };
    (@with $name:ident, $other:ty, |$it:ident| $slice:expr) => {
        impl PartialEq<$other> for $name {
            fn eq(&self, $it: &$other) -> bool {
                **self == *$slice
            }
        }
        impl PartialEq<$name> for $other {
            fn eq(&self, other: &$name) -> bool {
                let $it = self;
                *$slice == **other
            }
        }
        impl PartialOrd<$other> for $name {
            fn partial_cmp(&self, $it: &$other) -> Option<Ordering> {
                Some((**self).cmp($slice))
            }
        }
        impl PartialOrd<$name> for $other {
            fn partial_cmp(&self, other: &$name) -> Option<Ordering> {
                let $it = self;
                let mine: &[u8] = $slice;
                Some(mine.cmp(&**other))
            }
        }
    };
}

bytes_like!(Key);
bytes_like!(Value);
