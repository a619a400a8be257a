//! Deciding which index a table gets, and seeing to it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kiban_formats::{FormatError, Level, TableMeta, UNIT_BYTES};
use kiban_indexes::{
    AccessorFormat, IndexPolicy, Params, PointAccessor, Registry, Residency, TableShape, Wanted,
};

use super::attached::{Facts, Index};
use super::build::Ended;
use super::counters::IndexCounters;
use super::sidecar::{self, Sidecar, Unusable};
use super::slot::{Attached, Settled, State};
use crate::error::{ErrorKind, Result};
use crate::event::Event;
use crate::space::Space;
use crate::store::Store;
use crate::table::{TableHandle, UnitBits};

/// The formats of a store, and what came of them.
#[derive(Debug)]
pub(crate) struct Indexing {
    registry: Registry,
    /// For each format of the registry, in its order.
    counters: Vec<Arc<IndexCounters>>,
    /// The policy of keyspaces that have none stored.
    default_policy: IndexPolicy,
    /// Whether it is also that of the others.
    is_of_all: bool,
    next_generation: AtomicU64,
    /// [`Store::index_all_if_read_only`] was called.
    all_begun: AtomicBool,
}

/// A keyspace's policy. Decisions made by another one do not count.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) rules: IndexPolicy,
    generation: u64,
}

impl Policy {
    /// Of a keyspace that was given none yet: no index.
    pub(crate) fn none() -> Self {
        Self { rules: IndexPolicy::sorted_only(), generation: 1 }
    }

    /// Whether it was given.
    pub(crate) fn is_decided(&self) -> bool {
        self.generation > 1
    }

    /// What a decision by this policy for a table in this level is known by; never 0.
    pub(crate) fn decision(&self, level: Level) -> u64 {
        self.generation << 8 | u64::from(level.0)
    }
}

impl Indexing {
    pub(crate) fn new(registry: Registry, default_policy: IndexPolicy) -> Self {
        let counters = registry.formats().map(|_| Arc::default()).collect();
        Self {
            registry,
            counters,
            default_policy,
            is_of_all: false,
            next_generation: AtomicU64::new(2),
            all_begun: AtomicBool::new(false),
        }
    }

    /// One policy for all keyspaces, whatever they have stored.
    pub(crate) fn of_all(registry: Registry, policy: IndexPolicy) -> Self {
        Self { is_of_all: true, ..Self::new(registry, policy) }
    }

    /// The rules of a keyspace that has these stored.
    pub(crate) fn rules(&self, stored: Option<&IndexPolicy>) -> IndexPolicy {
        stored.filter(|_| !self.is_of_all).unwrap_or(&self.default_policy).clone()
    }

    /// Bytes of heap: the counters of each format.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (self.counters.len() * size_of::<IndexCounters>()) as u64
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Refuses a policy that names a format that is not registered.
    pub(crate) fn check(&self, rules: &IndexPolicy) -> Result<()> {
        Ok(rules.check(&self.registry)?)
    }

    /// A policy by which nothing was decided yet.
    pub(crate) fn policy(&self, rules: IndexPolicy) -> Policy {
        Policy { rules, generation: self.next_generation.fetch_add(1, Ordering::Relaxed) }
    }

    /// The formats by name, with their counters.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (&str, &Arc<IndexCounters>)> {
        self.registry.formats().map(|format| format.name()).zip(&self.counters)
    }

    /// What a table has where this format is wanted and not there.
    pub(super) fn missing(&self, name: &str) -> Option<Attached> {
        self.counters(name).cloned().map(Attached::Missing)
    }

    fn counters(&self, name: &str) -> Option<&Arc<IndexCounters>> {
        self.counted().find(|(format, _)| *format == name).map(|(_, counters)| counters)
    }
}

/// A format that was asked for, and what there is of it beside the table.
struct Provided {
    format: Arc<dyn AccessorFormat>,
    sidecar: Option<Sidecar>,
    state: State,
}

impl Store {
    /// Attaches the indexes that there are, of a store that has no background for it: once, when the
    /// first table is read or somebody asks for them.
    pub(crate) fn index_all_if_read_only(&self) {
        if !self.read_only || self.indexing.all_begun.swap(true, Ordering::Relaxed) {
            return;
        }
        for space in self.spaces() {
            let view = space.view_owned();
            // One that was closed meanwhile needs none.
            let _ = view.tables().try_for_each(|table| self.index_table(&space, table));
        }
    }

    /// Sees to it that a table has the index that its keyspace's policy wants, and attaches it.
    ///
    /// # Errors
    /// Only that the store was closed: a table without an index is read all the same, so what went
    /// wrong is a reason and an event.
    pub(crate) fn index_table(&self, space: &Space, table: &TableHandle) -> Result<()> {
        let decision = space.policy().decision(table.meta.level);
        match self.try_index_table(space, table) {
            Err(error) if error.kind() != ErrorKind::Closed => {
                self.listener.tell(|| Event::BackgroundError { message: error.to_string() });
                let (reason, failed) = (error.to_string(), Some(error.kind()));
                let settled = Settled { reason, failed, ..table.index().settled() };
                table.index().settle(decision, settled);
                Ok(())
            }
            done => done,
        }
    }

    /// The same.
    ///
    /// # Errors
    /// Also the system's, and damage of the table; nothing has been decided then.
    pub(super) fn try_index_table(&self, space: &Space, table: &TableHandle) -> Result<()> {
        let policy = space.policy();
        // A format of somebody else that panics has no index; its table is not tried for ever.
        let decided = catch_unwind(AssertUnwindSafe(|| self.decide(&policy, table)));
        let settled = decided.unwrap_or_else(|_| {
            let reason = "an index format panicked".to_owned();
            self.listener.tell(|| Event::BackgroundError { message: reason.clone() });
            Ok(Settled { reason, ..table.index().settled() })
        })?;
        table.index().settle(policy.decision(table.meta.level), settled);
        Ok(())
    }

    fn decide(&self, policy: &Policy, table: &TableHandle) -> Result<Settled> {
        // From the manifest: a table that needs no index is not opened.
        let wanted = policy.rules.wanted(&shape_of(&table.meta));
        let mut provided = Vec::new();
        for (name, params) in &wanted.formats {
            if let Some(format) = self.indexing.registry.by_name(name) {
                provided.push(self.provide(table, format, params)?);
            }
        }
        let (attached, reason) = self.admit(table, &wanted, &provided)?;
        table.attach(attached);
        let mut sidecars = table.index().settled().sidecars;
        for one in &provided {
            let name = one.format.name();
            sidecars.retain(|(other, _)| other != name);
            sidecars.extend(one.sidecar.as_ref().map(|sidecar| (name.to_owned(), sidecar.bytes)));
        }
        let states = provided.into_iter().map(|one| (one.format.name().to_owned(), one.state)).collect();
        let refuted = table.index().settled().refuted;
        Ok(Settled { rule: wanted.rule_text, reason, sidecars, states, refuted, failed: None })
    }

    /// Opens the sidecar of a format, and builds it where there is none to use.
    fn provide(
        &self,
        table: &TableHandle,
        format: &Arc<dyn AccessorFormat>,
        params: &Params,
    ) -> Result<Provided> {
        let path = table.path().with_extension(format.name());
        let owner = sidecar::header(&**format, self.id, &table.meta);
        let refuted = table.index().settled().refuted;
        if refuted > 1 {
            let reason = "it was wrong about a key, twice".to_owned();
            return Ok(Provided { format: format.clone(), sidecar: None, state: State::Declined(reason) });
        }
        let open = || Sidecar::open(&*self.storage, &path, &**format, &owner);
        let found = match open()? {
            // What was wrong about a key is not believed again.
            Ok(_) if refuted > 0 => Err(Unusable::Missing),
            // Kiban's own formats check a map's parts as they are read: who cannot build a better one
            // reads no more than that.
            Ok(sidecar) if self.read_only && !self.indexing.registry.is_plugin(format.id()) => Ok(sidecar),
            // Damage anywhere in it is found now: what is attached is whole.
            Ok(sidecar) => match self.checked_copy(&sidecar)? {
                Ok(_) => Ok(sidecar),
                Err(error) => Err(Unusable::Refused(error)),
            },
            Err(unusable) => Err(unusable),
        };
        if let Err(Unusable::Refused(error)) = &found {
            self.tell_refused(&path, error);
        }
        let done = |sidecar, state| Ok(Provided { format: format.clone(), sidecar, state });
        match found {
            Ok(sidecar) => return done(Some(sidecar), State::Kept),
            Err(_) if self.read_only => return done(None, State::Missing),
            Err(_) => {}
        }
        match self.build_sidecar(table, &**format, params)? {
            Ended::Declined(reason) => done(None, State::Declined(reason)),
            Ended::Built(bytes) => {
                self.listener.tell(|| Event::AccessorBuilt { file: path.clone(), bytes });
                done(open()?.ok(), State::Built)
            }
        }
    }

    fn tell_refused(&self, file: &Path, error: &FormatError) {
        self.listener.tell(|| Event::AccessorRefused { file: file.to_owned(), reason: error.to_string() });
    }

    /// A copy that goes again, counted as long as it is there.
    fn checked_copy(&self, sidecar: &Sidecar) -> Result<std::result::Result<(), FormatError>> {
        let mut memory = self.tables.building.share();
        memory.set(sidecar.bytes);
        Ok(sidecar.resident()?.map(drop))
    }

    /// Chooses where the index is kept: the first wanted one that there is, as the budget allows.
    fn admit(
        &self,
        table: &TableHandle,
        wanted: &Wanted,
        provided: &[Provided],
    ) -> Result<(Option<Attached>, String)> {
        let Some(first) = provided.first() else {
            return Ok((None, "no index is wanted: its fences answer".to_owned()));
        };
        let Some((one, sidecar)) = provided.iter().find_map(|one| Some((one, one.sidecar.as_ref()?))) else {
            let name = first.format.name();
            let reason = match &first.state {
                State::Declined(reason) => format!("{name} declined: {reason}"),
                _ => format!("{name} is missing"),
            };
            return Ok((self.indexing.missing(name), reason));
        };
        let name = one.format.name();
        match self.open_index(table, &one.format, sidecar, wanted.residency)? {
            Ok((index, reason)) => Ok((Some(Attached::Index(index)), reason)),
            Err(reason) => Ok((self.indexing.missing(name), reason)),
        }
    }

    /// Opens an index where it is asked to be kept, or where there is room. `Err`: why there is none.
    pub(super) fn open_index(
        &self,
        table: &TableHandle,
        format: &Arc<dyn AccessorFormat>,
        sidecar: &Sidecar,
        asked: Residency,
    ) -> Result<std::result::Result<(Index, String), String>> {
        let name = format.name();
        let refused = |error: FormatError| {
            self.tell_refused(&table.path().with_extension(name), &error);
            format!("{name} refused: {error}")
        };
        let mebibytes = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
        if asked == Residency::Off {
            return Ok(Err(format!("{name} off: the policy says so")));
        }
        let may_map = asked == Residency::Mapped || self.tables.maps(table.meta.level);
        // Few read-only opens live long enough to pay for a copy.
        let is_copied =
            asked != Residency::Mapped && (asked == Residency::Resident || !(self.read_only && may_map));
        let reserved = if is_copied { self.tables.budget.try_reserve(sidecar.bytes) } else { None };
        let (file, residency, map_bytes) = match &reserved {
            Some(_) => match sidecar.resident()? {
                Ok(file) => (file, Residency::Resident, 0),
                Err(error) => return Ok(Err(refused(error))),
            },
            None if may_map => match sidecar.mapped(self.tables.read_ahead) {
                Ok((file, map_bytes)) => (file, Residency::Mapped, map_bytes),
                Err(error) => return Ok(Err(format!("{name} off: it cannot be mapped: {error}"))),
            },
            None => {
                let left = self.tables.budget.reservable_bytes();
                let (asked, left) = (mebibytes(sidecar.bytes), mebibytes(left));
                return Ok(Err(format!("{name} off: {asked} asked, {left} left")));
            }
        };
        let accessor = match format.open(file, residency) {
            Ok(accessor) => accessor,
            Err(error) => return Ok(Err(refused(error))),
        };
        let word = if residency == Residency::Resident { "resident" } else { "mapped" };
        let reason = format!("{name} {word}: {}", mebibytes(sidecar.bytes));
        let is_plugin = self.indexing.registry.is_plugin(format.id());
        // What the format keeps beside the file's bytes counts as well.
        let units = table.meta.bytes.div_ceil(UNIT_BYTES as u64);
        let proven = is_plugin.then(|| UnitBits::new(units));
        let proven_bytes = proven.as_ref().map_or(0, UnitBits::heap_bytes);
        let beside =
            (accessor.resident_bytes() as u64).saturating_sub(reserved.as_ref().map_or(0, |r| r.bytes()));
        let extra = beside + (map_bytes + proven_bytes) as u64;
        let facts = Facts {
            name: name.to_owned(),
            keeps_keys: format.keeps_keys(),
            residency,
            bytes: sidecar.bytes,
            reserved,
            extra: (extra > 0).then(|| self.tables.budget.reserve(extra)),
            counters: self.indexing.counters(name).cloned().unwrap_or_default(),
            check_every: if is_plugin { self.settings.absent_check_every } else { 0 },
            proven,
        };
        Ok(Ok((Index::new(accessor, facts), reason)))
    }
}

/// Whether all was decided for a keyspace's tables by the policy that it has.
pub(super) fn is_settled(space: &Space) -> bool {
    let policy = space.policy();
    let is_settled = |table: &Arc<TableHandle>| table.index().is_settled(policy.decision(table.meta.level));
    space.is_dropped() || space.view().tables().all(is_settled)
}

/// What the manifest knows of a table's shape.
pub(super) fn shape_of(meta: &TableMeta) -> TableShape {
    let mut shape = TableShape::default();
    shape.level = meta.level;
    shape.table_bytes = meta.bytes;
    shape.entries = meta.entries;
    shape.keys = meta.keys;
    shape.tombstones = meta.tombstones;
    shape
}
