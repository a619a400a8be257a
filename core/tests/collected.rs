//! What indexes need of a table is collected while it is written: the same as a scan shows, and no
//! table waits or fails for it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kiban::accessor::{
    Accessor, AccessorBuilder, AccessorFile, AccessorFormat, Built, Declined, EntryFacts, FormatError,
    FormatId, Kind, Location, Params, Plan, PointAccessor, Probe, Residency, SectionWriter, TableShape,
};
use kiban::storage::{MemStorage, Storage};
use kiban::{Db, IndexPolicy, Settings};

/// What goes wrong with a builder that collects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    None,
    /// At the hundredth entry.
    Panics,
    Declines,
    /// More than there is for all.
    TakesMemory,
    /// Asks to see the entries again.
    WantsAnotherPass,
}

/// The format `recorder`: writes all that it is told of each entry.
#[derive(Debug)]
struct Recorder {
    is_inline: bool,
    trouble: Trouble,
    /// Builders that were begun while their table was written, and those of a scan.
    inline: AtomicU64,
    scans: AtomicU64,
}

impl Recorder {
    fn new(is_inline: bool, trouble: Trouble) -> Arc<Self> {
        Arc::new(Self { is_inline, trouble, inline: AtomicU64::new(0), scans: AtomicU64::new(0) })
    }

    fn begun(&self) -> (u64, u64) {
        (self.inline.load(Ordering::Relaxed), self.scans.load(Ordering::Relaxed))
    }
}

impl AccessorFormat for Recorder {
    fn id(&self) -> FormatId {
        FormatId::of_name("recorder")
    }
    fn name(&self) -> &str {
        "recorder"
    }
    fn plan(&self, _: &TableShape, _: &Params) -> Plan {
        if self.is_inline { Plan::Inline { bytes_per_key: 16 } } else { Plan::Scan }
    }
    fn builder(&self, shape: &TableShape, _: &Params, _: u64) -> Result<Box<dyn AccessorBuilder>, Declined> {
        // Of a table that is not there yet nobody knows how many pages it has.
        let (trouble, begun) = match shape.data_units {
            0 => (self.trouble, &self.inline),
            _ => (Trouble::None, &self.scans),
        };
        begun.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Rows { trouble, rows: Vec::new(), entries: 0 }))
    }
    fn open(&self, _: AccessorFile, _: Residency) -> Result<Accessor, FormatError> {
        Ok(Accessor::Plugin(Box::new(KnowsNothing)))
    }
}

struct Rows {
    trouble: Trouble,
    rows: Vec<u8>,
    entries: u64,
}

impl AccessorBuilder for Rows {
    fn add(&mut self, entry: &EntryFacts<'_>) -> Result<(), Declined> {
        self.entries += 1;
        match self.trouble {
            Trouble::Panics if self.entries == 100 => panic!("a hundred entries are too many"),
            Trouble::Declines if self.entries == 100 => return Err(Declined::new("a hundred")),
            _ => {}
        }
        let value = entry.value.iter().fold(7_u64, |sum, byte| sum.wrapping_mul(31) + u64::from(*byte));
        let numbers = [entry.hash, entry.seq.0, value, entry.value.len() as u64, entry.page.0.into()];
        let small = [entry.slot.0, entry.offset, u16::from(entry.newest), u16::from(entry.kind == Kind::Put)];
        self.rows.extend(numbers.into_iter().flat_map(u64::to_le_bytes));
        self.rows.extend(small.into_iter().flat_map(u16::to_le_bytes));
        self.rows.extend_from_slice(entry.key);
        Ok(())
    }
    fn memory_bytes(&self) -> usize {
        if self.trouble == Trouble::TakesMemory { 1 << 30 } else { self.rows.capacity() }
    }
    fn estimate_bytes(&self) -> u64 {
        self.rows.len() as u64
    }
    fn next_pass(&mut self, _: &mut dyn SectionWriter) -> Result<bool, Declined> {
        Ok(self.trouble == Trouble::WantsAnotherPass)
    }
    fn finish(self: Box<Self>, out: &mut dyn SectionWriter) -> Result<Built, Declined> {
        out.section("rows")?;
        out.write(&self.rows)?;
        Ok(Built::new(0, Vec::new()))
    }
}

#[derive(Debug)]
struct KnowsNothing;

impl PointAccessor for KnowsNothing {
    fn locate(&self, _: &Probe<'_>) -> Location {
        Location::Unknown
    }
    fn resident_bytes(&self) -> usize {
        size_of::<Self>()
    }
}

fn open(disk: &MemStorage, format: Arc<Recorder>, policy: IndexPolicy, build_bytes: u64) -> Db {
    let settings = Settings {
        table_bytes: 64 << 10,
        memtable_bytes: 128 << 10,
        build_bytes,
        background_threads: 1,
        ..Settings::default()
    };
    let builder = Db::builder("/store").storage(Arc::new(disk.clone())).settings(settings);
    builder.register(format).index_policy(policy).open().unwrap()
}

fn key(no: u32) -> Vec<u8> {
    format!("key-{:05}", no * 7_919 % 10_007).into_bytes()
}

/// Several tables in two levels: versions that a snapshot keeps, tombstones, pages of many entries,
/// and values with pages of their own.
fn fill(db: &Db) {
    let space = db.default_keyspace();
    let value = |no: u32, len: usize| vec![no as u8; len];
    for no in 0..4_000 {
        space.put(key(no), value(no, if no % 500 == 7 { 100_000 } else { 20 })).unwrap();
    }
    let snapshot = db.snapshot();
    (0..4_000).step_by(3).for_each(|no| space.put(key(no), value(no + 1, 30)).unwrap());
    (0..4_000).step_by(10).for_each(|no| space.delete(key(no)).unwrap());
    space.compact().unwrap();
    (0..500).for_each(|no| space.put(key(no), value(no + 2, 9)).unwrap());
    db.flush().unwrap();
    db.wait_idle().unwrap();
    drop(snapshot);
}

/// The sidecars of a format, by path.
fn sidecars(disk: &MemStorage, format: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let names = disk.list(Path::new("/store")).unwrap().into_iter().map(|entry| entry.name);
    let paths = names.filter(|name| name.ends_with(format)).map(|name| Path::new("/store").join(name));
    let mut all: Vec<_> = paths.map(|path| (path.clone(), disk.bytes(&path).unwrap())).collect();
    all.sort();
    all
}

#[test]
fn what_is_collected_while_a_table_is_written_is_what_a_scan_shows() {
    let policy = || IndexPolicy::from_toml("[[rule]]\nbuild = [\"recorder\", \"ph4\"]").unwrap();
    let disk = MemStorage::new(1);
    let format = Recorder::new(true, Trouble::None);
    let db = open(&disk, format.clone(), policy(), 64 << 20);
    fill(&db);
    let (inline, scans) = format.begun();
    assert!(inline > 5 && scans == 0, "{inline} collected, {scans} scanned");
    assert_eq!(db.stats().memory.build_bytes, 0, "nothing collected is left");
    drop(db);
    let collected = [sidecars(&disk, ".recorder"), sidecars(&disk, ".ph4")].concat();
    assert!(collected.len() > 6 && collected.len() % 2 == 0, "{}", collected.len());
    collected.iter().for_each(|(path, _)| disk.remove(path).unwrap());
    let format = Recorder::new(false, Trouble::None);
    let db = open(&disk, format.clone(), policy(), 64 << 20);
    db.wait_idle().unwrap();
    assert_eq!(format.begun(), (0, collected.len() as u64 / 2));
    let scanned = [sidecars(&disk, ".recorder"), sidecars(&disk, ".ph4")].concat();
    assert!(collected == scanned, "the same files, byte for byte");
}

#[test]
fn a_builder_that_fails_while_the_table_is_written_costs_a_scan_and_nothing_else() {
    let troubles = [Trouble::Panics, Trouble::Declines, Trouble::TakesMemory, Trouble::WantsAnotherPass];
    for trouble in troubles {
        let disk = MemStorage::new(1);
        let format = Recorder::new(true, trouble);
        let db = open(&disk, format.clone(), IndexPolicy::always("recorder"), 64 << 20);
        fill(&db);
        let (inline, scans) = format.begun();
        assert!(inline > 0 && scans > 0, "{trouble:?}: {inline} collected, {scans} scanned");
        let space = db.default_keyspace();
        let tables = space.explain().unwrap();
        assert!(tables.iter().all(|table| table.active == "recorder"), "{trouble:?}: {tables:?}");
        assert_eq!(space.get(key(11)).unwrap().unwrap().len(), 9);
        assert_eq!(db.stats().memory.build_bytes, 0, "{trouble:?}");
        assert!(db.verify().unwrap().is_clean(), "{trouble:?}");
    }
}

#[test]
fn without_memory_nothing_is_collected() {
    let format = Recorder::new(true, Trouble::None);
    let db = open(&MemStorage::new(1), format.clone(), IndexPolicy::always("recorder"), 0);
    fill(&db);
    assert_eq!(format.begun().0, 0);
    assert_eq!(db.default_keyspace().get(key(11)).unwrap().unwrap().len(), 9);
}
