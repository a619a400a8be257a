//! Sidecars that are not as they were written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kiban_formats::accessor_file::AccessorHeader;
use kiban_indexes::AccessorFormat;
use kiban_indexes::conformance::with_header;

use super::model::Model;
use super::setup::{Place, Setup};
use crate::db::Db;
use crate::storage::{MemStorage, Storage};

/// Bits that are flipped, and places where a file is cut, at most.
const CHANGES_MAX: usize = 4_000;

fn dir() -> &'static Path {
    Path::new("/conformance")
}

fn place(disk: &MemStorage) -> Place {
    Place { storage: Arc::new(disk.clone()), dir: dir().to_owned() }
}

/// A store, closed, with its sidecars.
struct Closed {
    disk: MemStorage,
    sidecars: Vec<PathBuf>,
}

impl Closed {
    fn new(
        format: &Arc<dyn AccessorFormat>,
        fill: impl FnOnce(&Db) -> Result<(), String>,
    ) -> Result<Self, String> {
        let disk = MemStorage::new(2);
        let db = Setup::new(&place(&disk), Some(format.clone()), false).open()?;
        fill(&db)?;
        let end = db.flush().and_then(|()| db.wait_idle()).and_then(|()| db.close());
        end.map_err(|error| error.to_string())?;
        drop(db);
        let names = disk.list(dir()).map_err(|error| error.to_string())?.into_iter().map(|entry| entry.name);
        let extension = format!(".{}", format.name());
        let sidecars = names.filter(|name| name.ends_with(&extension)).map(|name| dir().join(name)).collect();
        Ok(Self { disk, sidecars })
    }

    fn bytes(&self, path: &Path) -> Result<Vec<u8>, String> {
        self.disk.bytes(path).map_err(|error| error.to_string())
    }
}

/// One small table whose sidecar has any bit flipped, is cut anywhere, is another's, or is gone; opened
/// for reading, so that nothing is built anew.
pub(super) fn any_bit_or_cut(format: &Arc<dyn AccessorFormat>, is_mapped: bool) -> Result<(), String> {
    let (closed, keys) = small(format)?;
    let path = &closed.sidecars[0];
    let whole = closed.bytes(path)?;
    let bits = whole.len() * 8;
    let flipped = (0..bits).step_by((bits / CHANGES_MAX + 1) | 1).map(|bit| {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        (format!("bit {bit} flipped"), bytes)
    });
    let cuts = (0..whole.len()).step_by(whole.len() / CHANGES_MAX + 1);
    let cuts = cuts.map(|cut| (format!("cut at {cut}"), whole[..cut].to_vec()));
    let longer = ("a byte longer".to_owned(), [&whole[..], &[0]].concat());
    for (what, bytes) in flipped.chain(cuts).chain(others(&whole)?).chain([longer]) {
        closed.disk.set_bytes(path, bytes);
        read_without(&closed.disk, format, is_mapped, (keys, 1))
            .map_err(|fault| format!("{what}: {fault}"))?;
    }
    closed.disk.remove(path).map_err(|error| error.to_string())?;
    read_without(&closed.disk, format, is_mapped, (keys, 0)).map_err(|fault| format!("gone: {fault}"))
}

/// A store of one table as small as the format indexes, and the number of its keys.
fn small(format: &Arc<dyn AccessorFormat>) -> Result<(Closed, u32), String> {
    for keys in [3_u32, 300] {
        let fill = |db: &Db| {
            let space = db.default_keyspace();
            let put = |no: u32| space.put(no.to_be_bytes(), no.to_le_bytes());
            let filled = (0..keys).try_for_each(put).and_then(|()| space.delete(1_u32.to_be_bytes()));
            filled.map_err(|error| error.to_string())
        };
        let closed = Closed::new(format, fill)?;
        if !closed.sidecars.is_empty() {
            return Ok((closed, keys));
        }
    }
    Err("no table of 300 keys or fewer is indexed".to_owned())
}

/// The sidecar of another format, table or store, or of a newer version; whole as it is.
fn others(whole: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let with = |change: fn(&mut AccessorHeader)| {
        with_header(whole, change).map_err(|error| format!("a sidecar is not whole: {error}"))
    };
    let all = [
        ("of another format", with(|header| header.format_id ^= 1)?),
        (
            "of a newer version",
            with(|header| header.format_version = header.format_version.saturating_add(1))?,
        ),
        ("of another table", with(|header| header.table_id.0[0] ^= 1)?),
        ("of another store", with(|header| header.store_id.0[0] ^= 1)?),
        ("of more keys", with(|header| header.keys += 1)?),
    ];
    Ok(all.map(|(what, bytes)| (what.to_owned(), bytes)).into())
}

/// Reads so many keys of a table of which the sidecar is of no use, and is told of so many times. Of a
/// map only what is read has been checked: there, answers count.
fn read_without(
    disk: &MemStorage,
    format: &Arc<dyn AccessorFormat>,
    is_mapped: bool,
    (keys, told): (u32, u64),
) -> Result<(), String> {
    let setup = Setup { read_only: true, ..Setup::new(&place(disk), Some(format.clone()), is_mapped) };
    let db = setup.open()?;
    let space = db.default_keyspace();
    for no in 0..keys + 3 {
        let found = space.get(no.to_be_bytes()).map_err(|error| error.to_string())?;
        let expected = (no < keys && no != 1).then(|| no.to_le_bytes());
        if found.as_deref() != expected.as_ref().map(|value| &value[..]) {
            return Err(format!("key {no} is {found:?}"));
        }
    }
    let refused = setup.refused.load(Ordering::Relaxed);
    let fallbacks = db.stats().accessors.get(format.name()).map_or(0, |counts| counts.fallbacks);
    match (refused == told, fallbacks) {
        (true, 1..) => Ok(()),
        _ if is_mapped && refused <= told => Ok(()),
        _ => Err(format!("told {refused} times, {fallbacks} fallbacks")),
    }
}

/// Sidecars that are damaged, another table's, or gone, are built anew, and are what they were.
pub(super) fn built_anew(format: &Arc<dyn AccessorFormat>) -> Result<(), String> {
    let mut model = Model::default();
    let closed = Closed::new(format, |db| model.fill(db).map(drop))?;
    let [first, second, ..] = &closed.sidecars[..] else {
        return Err("of several tables fewer than two are indexed".to_owned());
    };
    let (whole, other) = (closed.bytes(first)?, closed.bytes(second)?);
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x10;
    let changes = [
        ("empty", Some(Vec::new())),
        ("half of it", Some(whole[..whole.len() / 2].to_vec())),
        ("a bit flipped", Some(flipped)),
        ("another table's", Some(other)),
        ("gone", None),
    ];
    for (what, bytes) in changes {
        let disk = closed.disk.fork();
        match bytes {
            Some(bytes) => disk.set_bytes(first, bytes),
            None => disk.remove(first).map_err(|error| error.to_string())?,
        }
        let db = Setup::new(&place(&disk), Some(format.clone()), false).open()?;
        model.check(&db, &[]).map_err(|fault| format!("{what}: {fault}"))?;
        db.wait_idle().map_err(|error| error.to_string())?;
        model.check(&db, &[]).map_err(|fault| format!("{what}, then built anew: {fault}"))?;
        match disk.bytes(first) {
            Ok(again) if again == whole => {}
            Ok(_) => return Err(format!("{what}: it is built anew, but differs")),
            Err(error) => return Err(format!("{what}: it is not built anew: {error}")),
        }
    }
    Ok(())
}
