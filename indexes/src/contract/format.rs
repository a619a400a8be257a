//! A way to build and read indexes.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};

use kiban_formats::accessor_file::SectionEntry;
use kiban_formats::describe::Dump;
use kiban_formats::{FormatError, Level};
use serde::{Deserialize, Serialize};

use super::{AccessorBuilder, AccessorFile, Declined, Residency};
use crate::accessor::Accessor;

/// A format's number in the files. Those below 2^16 are Kiban's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FormatId(pub u32);

impl FormatId {
    /// The id of a format of somebody else: a hash of its name (FNV-1a), top bit set.
    pub const fn of_name(name: &str) -> Self {
        let (bytes, mut hash, mut at) = (name.as_bytes(), 0x811C_9DC5_u32, 0);
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
            at += 1;
        }
        Self(hash | 1 << 31)
    }
}

impl fmt::Display for FormatId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A parameter of a format, as a policy gives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParamValue {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Text.
    Text(String),
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Text(value) => write!(f, "{value:?}"),
        }
    }
}

impl From<bool> for ParamValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for ParamValue {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for ParamValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

/// The parameters of a format, by name.
pub type Params = BTreeMap<String, ParamValue>;

/// What is known of a table when an index for it is planned. While the table is being written the
/// counts are estimates; when it is scanned afterwards they are exact.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TableShape {
    /// The level it goes to.
    pub level: Level,
    /// Bytes of the file.
    pub table_bytes: u64,
    /// Entries: versions and tombstones included.
    pub entries: u64,
    /// Distinct keys.
    pub keys: u64,
    /// Tombstones.
    pub tombstones: u64,
    /// 4 KiB units of data pages.
    pub data_units: u32,
    /// Entries begin at multiples of this many bytes.
    pub align_bytes: u32,
    /// Bytes of the longest page, jumbo runs apart.
    pub page_bytes: u32,
    /// Bytes of heap that a builder may take; 0: as many as it needs. One that takes more is dropped.
    pub memory_max: u64,
}

/// How an index would be built.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Not at all, for this reason.
    Decline(String),
    /// From what is collected while the table is written: about so many bytes of memory a key.
    Inline {
        /// Bytes collected for a distinct key.
        bytes_per_key: u32,
    },
    /// By scanning the table once it is there.
    Scan,
}

/// A way to build and read indexes. Builds never fail, they may decline; they are deterministic for
/// the same entries, parameters and seed.
pub trait AccessorFormat: Send + Sync + Debug {
    /// Its number in files.
    fn id(&self) -> FormatId;

    /// Its name: the extension of its files. `[a-z][a-z0-9_]{1,15}`.
    fn name(&self) -> &str;

    /// The version of its files that it writes.
    fn version(&self) -> u16 {
        1
    }

    /// Whether it keeps whole keys and compares them.
    fn keeps_keys(&self) -> bool {
        false
    }

    /// Checks the names and values of parameters: what is wrong, in words.
    ///
    /// # Errors
    /// The first parameter that is not one, or out of its range.
    fn check_params(&self, params: &Params) -> Result<(), String> {
        match params.keys().next() {
            None => Ok(()),
            Some(name) => Err(format!("format `{}` has no parameter `{name}`", self.name())),
        }
    }

    /// How it would index a table of this shape.
    fn plan(&self, shape: &TableShape, params: &Params) -> Plan;

    /// Begins an index. Everything random in it follows from `seed`.
    ///
    /// # Errors
    /// A table that it does not index, with the reason.
    fn builder(
        &self,
        shape: &TableShape,
        params: &Params,
        seed: u64,
    ) -> Result<Box<dyn AccessorBuilder>, Declined>;

    /// Opens an index: reads its header, no more. With [`Residency::Resident`] the file's bytes are
    /// on the heap and every section's checksum has been compared.
    ///
    /// # Errors
    /// Bytes that are no such index, or of a newer version.
    fn open(&self, file: AccessorFile, residency: Residency) -> Result<Accessor, FormatError>;

    /// Writes what is in a section: its fields stand one behind the other.
    ///
    /// # Errors
    /// What does not decode.
    fn describe(
        &self,
        file: &AccessorFile,
        section: &SectionEntry,
        dump: &mut Dump,
    ) -> Result<(), FormatError> {
        let range = section.range.start as usize..section.range.end as usize;
        let bytes = file.bytes().get(range).unwrap_or_default();
        dump.field(section.range.start, bytes, format!("{} bytes", bytes.len()));
        Ok(())
    }
}
