//! Kiban: an embedded LSM key-value store whose point index is a plug-in.

mod error;
mod memtable;
mod settings;
mod source;
pub mod storage;
mod value;

pub use error::{Error, ErrorKind, Result};
pub use settings::{Durability, RecoveryMode, Settings, defaults};
pub use value::{Key, Value};
