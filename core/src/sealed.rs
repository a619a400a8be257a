//! What a keyspace no longer writes to, and what waits for its turn to join the levels.

use std::sync::Arc;

use kiban_formats::SeqNo;
use kiban_indexes::Probe;

use crate::error::Result;
use crate::memtable::{Memtable, MemtableSource};
use crate::run::{Run, RunSource};
use crate::source::{Found, Source, Wants};
use crate::table::{TableContext, TableHandle};

/// One of a keyspace's sealed things. They join the levels in the order in which they were
/// sealed, so that all in the levels is older than all that waits.
#[derive(Clone, Debug)]
pub(crate) enum Sealed {
    /// A full memtable, to become a table.
    Memtable(Arc<Memtable>),
    /// The tables of one ingest, to be named in the manifest. The log names them until then.
    Ingested(Arc<Run>),
}

impl Sealed {
    /// Whether both are the same thing.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Memtable(one), Self::Memtable(other)) => Arc::ptr_eq(one, other),
            (Self::Ingested(one), Self::Ingested(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// The greatest sequence in it; `None` if it is empty.
    pub(crate) fn greatest_seq(&self) -> Option<SeqNo> {
        match self {
            Self::Memtable(memtable) => memtable.seq_range().map(|(_, greatest)| greatest),
            Self::Ingested(run) => run.tables().iter().map(|table| table.meta.max_seq).max(),
        }
    }

    /// Bytes of memory that go once it is in the levels.
    pub(crate) fn memtable_bytes(&self) -> u64 {
        self.memtable().map_or(0, |memtable| memtable.bytes())
    }

    pub(crate) fn memtable(&self) -> Option<&Arc<Memtable>> {
        match self {
            Self::Memtable(memtable) => Some(memtable),
            Self::Ingested(_) => None,
        }
    }

    /// Its tables; a memtable has none yet.
    pub(crate) fn tables(&self) -> &[Arc<TableHandle>] {
        match self {
            Self::Memtable(_) => &[],
            Self::Ingested(run) => run.tables(),
        }
    }

    pub(crate) fn get(&self, context: &TableContext, probe: &Probe<'_>, wants: Wants) -> Result<Found> {
        match self {
            Self::Memtable(memtable) => Ok(memtable.get(probe.key, probe.snapshot)),
            Self::Ingested(run) => match run.table_for(probe.key) {
                Some(table) => table.find(context, probe, wants),
                None => Ok(Found::Absent),
            },
        }
    }

    /// `None` if it is empty.
    pub(crate) fn source(&self, context: &TableContext) -> Option<Box<dyn Source>> {
        match self {
            Self::Memtable(memtable) if memtable.is_empty() => None,
            Self::Memtable(memtable) => Some(Box::new(MemtableSource::new(memtable.clone()))),
            Self::Ingested(run) => Some(Box::new(RunSource::new(context.clone(), run.clone()))),
        }
    }
}
