//! Kiban: an embedded LSM key-value store whose point index is a plug-in.
//!
//! ```
//! # fn main() -> kiban::Result<()> {
//! # let dir = std::env::temp_dir().join(format!("kiban-doc-{}", std::process::id()));
//! let db = kiban::Db::open(&dir)?;
//! let ks = db.default_keyspace();
//! ks.put("apple", "red")?;
//! assert_eq!(ks.get("apple")?.as_deref(), Some(&b"red"[..]));
//! for item in ks.prefix("a") {
//!     let (key, value) = item?;
//!     println!("{key:?} = {value:?}");
//! }
//! db.close()?;
//! # let _ = std::fs::remove_dir_all(&dir);
//! # Ok(())
//! # }
//! ```

mod approximate;
mod batch;
mod checkpoint;
mod clear;
mod commit;
mod compaction;
#[cfg(feature = "conformance")]
mod conformance;
mod db;
mod durable;
mod error;
mod event;
mod files;
mod flush;
mod index;
mod ingest;
pub mod inspect;
mod iter;
mod keyspace;
mod levels;
mod limits;
mod log;
mod manifest;
mod memory;
mod memtable;
mod multi_get;
mod options;
mod output;
mod own_files;
mod read;
mod repair;
mod retention;
mod room;
mod run;
mod sealed;
mod settings;
mod snapshot;
mod source;
mod space;
mod stats;
#[cfg(feature = "storage-api")]
pub mod storage;
#[cfg(not(feature = "storage-api"))]
#[expect(unreachable_pub, reason = "public and whole under the feature `storage-api`")]
mod storage;
mod store;
mod sync;
mod table;
mod tally;
mod transfer;
mod upkeep;
mod value;
mod view;

/// What belongs to an [`IndexPolicy`] beside its [`Rule`]s.
pub mod policy {
    pub use kiban_indexes::{Admission, Build, IndexPolicyBuilder, PolicyError, Wanted};
}

/// What a format of somebody else is made of: the contract, and what it is checked by.
pub mod accessor {
    pub use kiban_formats::accessor_file::SectionEntry;
    pub use kiban_formats::describe::Dump;
    pub use kiban_formats::{FormatError, Kind, Level, PageNo, Problem, SeqNo, SlotNo};
    pub use kiban_indexes::{
        Accessor, AccessorBuilder, AccessorFile, AccessorFormat, Built, Declined, EntryFacts, EntryPlace,
        FileBytes, FormatId, Location, ParamValue, Params, Plan, PointAccessor, Presence, Probe, Registry,
        RegistryError, Residency, SectionWriter, TableShape, Version,
    };

    /// The conformance kit: [`check`](conformance::check) in memory,
    /// [`check_in_store`](conformance::check_in_store) in real stores.
    #[cfg(feature = "conformance")]
    pub mod conformance {
        pub use crate::conformance::check_in_store;
        pub use kiban_indexes::conformance::{
            Check, Failure, Failures, Findings, Liar, Report, check, with_header,
        };
    }
}

pub use batch::WriteBatch;
pub use db::{Db, DbBuilder, VerifyProblem, VerifyReport};
pub use error::{Error, ErrorKind, Result};
pub use event::Event;
pub use index::{IndexCounts, ReindexReport, SidecarReport, TableIndexReport};
pub use iter::{Cursor, Iter};
pub use keyspace::Keyspace;
pub use kiban_indexes::{IndexPolicy, Residency, Rule};
pub use limits::{
    BATCH_BYTES_MAX, BATCH_OPERATIONS_MAX, KEY_BYTES_MAX, KEYSPACE_NAME_BYTES_MAX, KEYSPACES_MAX,
    VALUE_BYTES_MAX,
};
pub use options::KeyspaceOptions;
pub use repair::{RepairLoss, RepairReport};
pub use settings::{Durability, RecoveryMode, Settings, defaults};
pub use snapshot::Snapshot;
pub use stats::{KeyspaceStats, LevelStats, MemoryStats, PageStats, Stats};
pub use value::{Key, Value};
