//! Newtypes for what can be mixed up. An `offset` is bytes, a `no` an ordinal.

use std::fmt;

/// Data and fence pages are addressed in units of this many bytes.
pub const UNIT_BYTES: usize = 4096;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $int);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(
    /// Sequence number: one per operation, 0 to 2^56 - 1, shared by all keyspaces of a store.
    SeqNo(u64)
);
number!(
    /// A page of a table file: the ordinal of its first 4 KiB unit in the file.
    PageNo(u32)
);
number!(
    /// The ordinal of an entry in its page.
    SlotNo(u16)
);
number!(
    /// The number in a file's name. One number space for logs, tables and manifests, never reused.
    FileNo(u64)
);
number!(
    /// A keyspace. Ids are never reused.
    KeyspaceId(u32)
);
number!(
    /// A level of the LSM tree. Tables of level 0 may overlap.
    Level(u8)
);

impl FileNo {
    /// The greatest number of a file, far above what a store can use up.
    pub const MAX: Self = Self((1 << 56) - 1);
}

impl SeqNo {
    /// The greatest sequence number there can be. Seeking `(key, MAX)` finds the newest version.
    pub const MAX: Self = Self((1 << 56) - 1);
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 16]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

id!(
    /// Drawn at random when a store is created; every file of the store carries it.
    StoreId
);
id!(
    /// Drawn at random for each table; its accessor files carry it.
    TableId
);

/// What an operation does to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Sets a value.
    Put = 1,
    /// Removes the key (a tombstone).
    Delete = 2,
}

impl Kind {
    /// The kind with this number. 3 (merge) and 4 (range delete) are reserved and refused.
    pub fn from_bits(bits: u8) -> Option<Self> {
        match bits {
            1 => Some(Self::Put),
            2 => Some(Self::Delete),
            _ => None,
        }
    }
}
