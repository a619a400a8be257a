//! Files that are not as they were written: what is said of them does no harm.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kiban_formats::accessor_file::AccessorHeader;

use super::answers::probe;
use super::builds::Maker;
use super::judge::Judge;
use super::keys::mix;
use super::sidecar;
use super::table::{Ask, Table};
use crate::accessor::Accessor;
use crate::contract::{Location, PointAccessor, Probe, Residency};

/// Bits that are flipped in one file, at most: all of a small one.
const FLIPS_MAX: usize = 10_000;
/// Bytes that are changed in a section whose checksum is made anew, at most.
const FORGED_MAX: usize = 200;
/// Keys that are looked for after each change, at most.
const ASKS_MAX: usize = 150;

/// A whole file of a table, and what can be done to it.
pub(super) struct Damage<'a> {
    maker: Maker<'a>,
    judge: Judge<'a>,
    file: &'a [u8],
    /// The questions to ask of damaged files.
    asks: Vec<Ask<'a>>,
    probes: Vec<Probe<'a>>,
}

impl<'a> Damage<'a> {
    pub(super) fn new(maker: Maker<'a>, table: &'a Table, file: &'a [u8]) -> Self {
        let judge = Judge { table, keeps_keys: maker.format.keeps_keys() };
        let asks = table.asks();
        let every = asks.len() / ASKS_MAX + 1;
        let asks: Vec<_> = asks.into_iter().step_by(every).collect();
        let probes = asks.iter().map(probe).collect();
        Self { maker, judge, file, asks, probes }
    }

    /// With any bit flipped it does not open, or no promise is broken.
    pub(super) fn flips(&self) -> Result<(), String> {
        let mut file = self.file.to_vec();
        let bits = file.len() * 8;
        // An odd number of bits each time, so that all bits of a byte get their turn.
        let every = (bits / FLIPS_MAX + 1) | 1;
        for bit in (0..bits).step_by(every) {
            file[bit / 8] ^= 1 << (bit % 8);
            if let Ok(accessor) = sidecar::open(self.maker.format, &file, Residency::Mapped) {
                self.harmless(&accessor).map_err(|what| format!("bit {bit} flipped: {what}"))?;
            }
            file[bit / 8] ^= 1 << (bit % 8);
        }
        Ok(())
    }

    /// Cut anywhere it does not open, or no promise is broken.
    pub(super) fn cuts(&self) -> Result<(), String> {
        let file = self.file;
        for cut in (0..file.len()).step_by(file.len() / 2_000 + 1) {
            if let Ok(accessor) = sidecar::open(self.maker.format, &file[..cut], Residency::Mapped) {
                self.harmless(&accessor).map_err(|what| format!("cut at {cut}: {what}"))?;
            }
        }
        Ok(())
    }

    /// Sections with any contents, and the checksums of these, may be answered in any way, but never
    /// by a panic.
    pub(super) fn forgeries(&self) -> Result<(), String> {
        let header = sidecar::header(self.maker.format, self.judge.table.keys.len() as u64);
        let whole = sidecar::sections(self.file).map_err(|error| error.to_string())?;
        for no in 0..whole.len() {
            let mut sections = whole.clone();
            sections[no].0 = "other".to_owned();
            self.forge(&header, &sections);
            sections.remove(no);
            self.forge(&header, &sections);
            for contents in contents(&whole[no].1) {
                sections = whole.clone();
                sections[no].1 = contents;
                self.forge(&header, &sections);
            }
        }
        Ok(())
    }

    fn forge(&self, header: &AccessorHeader, sections: &[(String, Vec<u8>)]) {
        let file = sidecar::assemble(header, sections);
        for residency in [Residency::Resident, Residency::Mapped] {
            if let Ok(accessor) = sidecar::open(self.maker.format, &file, residency) {
                self.ask_all(&accessor);
            }
        }
        // What does not decode is not described; that is an error like any other.
        let _ = self.maker.describes(&file);
    }

    /// Where the bytes under a map change after all of them were good, nobody can know; but nothing
    /// panics.
    pub(super) fn changes(&self) -> Result<(), String> {
        let file = self.file;
        let noise = (0..file.len() as u64).map(|at| mix(50, at) as u8).collect();
        for later in [vec![0; file.len()], vec![0xFF; file.len()], noise] {
            let map =
                Arc::new(ChangingMap { now: file.to_vec(), later, has_changed: AtomicBool::new(false) });
            let read = sidecar::read(file, map.clone()).map_err(|error| error.to_string())?;
            let opened = self.maker.format.open(read, Residency::Mapped);
            let accessor = opened.map_err(|error| error.to_string())?;
            self.ask_all(&accessor);
            map.has_changed.store(true, Ordering::Relaxed);
            self.ask_all(&accessor);
        }
        Ok(())
    }

    /// Asks everything in every way.
    fn ask_all(&self, accessor: &Accessor) {
        for probe in &self.probes {
            accessor.prefetch(probe.hash);
            accessor.locate(probe);
            accessor.presence(probe);
        }
        accessor.locate_many(&self.probes, &mut vec![Location::Unknown; self.probes.len()]);
        accessor.resident_bytes();
    }

    /// Nothing that it promises is untrue.
    fn harmless(&self, accessor: &Accessor) -> Result<(), String> {
        let mut out = vec![Location::Unknown; self.probes.len()];
        accessor.locate_many(&self.probes, &mut out);
        for ((ask, probe), many) in self.asks.iter().zip(&self.probes).zip(out) {
            self.judge.promise(ask, many)?;
            self.judge.promise(ask, accessor.locate(probe))?;
            self.judge.presence(ask, accessor.presence(probe))?;
        }
        Ok(())
    }
}

/// What can stand in the place of a section.
fn contents(whole: &[u8]) -> Vec<Vec<u8>> {
    let len = whole.len();
    let cuts = [0, 1, 4, 8, 31, 32, len / 2, len.saturating_sub(1)];
    let mut all: Vec<Vec<u8>> =
        cuts.iter().filter(|cut| **cut < len).map(|cut| whole[..*cut].to_vec()).collect();
    all.extend([[whole, &[0; 64]].concat(), vec![0; len], vec![0xFF; len]]);
    // The first bytes, which say what comes, in all ways; of the others some.
    let head = (0..len.min(64)).flat_map(|at| [0x01, 0x80, 0xFF].map(|change| (at, change)));
    let rest = (64..len).step_by(len / FORGED_MAX + 1).map(|at| (at, 1 << (at % 8)));
    all.extend(head.chain(rest).map(|(at, change)| {
        let mut changed = whole.to_vec();
        changed[at] ^= change;
        changed
    }));
    all
}

/// A file that somebody writes to while it is mapped.
struct ChangingMap {
    now: Vec<u8>,
    later: Vec<u8>,
    has_changed: AtomicBool,
}

impl Deref for ChangingMap {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        if self.has_changed.load(Ordering::Relaxed) { &self.later } else { &self.now }
    }
}
