//! A disk that is full when the manifest is written.

use std::path::Path;
use std::sync::Arc;

use kiban::storage::{Effect, Fault, Op, SimStorage};
use kiban::{Db, ErrorKind, Result, Settings};

use crate::{MODES, Mode, pairs};

const DIR: &str = "/store";

fn open(disk: &SimStorage, settings: Settings) -> Result<Db> {
    Db::builder(Path::new(DIR)).storage(Arc::new(disk.clone())).settings(settings).open()
}

/// Writes until something fails for want of space. How many writes were acknowledged.
fn write_until_full(db: &Db, from: u32) -> u32 {
    for no in from..from + 2000 {
        if let Err(error) = db.default_keyspace().put(no.to_be_bytes(), [7; 300]) {
            assert!(error.is_disk_full(), "{error}");
            return no;
        }
        if no % 20 == 0
            && let Err(error) = db.flush()
        {
            assert!(error.is_disk_full(), "{error}");
            return no + 1;
        }
    }
    panic!("nothing failed")
}

fn check_whole(db: &Db, acked: u32) {
    let found: Vec<_> = pairs(db.default_keyspace().iter()).map(|(key, _)| key).collect();
    // Of the write that failed nobody knows.
    let all: Vec<_> = (0..acked.max(found.len() as u32)).map(|no| no.to_be_bytes().to_vec()).collect();
    assert!(found == all && all.len() <= acked as usize + 1, "{} keys, {acked} acknowledged", found.len());
    let report = db.verify().unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

/// The record that did not fit is cut short; what is written to the manifest later must not stand
/// behind it.
#[test]
fn h27_a_manifest_without_room_is_written_anew_when_there_is_some() {
    for mode in MODES {
        for (nth, effect) in [
            (1, Effect::ShortAppend),
            (1, Effect::NoSpace),
            (4, Effect::ShortAppend),
            (7, Effect::ShortAppend),
        ] {
            let disk = SimStorage::new(nth);
            let db = open(&disk, mode.settings()).unwrap();
            db.default_keyspace().put(0_u32.to_be_bytes(), [7; 300]).unwrap();
            disk.inject(Fault::at_op(Op::Append, nth, effect).on("MANIFEST").for_good());
            let mut acked = write_until_full(&db, 1);
            disk.clear_faults();
            for _ in 0..3 {
                (acked..acked + 50)
                    .for_each(|no| db.default_keyspace().put(no.to_be_bytes(), [7; 300]).unwrap());
                acked += 50;
                db.flush().unwrap();
            }
            db.close().unwrap();
            check_whole(&open(&disk.reboot(nth), mode.settings()).unwrap(), acked);
        }
    }
}

/// The same with a disk that is really full, at many sizes: whichever file it is that finds no
/// room, log, table or manifest.
#[test]
fn h27_a_small_disk_that_was_full_is_whole_after_a_ballast_is_removed() {
    for mode in MODES {
        for room in (20..140).step_by(7) {
            let disk = SimStorage::new(room);
            disk.set_capacity(Some(room << 10));
            let db = match open(&disk, mode.settings()) {
                Ok(db) => db,
                Err(error) => panic!("{room} KiB: {error}"),
            };
            let mut acked = write_until_full(&db, 0);
            disk.set_capacity(None);
            let db = go_on(db, &disk, mode, &mut acked);
            let began = std::time::Instant::now();
            // An attempt that began while the disk was full may end only now.
            while let Err(error) = db.flush() {
                assert!(error.is_disk_full() && began.elapsed().as_secs() < 10, "{error}");
            }
            db.close().unwrap();
            check_whole(&open(&disk.reboot(room), mode.settings()).unwrap(), acked);
        }
    }
}

/// Writes on; where the log itself had no room, that takes a reopen.
fn go_on(db: Db, disk: &SimStorage, mode: Mode, acked: &mut u32) -> Db {
    let began = std::time::Instant::now();
    let mut db = db;
    let until = *acked + 100;
    while *acked < until {
        match db.default_keyspace().put(acked.to_be_bytes(), [7; 300]) {
            Ok(()) => *acked += 1,
            Err(error) if error.kind() == ErrorKind::WritesHalted => {
                // Not all may be durable, and it says so.
                let _ = db.close();
                db = open(disk, mode.settings()).unwrap();
            }
            Err(error) => {
                assert!(error.is_disk_full() && began.elapsed().as_secs() < 10, "{error}");
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
    }
    db
}
