//! The part of the conformance kit that needs a store.

mod damage;
mod model;
mod setup;

use std::path::Path;
use std::sync::Arc;
use std::thread;

use kiban_indexes::AccessorFormat;
use kiban_indexes::conformance::{Failures, Findings, Liar, Report};

use crate::storage::{FsStorage, MemStorage, Storage};
use model::Model;
use setup::{Place, Setup, TempDir};

/// Seeds of the liars, and how often they lie: always, often, seldom.
const LIARS: [(u64, u64); 6] = [(1, 1), (2, 1), (3, 2), (4, 7), (5, 40), (6, 300)];

/// Checks a format inside of real stores, in memory and in a temporary directory: small tables, many
/// versions, snapshots, deletes, ingested tables, jumbo values, absent neighbours, keys that begin with others.
///
/// | check | what holds |
/// |---|---|
/// | `sorted` | without the index the answers are those of an ordered map |
/// | `answers` | with it too: `get`, `contains`, `multi_get`, at every snapshot, resident and mapped, also after another open |
/// | `used` | it was asked, found keys, and was never wrong about one |
/// | `liar` | nor does an answer change where a [`Liar`] wraps it |
/// | `promise breaker` | where every promise is checked, not even one that breaks them changes an answer |
/// | `damage` | a sidecar with any bit flipped, cut anywhere, another's, of a newer version, or gone: right answers, resident and mapped; where a copy is made, told once and counted as fallbacks |
/// | `rebuild` | a sidecar that is damaged, of another table, or gone is built anew, byte for byte |
///
/// The tables have some hundred keys, and a format is expected to index one of 300.
///
/// # Errors
/// The checks that failed, and what was found.
pub fn check_in_store(format: Arc<dyn AccessorFormat>) -> std::result::Result<Report, Failures> {
    let mut findings = Findings::default();
    for is_mapped in [false, true] {
        let subject = if is_mapped { "mapped" } else { "resident" };
        findings.check("sorted", subject, || answers(&Setup::new(&in_memory(), None, is_mapped)));
        findings.check("answers", subject, || {
            answers(&Setup::new(&in_memory(), Some(format.clone()), is_mapped))
        });
        findings.check("used", subject, || used(&Setup::new(&in_memory(), Some(format.clone()), is_mapped)));
        for (seed, one_in) in LIARS {
            let subject = format!("{subject}, one in {one_in}, seed {seed}");
            findings.check("liar", &subject, || lies(&format, seed, one_in, is_mapped));
        }
        findings.check("promise breaker", subject, || breaks_promises(&format, is_mapped));
        findings.check("damage", subject, || damage::any_bit_or_cut(&format, is_mapped));
    }
    findings.check("answers", "files", || in_files(&format));
    findings.check("rebuild", "several tables", || damage::built_anew(&format));
    findings.finish()
}

fn in_memory() -> Place {
    Place { storage: Arc::new(MemStorage::new(1)), dir: Path::new("/conformance").to_owned() }
}

/// All answers while a store is filled, when it is at rest, and when it was opened again.
fn answers(setup: &Setup) -> std::result::Result<(), String> {
    let mut model = Model::default();
    let db = setup.open()?;
    let snapshots = model.fill(&db)?;
    db.wait_idle().map_err(|error| error.to_string())?;
    model.check(&db, &snapshots)?;
    db.default_keyspace().compact().map_err(|error| error.to_string())?;
    db.wait_idle().map_err(|error| error.to_string())?;
    model.check(&db, &snapshots)?;
    drop(snapshots);
    db.close().map_err(|error| error.to_string())?;
    drop(db);
    let db = setup.open()?;
    // While sidecars that are gone or were wrong are being built anew.
    thread::scope(|scope| {
        let readers = [(); 2].map(|()| scope.spawn(|| model.check(&db, &[])));
        readers.into_iter().try_for_each(|reader| {
            reader.join().unwrap_or_else(|_| Err("a read panicked in a thread of its own".to_owned()))
        })
    })?;
    db.wait_idle().map_err(|error| error.to_string())?;
    model.check(&db, &[])
}

/// It was asked, and right.
fn used(setup: &Setup) -> std::result::Result<(), String> {
    let mut model = Model::default();
    let db = setup.open()?;
    let snapshots = model.fill(&db)?;
    db.wait_idle().map_err(|error| error.to_string())?;
    model.check(&db, &snapshots)?;
    let counts = db.stats().accessors.get(setup.name()).cloned().unwrap_or_default();
    let explained = db.default_keyspace().explain().map_err(|error| error.to_string())?;
    let without = explained.iter().find(|table| table.active != setup.name());
    match (counts.refuted, counts.hits, without) {
        (0, 1.., None) => Ok(()),
        (0, 1.., Some(table)) if table.reason.contains("declined") => Ok(()),
        (0, 1.., Some(table)) => Err(format!("a table has no such index: {}", table.reason)),
        _ => Err(format!("{counts:?}; {}", explained.first().map_or("no table", |table| &table.reason))),
    }
}

fn lies(
    format: &Arc<dyn AccessorFormat>,
    seed: u64,
    one_in: u64,
    is_mapped: bool,
) -> std::result::Result<(), String> {
    let liar = Arc::new(Liar::new(format.clone(), seed).one_in(one_in));
    answers(&Setup::new(&in_memory(), Some(liar.clone()), is_mapped))?;
    if liar.told() == 0 { Err("it was not asked".to_owned()) } else { Ok(()) }
}

fn breaks_promises(format: &Arc<dyn AccessorFormat>, is_mapped: bool) -> std::result::Result<(), String> {
    let liar = Arc::new(Liar::new(format.clone(), 9).one_in(3).breaking_promises());
    let setup = Setup { absent_check_every: 1, ..Setup::new(&in_memory(), Some(liar.clone()), is_mapped) };
    answers(&setup)?;
    if liar.told() == 0 { Err("it was not asked".to_owned()) } else { Ok(()) }
}

/// The same in a directory of the file system, through maps and by reads.
fn in_files(format: &Arc<dyn AccessorFormat>) -> std::result::Result<(), String> {
    for is_mapped in [false, true] {
        let dir = TempDir::new().map_err(|error| error.to_string())?;
        let storage: Arc<dyn Storage> = Arc::new(FsStorage::new());
        let place = Place { storage, dir: dir.path().to_owned() };
        answers(&Setup::new(&place, Some(format.clone()), is_mapped))?;
    }
    Ok(())
}
