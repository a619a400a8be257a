//! Collecting what indexes need while a table is written, so that nothing reads it again.
//!
//! ```text
//! Collecting     of one flush or compaction: which formats its tables will want
//!   Collection   of one table: a builder for each of those that collect inline
//! ```
//!
//! The table is published without waiting for them; a background thread then solves and writes
//! what was collected. Whatever does not fit into memory, or is asked for in another way, is built by
//! a scan instead: the bytes are the same.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kiban_formats::page::{NewEntry, Page};
use kiban_formats::{Level, PageNo, TableId, TableMeta};
use kiban_indexes::{AccessorBuilder, AccessorFormat, Declined, EntryFacts, Params, Plan, TableShape};

use super::build::seed;
use super::work::Policy;
use crate::memory::{Gauge, Share};
use crate::space::Space;
use crate::store::Store;
use crate::table::FactsReader;

/// What is collected for the tables of one flush or compaction.
pub(crate) struct Collecting<'s> {
    store: &'s Store,
    policy: Arc<Policy>,
    /// About what a table will be.
    expected: TableShape,
}

/// What was collected for a table's indexes.
pub(crate) struct Collection {
    members: Vec<Member>,
    reader: FactsReader,
    memory: Share,
    /// Of all collections together, and how many bytes they may take.
    collecting: Gauge,
    bytes_max: u64,
    /// Known when the table is written.
    shape: TableShape,
}

struct Member {
    format: Arc<dyn AccessorFormat>,
    params: Params,
    builder: Box<dyn AccessorBuilder>,
}

/// A builder that has seen every entry of its table.
pub(super) struct Collected {
    pub(super) shape: TableShape,
    pub(super) builder: Box<dyn AccessorBuilder>,
    /// What it takes, while it is there.
    pub(super) memory: Share,
}

impl fmt::Debug for Collecting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collecting").field("expected", &self.expected).finish_non_exhaustive()
    }
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.members.iter().map(|member| member.format.name())).finish()
    }
}

impl Store {
    /// For tables of about this shape; `None`: no entry has to be shown to anybody.
    pub(crate) fn collecting(&self, space: &Space, expected: TableShape) -> Option<Collecting<'_>> {
        let policy = arc_swap::Guard::into_inner(space.policy());
        let wants_some = !policy.rules.wanted(&expected).formats.is_empty();
        wants_some.then_some(Collecting { store: self, policy, expected })
    }
}

/// About the shape of the tables that these become, each of at most so many bytes.
pub(crate) fn expected_shape<'m>(
    inputs: impl IntoIterator<Item = &'m TableMeta>,
    level: Level,
    bytes_max: u64,
) -> TableShape {
    let mut shape = TableShape::default();
    shape.level = level;
    for meta in inputs {
        shape.table_bytes += meta.bytes;
        shape.entries += meta.entries;
        shape.keys += meta.keys;
        shape.tombstones += meta.tombstones;
    }
    let part = bytes_max as f64 / shape.table_bytes.max(1) as f64;
    if part < 1.0 {
        let scale = |count: &mut u64| *count = (*count as f64 * part) as u64;
        let counts = [&mut shape.table_bytes, &mut shape.entries, &mut shape.keys, &mut shape.tombstones];
        counts.into_iter().for_each(scale);
    }
    shape
}

impl Collecting<'_> {
    /// Begins a table.
    pub(crate) fn begin(&self, table: TableId) -> Option<Collection> {
        let store = self.store;
        let (collecting, bytes_max) = (&store.tables.collecting, store.settings.build_bytes / 2);
        let mut collection = Collection {
            members: Vec::new(),
            reader: FactsReader { hash_seed: store.hash_seed, assigned: None },
            memory: collecting.share(),
            collecting: collecting.clone(),
            bytes_max,
            shape: self.expected.clone(),
        };
        let mut room = bytes_max.saturating_sub(collecting.bytes());
        for (name, params) in self.policy.rules.wanted(&self.expected).formats {
            let Some(format) = store.indexing.registry().by_name(&name) else { continue };
            let begun = AssertUnwindSafe(|| self.begin_member(format, &params, seed(table), &mut room));
            // A format that panics or declines is asked again, and explained, once the table is there.
            if let Ok(Some(builder)) = catch_unwind(begun) {
                collection.members.push(Member { format: format.clone(), params, builder });
            }
        }
        (!collection.members.is_empty()).then_some(collection)
    }

    fn begin_member(
        &self,
        format: &Arc<dyn AccessorFormat>,
        params: &Params,
        seed: u64,
        room: &mut u64,
    ) -> Option<Box<dyn AccessorBuilder>> {
        let Plan::Inline { bytes_per_key } = format.plan(&self.expected, params) else { return None };
        *room = room.checked_sub(u64::from(bytes_per_key).saturating_mul(self.expected.keys))?;
        format.builder(&self.expected, params, seed).ok()
    }
}

impl Collection {
    /// Takes the entries of a page.
    pub(crate) fn page(&mut self, no: PageNo, page: &[u8]) {
        let reader = self.reader;
        self.show(|members| {
            let page = Page::parse(page).map_err(|error| Declined::new(error.to_string()))?;
            let unread = |error: kiban_formats::FormatError| Declined::new(error.to_string());
            reader.visit_page(no, &page, unread, &mut |entry| add(members, entry))
        });
    }

    /// Takes an entry that has a jumbo run.
    pub(crate) fn jumbo(&mut self, no: PageNo, entry: &NewEntry<'_>) {
        let facts = self.reader.jumbo(no, entry);
        self.show(|members| add(members, &facts));
    }

    /// Shows entries to all members. If one cannot go on, or they take too much, none does: the table
    /// is scanned.
    fn show(&mut self, entries: impl FnOnce(&mut [Member]) -> Result<(), Declined>) {
        if self.members.is_empty() {
            return;
        }
        let shown = catch_unwind(AssertUnwindSafe(|| {
            entries(&mut self.members)?;
            Ok::<_, Declined>(self.members.iter().map(|member| member.builder.memory_bytes() as u64).sum())
        }));
        let bytes = shown.ok().and_then(Result::ok);
        self.memory.set(bytes.unwrap_or(0));
        if bytes.is_none() || self.collecting.bytes() > self.bytes_max {
            self.members.clear();
            self.memory.set(0);
        }
    }

    /// The table is written, and has this shape.
    pub(crate) fn written(self, shape: TableShape) -> Option<Self> {
        (!self.members.is_empty()).then_some(Self { shape, ..self })
    }

    /// What was collected for a format with these parameters; the rest stays.
    pub(super) fn take(&mut self, format: &str, params: &Params) -> Option<Collected> {
        let is_it = |member: &Member| member.format.name() == format && member.params == *params;
        let Member { builder, .. } = self.members.swap_remove(self.members.iter().position(is_it)?);
        let bytes = builder.memory_bytes() as u64;
        let left: u64 = self.members.iter().map(|member| member.builder.memory_bytes() as u64).sum();
        self.memory.set(left);
        let mut memory = self.collecting.share();
        memory.set(bytes);
        Some(Collected { shape: self.shape.clone(), builder, memory })
    }
}

fn add(members: &mut [Member], entry: &EntryFacts<'_>) -> Result<(), Declined> {
    members.iter_mut().try_for_each(|member| member.builder.add(entry))
}
