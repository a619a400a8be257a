//! What the engine tells a listener while it works.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

/// Something that happened. Listeners are called from the thread that did it, with no lock of
/// the store held; they must not block for long. They may use the store: their writes wait for no
/// room, and what would wait for work of the very thread that they are on (`flush`, `compact`,
/// `wait_idle`, `reindex`) gives `InvalidArgument`. A panic of theirs is not passed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub enum Event {
    /// The log was replayed at open.
    #[non_exhaustive]
    Recovered {
        /// Operations taken from the log.
        records: u64,
        /// Bytes at the end of the log that no complete record covers, ignored.
        truncated_bytes: u64,
    },
    /// A memtable became a table.
    #[non_exhaustive]
    Flush {
        /// The keyspace's name.
        keyspace: String,
        /// The table's number.
        table: u64,
        /// The table's size.
        bytes: u64,
        /// Entries in it.
        entries: u64,
    },
    /// Tables were merged, or moved to a deeper level.
    #[non_exhaustive]
    Compaction {
        /// The keyspace's name.
        keyspace: String,
        /// The numbers of the tables that went in.
        inputs: Vec<u64>,
        /// The numbers of the tables that came out.
        outputs: Vec<u64>,
        /// The level they are in now.
        level: u32,
    },
    /// A checkpoint was made.
    #[non_exhaustive]
    Checkpoint {
        /// Its directory, as it was asked for.
        target: PathBuf,
        /// The sequence of the last operation in it.
        sequence: u64,
        /// Files in it, the lock file apart.
        files: u64,
        /// Bytes of files that it shares with the store.
        linked_bytes: u64,
        /// Bytes of files that were copied.
        copied_bytes: u64,
    },
    /// Pairs were ingested: they are visible and durable.
    #[non_exhaustive]
    Ingest {
        /// The keyspace's name.
        keyspace: String,
        /// The numbers of the tables that have them.
        tables: Vec<u64>,
        /// Pairs in them.
        records: u64,
    },
    /// A table's index was built.
    #[non_exhaustive]
    AccessorBuilt {
        /// Its file.
        file: PathBuf,
        /// The file's size.
        bytes: u64,
    },
    /// An index beside a table is damaged, of another table, or of a newer version. It is built
    /// anew; reads take the sorted index meanwhile.
    #[non_exhaustive]
    AccessorRefused {
        /// Its file.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A writer waits for memtables to be flushed, or for level 0 to be compacted. Told when the
    /// wait begins.
    #[non_exhaustive]
    WriteStall {
        /// Bytes in all memtables.
        memtable_bytes: u64,
    },
    /// A writer has waited.
    #[non_exhaustive]
    WriteStallEnded {
        /// How long, in microseconds.
        micros: u64,
    },
    /// A table's filter is damaged. The table is read without it, which takes longer, until it is
    /// written anew. Told once while the store is open, when the table is first read.
    #[non_exhaustive]
    FilterRefused {
        /// The table's file.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A flush or a compaction failed; it is tried again, unless a table is damaged.
    #[non_exhaustive]
    BackgroundError {
        /// What went wrong.
        message: String,
    },
    /// A file that nothing names was removed at open.
    #[non_exhaustive]
    OrphanRemoved {
        /// The file.
        file: PathBuf,
    },
}

/// A caller's function that takes events.
type Callback = Arc<dyn Fn(&Event) + Send + Sync>;

thread_local! {
    /// A listener runs on this thread.
    static TELLING: Cell<bool> = const { Cell::new(false) };
}

/// Who is told.
#[derive(Clone, Default)]
pub(crate) struct Listener(Option<Callback>);

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Listener" } else { "no listener" })
    }
}

impl Listener {
    pub(crate) fn new(listener: Callback) -> Self {
        Self(Some(listener))
    }

    /// Makes the event only if somebody listens. What happened stays so if the listener panics:
    /// the panic is reported by the program's hook and ends here.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if let Some(listener) = &self.0 {
            let event = event();
            let outer = TELLING.replace(true);
            let _ = catch_unwind(AssertUnwindSafe(|| listener(&event)));
            TELLING.set(outer);
        }
    }

    /// Whether a listener called what runs now: it must not wait for the thread that it is on.
    pub(crate) fn is_being_told() -> bool {
        TELLING.get()
    }
}
