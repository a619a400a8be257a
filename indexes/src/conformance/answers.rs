//! What an index of a whole file answers.

use std::thread;

use super::judge::Judge;
use super::report::Findings;
use super::table::{Ask, Table};
use crate::accessor::Accessor;
use crate::contract::{Location, PointAccessor, Presence, Probe};

/// Batches of every length up to this one are asked.
const BATCH_MAX: usize = 70;
/// And of these.
const LONG_BATCHES: [usize; 3] = [128, 1_000, usize::MAX];
/// Absent keys from which on it is looked whether most are answered as absent.
const ABSENT_MIN: usize = 100;
const THREADS: usize = 3;
const ASKS_A_THREAD: usize = 5_000;

/// A question, as an index is asked it.
pub(super) fn probe<'t>(ask: &Ask<'t>) -> Probe<'t> {
    Probe::new(ask.bytes, ask.hash, ask.snapshot)
}

/// An index under check.
pub(super) struct Opened<'t> {
    pub(super) accessor: Accessor,
    pub(super) judge: Judge<'t>,
    /// Keys that its builder says it finds.
    pub(super) keys: u64,
    /// The table, and how the file was opened.
    pub(super) subject: String,
}

impl Opened<'_> {
    /// All of this module.
    pub(super) fn check(self, findings: &mut Findings) {
        let Self { accessor, judge, keys, subject } = self;
        let asks = judge.table.asks();
        let first = findings.check("promises", &subject, || {
            asks.iter().map(|ask| promised(&accessor, &judge, ask)).collect::<Result<Vec<_>, _>>()
        });
        let Some(said) = first else { return };
        findings.check("places", &subject, || {
            asks.iter().zip(&said).try_for_each(|(ask, said)| judge.place(ask, *said))
        });
        findings.check("presence", &subject, || {
            asks.iter().try_for_each(|ask| judge.presence(ask, accessor.presence(&probe(ask))))
        });
        findings.check("keys", &subject, || finds_as_many(&accessor, judge.table, keys));
        findings.check("rejects_absent", &subject, || rejects(&accessor, judge.table));
        findings.check("locate_many", &subject, || many(&accessor, &asks, &said));
        findings.check("prefetch", &subject, || {
            asks.iter().for_each(|ask| accessor.prefetch(ask.hash));
            same(&accessor, &asks, &said)
        });
        findings.check("threads", &subject, || from_threads(&accessor, &asks, &said));
        findings.check("plugin", &subject, || forwarded(accessor, &asks, &said));
    }
}

/// What is said of a key, if it breaks no promise.
fn promised(accessor: &Accessor, judge: &Judge<'_>, ask: &Ask<'_>) -> Result<Location, String> {
    let said = accessor.locate(&probe(ask));
    judge.promise(ask, said).map(|()| said)
}

/// The answers are these.
fn same(accessor: &dyn PointAccessor, asks: &[Ask<'_>], said: &[Location]) -> Result<(), String> {
    let again: Vec<_> = asks.iter().map(|ask| accessor.locate(&probe(ask))).collect();
    equal(&again, said)
}

fn equal<T: PartialEq + std::fmt::Debug>(found: &[T], expected: &[T]) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!("{} answers to {} questions", found.len(), expected.len()));
    }
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        None => Ok(()),
        Some(no) => Err(format!("answer {no}: {:?}, before it was {:?}", found[no], expected[no])),
    }
}

/// Of the table's keys it knows as many as were said at the end of the build.
fn finds_as_many(accessor: &Accessor, table: &Table, keys: u64) -> Result<(), String> {
    let known = |ask: &&Ask<'_>| accessor.locate(&probe(ask)) != Location::Unknown;
    let known = table.newest().iter().filter(known).count() as u64;
    match known == keys {
        true => Ok(()),
        false => Err(format!("it knows {known} keys, its builder said {keys}")),
    }
}

/// One that says that it rejects absent keys rejects most of them.
fn rejects(accessor: &Accessor, table: &Table) -> Result<(), String> {
    let absent = table.absent();
    let own: std::collections::HashSet<u64> = table.newest().iter().map(|ask| ask.hash).collect();
    // What shares its hash with a key that is there cannot be told from it.
    let absent: Vec<_> = absent.iter().filter(|ask| !own.contains(&ask.hash)).collect();
    let rejected = absent.iter().filter(|ask| accessor.locate(&probe(ask)) == Location::Absent).count();
    match accessor.rejects_absent() && absent.len() >= ABSENT_MIN && rejected * 2 < absent.len() {
        true => Err(format!("of {} absent keys {rejected} are rejected", absent.len())),
        false => Ok(()),
    }
}

/// Many at once are answered as one by one, whatever stood in the place of the answers.
fn many(accessor: &dyn PointAccessor, asks: &[Ask<'_>], said: &[Location]) -> Result<(), String> {
    let probes: Vec<_> = asks.iter().map(probe).collect();
    for batch in (0..=BATCH_MAX).chain(LONG_BATCHES) {
        let batch = batch.min(probes.len());
        // Not the same start for all lengths.
        let start = (batch * 37).min(probes.len() - batch);
        let range = start..start + batch;
        for before in [Location::Unknown, Location::Absent, Location::Deleted] {
            let mut out = vec![before; batch];
            accessor.locate_many(&probes[range.clone()], &mut out);
            equal(&out, &said[range.clone()]).map_err(|what| format!("{batch} at once: {what}"))?;
        }
    }
    Ok(())
}

fn from_threads(accessor: &Accessor, asks: &[Ask<'_>], said: &[Location]) -> Result<(), String> {
    let (asks, said) = (
        &asks[asks.len().saturating_sub(ASKS_A_THREAD)..],
        &said[said.len().saturating_sub(ASKS_A_THREAD)..],
    );
    thread::scope(|scope| {
        let ask = || scope.spawn(|| same(accessor, asks, said));
        let threads: Vec<_> = (0..THREADS).map(|_| ask()).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err("it panicked in a thread of its own".to_owned()))
        })
    })
}

/// Through the door for formats of somebody else everything is answered alike.
fn forwarded(accessor: Accessor, asks: &[Ask<'_>], said: &[Location]) -> Result<(), String> {
    let presence = |accessor: &Accessor| -> Vec<Presence> {
        asks.iter().map(|ask| accessor.presence(&probe(ask))).collect()
    };
    let known = presence(&accessor);
    let facts = (accessor.resident_bytes(), accessor.rejects_absent());
    let plugin = Accessor::Plugin(Box::new(accessor));
    same(&plugin, asks, said)?;
    many(&plugin, asks, said)?;
    equal(&presence(&plugin), &known)?;
    let again = (plugin.resident_bytes(), plugin.rejects_absent());
    equal(&[again], &[facts])
}
