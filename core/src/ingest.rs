//! Ingest: pairs in order become tables, which are committed as one operation.
//!
//! The tables are written, synced and named while the caller's iterator runs, with no lock held.
//! Their entries are stored with sequence 0: nobody knows yet which they will have. Then one log
//! record that names the tables takes one sequence, as any write does, and from then on the
//! tables stand in the view behind the memtables that are younger. They are as durable as that
//! record. In their turn, when all that is older is in the levels, a manifest edit puts them
//! there; after a crash before that the replay of the log does.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use kiban_formats::{Kind, Level, SeqNo, TableMeta, payload_crc};

use crate::compaction::level_of_ingested;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Event;
use crate::files;
use crate::limits;
use crate::output::Output;
use crate::run::Run;
use crate::sealed::Sealed;
use crate::source::EntryRef;
use crate::space::Space;
use crate::store::Store;
use crate::table::TableHandle;
use crate::upkeep::Scope;

/// An ingest whose pairs are being taken. Its files go if it is dropped.
#[derive(Debug)]
pub(crate) struct Ingest<'s> {
    store: &'s Store,
    space: &'s Arc<Space>,
    output: Output<'s>,
    /// Pairs so far.
    records: u64,
}

impl<'s> Ingest<'s> {
    pub(crate) fn begin(store: &'s Store, space: &'s Arc<Space>) -> Result<Self> {
        store.check_writable()?;
        store.check_space(space)?;
        store.check_not_halted()?;
        let base_seq = SeqNo(store.visible().0 + 1);
        Ok(Self {
            store,
            space,
            output: Output::of_ingest(store.output_site(space), space.id, base_seq),
            records: 0,
        })
    }

    /// Takes the next pair.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let ordinal = self.records;
        let refused =
            |what: String| Error::invalid(format!("ingest, pair {ordinal} (the first is 0): {what}"));
        if self.output.last_key().is_some_and(|last| key <= last) {
            return Err(refused("the key does not come after the one before".to_owned()));
        }
        let checked = limits::check_key(key).and_then(|()| limits::check_value(value));
        checked.map_err(|error| refused(error.to_string()))?;
        let payload_crc = payload_crc(key, value);
        // Whoever opens the directory after this store was closed must be alone in it.
        let _writing = self.store.begin_writing()?;
        self.store.check_space(self.space)?;
        self.output.add(EntryRef { key, seq: SeqNo(0), kind: Kind::Put, value, payload_crc })?;
        self.records += 1;
        Ok(())
    }

    /// Makes all pairs visible at once, and durable.
    pub(crate) fn commit(mut self) -> Result<()> {
        let store = self.store;
        {
            let _writing = store.begin_writing()?;
            self.output.sync()?;
        }
        if self.output.tables().is_empty() {
            return Ok(());
        }
        let (seq, ingested) = self.log_and_show()?;
        store.upkeep.wake_for(self.space);
        store.sync_through(seq)?;
        store.wait_for_levels(self.space, &ingested);
        store.listener.tell(|| Event::Ingest {
            keyspace: self.space.name.clone(),
            tables: ingested.tables().iter().map(|table| table.meta.no.0).collect(),
            records: self.records,
        });
        Ok(())
    }

    /// The commit: one record in the log, and the tables in the view.
    fn log_and_show(&mut self) -> Result<(SeqNo, Sealed)> {
        let (store, spaces) = (self.store, std::slice::from_ref(self.space));
        let mut commit = store.lock_for_write(spaces)?;
        store.check_space(self.space)?;
        let seq = commit.next_seq;
        let metas: Vec<TableMeta> = self.output.tables().iter().map(|table| table.meta.at(seq)).collect();
        let logged =
            store.log(&mut commit, 1, spaces, |journal| journal.append_ingest(seq, self.space.id, &metas));
        if let Err(error) = logged {
            if error.kind() == ErrorKind::WritesHalted {
                // The log may have the record all the same. What nothing names the next open removes.
                self.output.keep();
            }
            return Err(error);
        }
        self.output.keep();
        let ingested = store.show_ingested(self.space, metas);
        commit.next_seq = SeqNo(seq.0 + 1);
        store.visible.store(seq.0, Ordering::Release);
        Ok((seq, ingested))
    }
}

impl Store {
    /// Puts tables that the log names into the view. Under the commit lock, or during recovery.
    fn show_ingested(&self, space: &Space, metas: Vec<TableMeta>) -> Sealed {
        let handle = |meta: TableMeta| {
            let path = self.dir.join(files::table(meta.no));
            Arc::new(TableHandle::new(meta, path, self.files.clone()))
        };
        let ingested = Sealed::Ingested(Arc::new(Run::new(metas.into_iter().map(handle))));
        space.seal_behind(ingested.clone());
        ingested
    }

    /// What [`Ingest::commit`] did before a crash, at recovery. The tables were durable before the
    /// log named them.
    pub(crate) fn ingest_again(&self, space: &Space, seq: SeqNo, list: &[u8]) -> Result<()> {
        let metas = TableMeta::decode_list(list).map_err(|error| Error::format(&self.dir, error))?;
        let apart = metas.windows(2).all(|pair| pair[0].largest < pair[1].smallest);
        for meta in &metas {
            let path = self.dir.join(files::table(meta.no));
            if !apart || (meta.min_seq, meta.max_seq, meta.level.0) != (seq, seq, 0) {
                return Err(Error::corruption(&path, format!("operation {seq} of the log misdescribes it")));
            }
            let len = match self.storage.open(&path).and_then(|file| file.len()) {
                Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
                    let what = format!("operation {seq} of the log names this table, and it is not there");
                    return Err(Error::corruption(&path, what));
                }
                len => len.map_err(|source| Error::io("open", &path, source))?,
            };
            if len != meta.bytes {
                let what = format!("it has {len} bytes, operation {seq} of the log says {}", meta.bytes);
                return Err(Error::corruption(&path, what));
            }
        }
        self.show_ingested(space, metas);
        Ok(())
    }

    /// Puts ingested tables, the oldest that waits, into the levels. One caller a keyspace at a
    /// time.
    pub(crate) fn publish_ingested(&self, space: &Space, run: Arc<Run>) -> Result<()> {
        // A compaction could put other tables where these go.
        let alone = self.upkeep.try_stop_compactions_of(space);
        let level = alone.as_ref().map_or(0, |_| {
            let view = space.view();
            level_of_ingested(&view.levels, &run, &space.settings())
        });
        let to = |table: &Arc<TableHandle>| Arc::new(table.moved(Level(level as u8)));
        let tables: Vec<_> = run.tables().iter().map(to).collect();
        let ingested = Sealed::Ingested(run);
        let Some(seq) = ingested.greatest_seq() else { return Ok(()) };
        self.index_required(space, &tables)?;
        self.sync_through(seq)?;
        self.publish_sealed(space, &ingested, tables, seq).map(drop)
    }

    /// Waits until what was committed is in the levels. It is durable already: a failure is not
    /// the caller's, and is tried again.
    fn wait_for_levels(&self, space: &Space, ingested: &Sealed) {
        // The background calls listeners, and cannot wait for itself.
        if !self.upkeep.is_waited_for() {
            let done = || space.is_dropped() || !space.view().has_sealed(ingested);
            let _ = self.upkeep.wait_until(self, Scope::Of(&[space.id]), done);
        }
    }
}
