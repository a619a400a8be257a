//! Faults that wait for their operation, and the count of operations they wait by.

use std::collections::BTreeMap;
use std::io;

use rustix::io::Errno;

use crate::storage::random::Random;

/// A kind of operation on the seam.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Op {
    /// `create_dir_all`.
    CreateDir,
    /// `list`.
    List,
    /// `open` and `open_sync`.
    Open,
    /// `create`.
    Create,
    /// `read_at`.
    Read,
    /// `map`.
    Map,
    /// `append`.
    Append,
    /// `reserve`.
    Reserve,
    /// `trim`.
    Trim,
    /// `sync`, of a writer or of a syncer.
    Sync,
    /// `rename` and `rename_dir`.
    Rename,
    /// `link`.
    Link,
    /// `remove` and `remove_dir`.
    Remove,
    /// `sync_dir`.
    SyncDir,
    /// `lock`.
    Lock,
}

/// What a fault does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// The operation fails with EIO and does nothing.
    Eio,
    /// The operation fails with ENOSPC and does nothing.
    NoSpace,
    /// The operation fails with EXDEV, as a link across file systems does.
    CrossesDevices,
    /// An append writes some of its bytes, then fails with ENOSPC. Others: as `Eio`.
    ShortAppend,
    /// A sync fails, and what it should have made durable never will be, though it is read as
    /// before and a later sync succeeds: Linux marks such pages clean. Others: as `Eio`.
    SyncDrops,
    /// The machine stops; the operation has or has not happened, an append in part.
    Crash,
}

/// A fault that waits for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which operations it counts; `None`: all.
    pub op: Option<Op>,
    /// It counts only operations on files, or directories, whose name has this part. A file that
    /// is open keeps the name it was opened by.
    pub name: Option<&'static str>,
    /// It strikes at the n-th of them from now on, counted from 1.
    pub nth: u64,
    /// What it does.
    pub effect: Effect,
    /// It strikes at every later one as well.
    pub sticky: bool,
}

impl Fault {
    /// Strikes once, at the `nth` operation of any kind from now on.
    pub fn at(nth: u64, effect: Effect) -> Self {
        Self { op: None, name: None, nth, effect, sticky: false }
    }

    /// Strikes once, at the `nth` operation of kind `op` from now on.
    pub fn at_op(op: Op, nth: u64, effect: Effect) -> Self {
        Self { op: Some(op), ..Self::at(nth, effect) }
    }

    /// Counts only operations on names that have this part.
    pub fn on(self, part: &'static str) -> Self {
        Self { name: Some(part), ..self }
    }

    /// Goes on striking.
    pub fn for_good(self) -> Self {
        Self { sticky: true, ..self }
    }
}

/// What becomes of an operation.
pub(super) enum Outcome {
    /// It happens.
    Go,
    /// It fails and does nothing.
    Fail(io::Error),
    /// An append: some of it happens, then it fails.
    Short(io::Error),
    /// A sync: it fails and its data are never written.
    Drop(io::Error),
    /// The machine stops, before or after it.
    Crash { error: io::Error, done: bool },
}

impl Outcome {
    /// Does what cannot happen in part.
    pub(super) fn run(self, change: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        match self {
            Self::Go => change(),
            Self::Crash { error, done } => {
                if done {
                    // It may have happened; nobody is there to hear how it went.
                    change().ok();
                }
                Err(error)
            }
            Self::Fail(error) | Self::Short(error) | Self::Drop(error) => Err(error),
        }
    }
}

/// Waiting faults and counted operations.
#[derive(Debug, Default)]
pub(super) struct Faults {
    armed: Vec<Fault>,
    counts: BTreeMap<Op, u64>,
    off: bool,
}

impl Faults {
    pub(super) fn arm(&mut self, fault: Fault) {
        self.armed.push(fault);
    }

    pub(super) fn disarm(&mut self) {
        self.armed.clear();
    }

    pub(super) fn turn_off(&mut self) {
        self.off = true;
    }

    pub(super) fn is_off(&self) -> bool {
        self.off
    }

    pub(super) fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    pub(super) fn count(&self, op: Op) -> u64 {
        self.counts.get(&op).copied().unwrap_or(0)
    }

    pub(super) fn counts(&self) -> BTreeMap<Op, u64> {
        self.counts.clone()
    }

    /// Counts an operation and says what becomes of it.
    pub(super) fn begin(&mut self, op: Op, name: &str, random: &mut Random) -> Outcome {
        if self.off {
            return Outcome::Fail(off_error());
        }
        *self.counts.entry(op).or_default() += 1;
        match self.strike(op, name) {
            None => Outcome::Go,
            Some(Effect::Crash) => {
                self.off = true;
                Outcome::Crash { error: off_error(), done: random.next().is_multiple_of(2) }
            }
            Some(Effect::NoSpace) => Outcome::Fail(Errno::NOSPC.into()),
            Some(Effect::CrossesDevices) => Outcome::Fail(Errno::XDEV.into()),
            Some(Effect::ShortAppend) if op == Op::Append => Outcome::Short(Errno::NOSPC.into()),
            Some(Effect::SyncDrops) if op == Op::Sync => Outcome::Drop(Errno::IO.into()),
            Some(Effect::Eio | Effect::ShortAppend | Effect::SyncDrops) => Outcome::Fail(Errno::IO.into()),
        }
    }

    /// The effect of the first fault that is due. All that count this operation count it.
    fn strike(&mut self, op: Op, name: &str) -> Option<Effect> {
        let mut due = None;
        self.armed.retain_mut(|fault| {
            let counts = fault.op.is_none_or(|counted| counted == op)
                && fault.name.is_none_or(|part| name.contains(part));
            if !counts {
                return true;
            }
            fault.nth = fault.nth.saturating_sub(1);
            if fault.nth > 0 {
                return true;
            }
            due = due.or(Some(fault.effect));
            fault.sticky
        });
        due
    }
}

fn off_error() -> io::Error {
    io::Error::other("the simulated machine is off")
}
