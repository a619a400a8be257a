//! A value can hold anything, also a page of the table as it was: a place in it is no place.

use std::path::Path;
use std::sync::Arc;

use kiban::accessor::{
    Accessor, AccessorBuilder, AccessorFile, AccessorFormat, Declined, FormatError, FormatId, Location,
    PageNo, Params, Plan, PointAccessor, Probe, Residency, TableShape,
};
use kiban::storage::{MemStorage, Storage};
use kiban::{Db, IndexPolicy, Settings};

use crate::plain::Plain;

/// The format `plain`, of which every answer is this page.
#[derive(Debug)]
struct Astray(PageNo);

impl AccessorFormat for Astray {
    fn id(&self) -> FormatId {
        Plain.id()
    }

    fn name(&self) -> &str {
        Plain.name()
    }

    fn plan(&self, shape: &TableShape, params: &Params) -> Plan {
        Plain.plan(shape, params)
    }

    fn builder(
        &self,
        shape: &TableShape,
        params: &Params,
        seed: u64,
    ) -> Result<Box<dyn AccessorBuilder>, Declined> {
        Plain.builder(shape, params, seed)
    }

    fn open(&self, file: AccessorFile, residency: Residency) -> Result<Accessor, FormatError> {
        let inner = Plain.open(file, residency)?;
        Ok(Accessor::Plugin(Box::new(AstrayIndex { inner, page: self.0 })))
    }
}

#[derive(Debug)]
struct AstrayIndex {
    inner: Accessor,
    page: PageNo,
}

impl PointAccessor for AstrayIndex {
    fn locate(&self, _: &Probe<'_>) -> Location {
        Location::Page(self.page)
    }

    fn resident_bytes(&self) -> usize {
        self.inner.resident_bytes()
    }
}

const UNIT: usize = 4_096;

fn dir() -> &'static Path {
    Path::new("/store")
}

fn open(disk: &MemStorage, page: u32, is_mapped: bool) -> Db {
    let settings = Settings {
        mmap_max_level: is_mapped.then_some(u32::MAX),
        background_threads: 1,
        ..Settings::default()
    };
    let builder = Db::builder(dir()).storage(Arc::new(disk.clone())).settings(settings);
    let builder = builder.register(Arc::new(Astray(PageNo(page))));
    builder.index_policy(IndexPolicy::always(Plain.name())).open().unwrap()
}

/// The one table's bytes.
fn table(disk: &MemStorage) -> Vec<u8> {
    let names = disk.list(dir()).unwrap().into_iter().map(|entry| entry.name);
    let tables: Vec<_> = names.filter(|name| name.ends_with(".sst")).collect();
    assert_eq!(tables.len(), 1, "{tables:?}");
    disk.bytes(&dir().join(&tables[0])).unwrap()
}

fn rest(db: &Db) {
    db.default_keyspace().compact().unwrap();
    db.wait_idle().unwrap();
}

#[test]
fn an_old_page_inside_of_a_value_is_no_page() {
    let disk = MemStorage::new(1);
    let db = open(&disk, 0, false);
    let space = db.default_keyspace();
    space.put("k", "old").unwrap();
    space.put("x", "another").unwrap();
    rest(&db);
    let old = table(&disk)[..UNIT].to_vec();
    space.put("k", "new").unwrap();
    // Where a value begins in its run: pages inside of it are to begin at units.
    space.put("a", vec![0xA5; 3 * UNIT]).unwrap();
    rest(&db);
    let start = table(&disk).windows(64).position(|bytes| bytes == [0xA5; 64]).unwrap();
    space.put("a", [&vec![0xA5; UNIT - start % UNIT][..], &old, &old].concat()).unwrap();
    rest(&db);
    let bytes = table(&disk);
    let units: Vec<_> = bytes.chunks(UNIT).collect();
    assert!(units.iter().filter(|unit| **unit == old).count() >= 2, "the old page is not inside of it");
    let pages = units.len() as u32;
    db.close().unwrap();
    drop(db);
    for is_mapped in [false, true] {
        for page in 0..pages {
            let db = open(&disk, page, is_mapped);
            db.wait_idle().unwrap();
            let space = db.default_keyspace();
            assert_eq!(space.multi_get(&["k"]).unwrap()[0].as_deref(), Some(&b"new"[..]), "page {page}");
            assert_eq!(space.get("k").unwrap().unwrap(), b"new", "page {page}, mapped: {is_mapped}");
            db.close().unwrap();
        }
    }
}
