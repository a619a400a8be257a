//! Kiban: an embedded LSM key-value store whose point index is a plug-in.

mod error;
mod iter;
mod memtable;
mod settings;
mod source;
#[cfg(feature = "storage-api")]
pub mod storage;
#[cfg(not(feature = "storage-api"))]
#[expect(unreachable_pub, dead_code, reason = "public and whole under the feature `storage-api`")]
mod storage;
mod sync;
mod value;

pub use error::{Error, ErrorKind, Result};
pub use iter::{Cursor, Iter};
pub use settings::{Durability, RecoveryMode, Settings, defaults};
pub use value::{Key, Value};
