//! The write path: check, log, memtable, publish; then sync, shared by all who wait.
//!
//! One lock is held from the log append to the publishing of the sequence, so the log, the
//! memtables and what readers see have one order. The sync happens outside it: while one
//! caller syncs, others append, and the next sync covers them all.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use kiban_formats::log::LogOpKind;
use kiban_formats::{Kind, SeqNo, payload_crc};

use crate::batch::WriteBatch;
use crate::error::{Error, ErrorKind, Result};
use crate::limits;
use crate::log::Journal;
use crate::settings::Durability;
use crate::source::{EntryRef, Found, Wants};
use crate::space::Space;
use crate::store::Store;

/// What the commit lock guards.
#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) journal: Journal,
    /// The sequence of the next operation.
    pub(crate) next_seq: SeqNo,
    /// The manifest is durable: log records may name its keyspaces. Not yet so after an open, and no
    /// more after an edit that failed to take one away.
    pub(crate) grounded: bool,
    /// Why writes are refused, after a failed log write or sync.
    halted: Option<Error>,
}

impl Commit {
    pub(crate) fn new(journal: Journal, next_seq: SeqNo) -> Self {
        Self { journal, next_seq, grounded: false, halted: None }
    }

    /// The greatest sequence given out.
    pub(crate) fn last_seq(&self) -> SeqNo {
        SeqNo(self.next_seq.0 - 1)
    }

    pub(crate) fn check_halted(&self) -> Result<()> {
        match &self.halted {
            Some(cause) => Err(halted_error(cause)),
            None => Ok(()),
        }
    }
}

fn halted_error(cause: &Error) -> Error {
    let message = format!("writes are halted, the store must be reopened: {cause}");
    Error::caused(ErrorKind::WritesHalted, message, cause.clone())
}

/// One put or delete, borrowed from the caller: it goes to the log without a copy.
#[derive(Debug)]
pub(crate) struct Operation<'a> {
    key: &'a [u8],
    /// `None` deletes.
    value: Option<&'a [u8]>,
    payload_crc: u32,
}

impl<'a> Operation<'a> {
    pub(crate) fn put(key: &'a [u8], value: &'a [u8]) -> Result<Self> {
        limits::check_key(key)?;
        limits::check_value(value)?;
        Ok(Self { key, value: Some(value), payload_crc: payload_crc(key, value) })
    }

    pub(crate) fn delete(key: &'a [u8]) -> Result<Self> {
        limits::check_key(key)?;
        Ok(Self { key, value: None, payload_crc: payload_crc(key, &[]) })
    }
}

impl Store {
    /// Writes one operation.
    pub(crate) fn write_one(
        &self,
        space: &Arc<Space>,
        op: &Operation<'_>,
        durability: Durability,
    ) -> Result<()> {
        self.check_writable()?;
        self.check_space(space)?;
        let mut commit = self.lock_for_write(std::slice::from_ref(space))?;
        self.check_space(space)?;
        let base = commit.next_seq;
        self.log(&mut commit, 1, std::slice::from_ref(space), |journal| {
            journal.append_one(base, space.id, op.key, op.value)
        })?;
        let (kind, value) = op.value.map_or((Kind::Delete, &[][..]), |value| (Kind::Put, value));
        let payload_crc = op.payload_crc;
        self.remember(space, EntryRef { key: op.key, seq: base, kind, value, payload_crc });
        self.publish(commit, 1, std::slice::from_ref(space), durability)
    }

    /// Writes a batch, all or nothing.
    pub(crate) fn write_batch(&self, batch: &WriteBatch, durability: Durability) -> Result<()> {
        self.check_writable()?;
        batch.check_limits()?;
        for space in batch.spaces() {
            self.check_space(space)?;
        }
        if batch.is_empty() && batch.expectations().is_empty() {
            return Ok(());
        }
        // Expectations read tables under the commit lock, which a listener may want.
        let _held_back = (!batch.expectations().is_empty()).then(|| self.tables.notices.hold_back());
        let mut commit = self.lock_for_write(batch.spaces())?;
        for space in batch.spaces() {
            self.check_space(space)?;
        }
        self.check_expectations(batch)?;
        if batch.is_empty() {
            return Ok(());
        }
        let base = commit.next_seq;
        let count = batch.len() as u64;
        self.log(&mut commit, count, batch.spaces(), |journal| journal.append_batch(base, batch.ops()))?;
        self.remember_batch(base, batch);
        self.publish(commit, count, batch.spaces(), durability)
    }

    pub(crate) fn check_space(&self, space: &Space) -> Result<()> {
        if space.store != self.uid {
            return Err(Error::invalid(format!("keyspace {:?}: the handle is of another store", space.name)));
        }
        if space.is_dropped() {
            return Err(Error::new(ErrorKind::Closed, format!("keyspace {:?} was dropped", space.name)));
        }
        Ok(())
    }

    fn check_expectations(&self, batch: &WriteBatch) -> Result<()> {
        for expected in batch.expectations() {
            let view = expected.space.view();
            let probe = self.probe(&expected.key);
            let found = view
                .at(probe.snapshot)
                .map_or(Ok(Found::Absent), |view| view.get(&self.tables, &probe, Wants::Value))?;
            let holds = match (&found, &expected.value) {
                (Found::Value(value), Some(expected)) => value == expected,
                (Found::Absent | Found::Deleted, None) => true,
                _ => false,
            };
            if !holds {
                let key = expected.key.escape_ascii();
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!(
                        "keyspace {:?}, key b\"{key}\": the value is not the expected one",
                        expected.space.name
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Refuses all writes from now on: nothing is known of what the log holds. Writers that wait
    /// for room are told.
    pub(crate) fn halt(&self, commit: &mut Commit, cause: &Error) -> Error {
        let cause = commit.halted.get_or_insert_with(|| cause.clone()).clone();
        self.room.notify_all();
        halted_error(&cause)
    }

    /// Appends to the log, halting all writes if that fails.
    pub(crate) fn log(
        &self,
        commit: &mut Commit,
        count: u64,
        spaces: &[Arc<Space>],
        append: impl FnOnce(&mut Journal) -> Result<()>,
    ) -> Result<()> {
        if commit.next_seq.0 + count > SeqNo::MAX.0 {
            return Err(Error::invalid("sequence: all 2^56 sequence numbers of this store are used"));
        }
        let first = commit.next_seq;
        let last = SeqNo(first.0 + count - 1);
        if commit.journal.prepare(first, || self.new_file_no())? {
            self.seal_what_keeps_logs(&commit.journal);
        }
        let appended = append(&mut commit.journal);
        appended.map_err(|cause| self.halt(commit, &cause))?;
        for space in spaces {
            commit.journal.note(space.id, last);
        }
        Ok(())
    }

    fn remember_batch(&self, base: SeqNo, batch: &WriteBatch) {
        for (ordinal, (op, facts)) in batch.ops().iter().zip(batch.facts()).enumerate() {
            let space = &batch.spaces()[facts.space as usize];
            let kind = match op.kind {
                LogOpKind::Put => Kind::Put,
                _ => Kind::Delete,
            };
            let seq = SeqNo(base.0 + ordinal as u64);
            let payload_crc = facts.payload_crc;
            self.remember(space, EntryRef { key: op.key, seq, kind, value: op.value, payload_crc });
        }
    }

    /// Inserts into the active memtable. Under the commit lock, or during recovery.
    pub(crate) fn remember(&self, space: &Space, entry: EntryRef<'_>) {
        let view = space.view();
        let before = view.active.bytes();
        view.active.insert(entry);
        self.memtable_bytes.fetch_add(view.active.bytes() - before, Ordering::Relaxed);
    }

    /// Shows the operations to readers, seals what is full, and waits for the sync if asked to.
    fn publish(
        &self,
        mut commit: MutexGuard<'_, Commit>,
        count: u64,
        spaces: &[Arc<Space>],
        durability: Durability,
    ) -> Result<()> {
        commit.next_seq = SeqNo(commit.next_seq.0 + count);
        let last = commit.last_seq();
        self.visible.store(last.0, Ordering::Release);
        let full =
            |space: &&Arc<Space>| space.view().active.bytes() >= space.settings().memtable_seal_bytes();
        let sealed: Vec<&Arc<Space>> = spaces.iter().filter(full).collect();
        sealed.iter().for_each(|space| space.seal());
        drop(commit);
        sealed.iter().for_each(|space| self.upkeep.wake_for(space));
        match durability {
            Durability::Buffered => Ok(()),
            Durability::Sync => self.sync_through(last),
        }
    }
}
