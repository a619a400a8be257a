//! Writing a table file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiban_formats::page::NewEntry;
use kiban_formats::table::{TableEncoder, TableEntry, TableFacts, TableSink};
use kiban_formats::{FileNo, FormatError, KeyspaceId, Level, PageNo, SeqNo, StoreId, TableId, TableMeta};
use kiban_indexes::key_hash;

use super::entries::table_shape;
use crate::error::{Error, Result};
use crate::index::Collection;
use crate::source::EntryRef;
use crate::storage::{Storage, WriteFile};

/// What a table is made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableOptions {
    /// The number in its file's name.
    pub(crate) no: FileNo,
    pub(crate) level: Level,
    pub(crate) keyspace: KeyspaceId,
    pub(crate) store_id: StoreId,
    /// Random.
    pub(crate) table_id: TableId,
    pub(crate) hash_seed: u64,
    /// 0: no filter.
    pub(crate) filter_bits_per_key: u32,
    /// Not 0: entries are added with sequence 0, and get theirs, not less than this, when the table
    /// is committed.
    pub(crate) base_seq: SeqNo,
}

/// Writes entries, in the order (key ascending, sequence descending), to a new table file.
#[derive(Debug)]
pub(crate) struct TableWriter {
    path: PathBuf,
    sink: FileSink,
    encoder: TableEncoder,
    options: TableOptions,
}

impl TableWriter {
    /// Creates the file.
    pub(crate) fn create(storage: &Arc<dyn Storage>, path: &Path, options: TableOptions) -> Result<Self> {
        let file = storage.create(path).map_err(|source| Error::io("create", path, source))?;
        let TableOptions { store_id, table_id, hash_seed, keyspace, filter_bits_per_key, base_seq, .. } =
            options;
        let facts = TableFacts { store_id, table_id, hash_seed, keyspace, filter_bits_per_key, base_seq };
        let encoder = TableEncoder::new(facts);
        let sink = FileSink { file, collection: None };
        Ok(Self { path: path.to_owned(), sink, encoder, options })
    }

    /// Lets this see every entry.
    pub(crate) fn collect(&mut self, collection: Collection) {
        self.sink.collection = Some(collection);
    }

    /// Adds an entry. After an error the writer is of no more use.
    pub(crate) fn add(&mut self, entry: EntryRef<'_>) -> Result<()> {
        let EntryRef { key, seq, kind, value, payload_crc } = entry;
        let hash = key_hash(self.options.hash_seed, key);
        self.encoder
            .add(&TableEntry { key, hash, seq, kind, value, payload_crc }, &mut self.sink)
            .map_err(|error| error.at(&self.path))
    }

    /// About how many bytes the file would have if it were finished now.
    pub(crate) fn estimated_bytes(&self) -> u64 {
        self.encoder.estimated_bytes()
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.encoder.memory_bytes()
    }

    /// Writes what is left, makes the file durable (its name is the caller's to make durable), and
    /// says what the manifest must know of it, and what was collected.
    pub(crate) fn finish(mut self) -> Result<(TableMeta, Option<Collection>)> {
        let summary = self.encoder.finish(&mut self.sink).map_err(|error| error.at(&self.path))?;
        let FileSink { mut file, collection } = self.sink;
        file.sync().map_err(|source| Error::io("sync", &self.path, source))?;
        let TableOptions { no, level, .. } = self.options;
        let shape = table_shape(&summary.footer, &summary.properties, level);
        let collection = collection.and_then(|collection| collection.written(shape));
        Ok((TableMeta::of(no, level, &summary.footer, summary.properties), collection))
    }
}

/// The file, as the encoder sees it.
#[derive(Debug)]
struct FileSink {
    file: Box<dyn WriteFile>,
    collection: Option<Collection>,
}

enum WriteError {
    Io(io::Error),
    Format(FormatError),
}

impl From<FormatError> for WriteError {
    fn from(error: FormatError) -> Self {
        Self::Format(error)
    }
}

impl WriteError {
    fn at(self, path: &Path) -> Error {
        match self {
            Self::Io(source) => Error::io("write", path, source),
            Self::Format(error) => Error::invalid(format!("cannot write {}: {error}", path.display())),
        }
    }
}

impl TableSink for FileSink {
    type Error = WriteError;

    fn append(&mut self, parts: &[&[u8]]) -> Result<(), WriteError> {
        self.file.append(parts).map_err(WriteError::Io)
    }

    fn page_packed(&mut self, no: PageNo, page: &[u8]) {
        if let Some(collection) = &mut self.collection {
            collection.page(no, page);
        }
    }

    fn jumbo_packed(&mut self, no: PageNo, entry: &NewEntry<'_>) {
        if let Some(collection) = &mut self.collection {
            collection.jumbo(no, entry);
        }
    }
}
