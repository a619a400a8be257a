//! The chain of log files on a storage in memory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiban_formats::frame::FILE_HEADER_BYTES;
use kiban_formats::log::LogOps;
use kiban_formats::manifest::{LiveLogs, LogEnd};
use kiban_formats::{FileNo, KeyspaceId, SeqNo, StoreId};

use super::{Journal, Recovered, Replay};
use crate::error::{ErrorKind, Result};
use crate::files::{self, FileName};
use crate::settings::RecoveryMode;
use crate::storage::{MemStorage, Storage};

const STORE: StoreId = StoreId([3; 16]);
const KEYSPACE: KeyspaceId = KeyspaceId(0);

/// A log that is written and read again, each session beginning where the last one ended.
struct Fixture {
    storage: MemStorage,
    next_no: u64,
    next_seq: u64,
    /// What the manifest says is durable.
    last_seq: SeqNo,
}

impl Fixture {
    fn new() -> Self {
        let storage = MemStorage::new(1);
        storage.create_dir_all(dir()).unwrap();
        Self { storage, next_no: 1, next_seq: 1, last_seq: SeqNo(0) }
    }

    fn log_files(&self) -> Vec<FileNo> {
        let names = self.storage.list(dir()).unwrap();
        let numbers: BTreeSet<FileNo> =
            names.iter().filter_map(|entry| FileName::parse(&entry.name).no()).collect();
        numbers.into_iter().collect()
    }

    fn replay(&self, live: LiveLogs, mode: RecoveryMode) -> Result<(Vec<u64>, Recovered)> {
        let files = self.log_files();
        let replay = Replay {
            storage: &self.storage,
            dir: dir(),
            store_id: STORE,
            files: &files,
            live,
            end: LogEnd::default(),
            last_seq: self.last_seq,
            mode,
        };
        let mut seqs = Vec::new();
        let recovered = replay.run(|seq, op| {
            assert_eq!(op.key, seq.0.to_string().as_bytes());
            seqs.push(seq.0);
            Ok(())
        })?;
        Ok((seqs, recovered))
    }

    fn read(&self) -> Result<(Vec<u64>, Recovered)> {
        self.replay(LiveLogs::default(), RecoveryMode::Strict)
    }

    /// Recovers, then writes `count` operations, `per_file` to a file, syncing after each if
    /// asked to.
    fn session(&mut self, count: u64, per_file: u64, sync: bool) -> Journal {
        let (_, recovered) = self.read().unwrap();
        self.next_seq = recovered.last_seq.0 + 1;
        let storage: Arc<dyn Storage> = Arc::new(self.storage.clone());
        let logs = (self.log_files(), LiveLogs::default());
        let mut journal = Journal::recovering(storage, dir().to_owned(), STORE, u64::MAX, logs);
        journal.recovered(recovered);
        for ordinal in 0..count {
            if ordinal > 0 && ordinal.is_multiple_of(per_file) {
                journal.retire_active();
            }
            let seq = SeqNo(self.next_seq);
            self.next_seq += 1;
            let next_no = &mut self.next_no;
            journal
                .prepare(seq, || {
                    *next_no += 1;
                    FileNo(*next_no - 1)
                })
                .unwrap();
            let key = seq.0.to_string();
            if seq.0.is_multiple_of(2) {
                journal.append_one(seq, KEYSPACE, key.as_bytes(), Some(b"value")).unwrap();
            } else {
                let mut ops = LogOps::default();
                ops.push_put(KEYSPACE, key.as_bytes(), b"value");
                journal.append_batch(seq, &ops).unwrap();
            }
            journal.note(KEYSPACE, seq);
            if sync {
                let unsynced = journal.begin_sync();
                unsynced.sync(&self.storage, dir()).unwrap();
                journal.end_sync(&unsynced, seq);
            }
        }
        journal
    }

    /// Changes a file, without the room behind its last record.
    fn change(&self, no: u64, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = self.storage.bytes(&path(no)).unwrap();
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        bytes.truncate(used.next_multiple_of(8));
        change(&mut bytes);
        self.storage.set_bytes(&path(no), bytes);
    }
}

fn dir() -> &'static Path {
    Path::new("/db")
}

fn path(no: u64) -> PathBuf {
    dir().join(files::log(FileNo(no)))
}

fn upto(last: u64) -> Vec<u64> {
    (1..=last).collect()
}

#[test]
fn sessions_and_files_make_one_history() {
    let mut log = Fixture::new();
    log.session(7, 3, false);
    log.session(5, 2, true);
    let (seqs, recovered) = log.read().unwrap();
    assert_eq!(seqs, upto(12));
    assert_eq!((recovered.operations, recovered.last_seq), (12, SeqNo(12)));
    assert_eq!((recovered.truncated_bytes, recovered.discarded), (0, vec![]));
    assert_eq!(recovered.logs.len(), 6);
    assert_eq!(recovered.logs.last().unwrap().keyspaces[&KEYSPACE], SeqNo(12));
}

#[test]
fn what_a_crash_left_behind_the_last_record_is_never_read_again() {
    let mut log = Fixture::new();
    log.session(10, 100, true);
    for round in 1..6 {
        log.change(round, |bytes| bytes.extend_from_slice(b"17 bytes of noise"));
        let (seqs, recovered) = log.read().unwrap();
        assert_eq!(seqs, upto(9 + round));
        assert_eq!(recovered.truncated_bytes, 17);
        log.session(1, 100, true);
    }
    assert_eq!(log.read().unwrap().0, upto(15));
}

#[test]
fn a_cut_newest_log_and_an_empty_one_behind_it_end_history_there() {
    let mut log = Fixture::new();
    log.session(4, 100, true);
    log.change(1, |bytes| bytes.truncate(bytes.len() - 5));
    log.storage.set_bytes(&path(2), Vec::new());
    log.next_no = 3;
    let (seqs, recovered) = log.read().unwrap();
    assert_eq!(seqs, upto(3));
    assert_eq!(recovered.discarded, [FileNo(2)]);
    log.session(2, 100, true);
    assert_eq!(log.read().unwrap().0, upto(5));
}

#[test]
fn a_missing_file_in_the_middle_is_refused_if_it_was_durable_and_else_ends_history() {
    for sync in [false, true] {
        let mut log = Fixture::new();
        log.session(9, 3, sync);
        log.storage.remove(&path(2)).unwrap();
        match log.read() {
            Ok((seqs, recovered)) => {
                assert!(!sync, "a hole in durable history");
                assert_eq!(seqs, upto(3));
                assert_eq!(recovered.discarded, [FileNo(3)]);
                // What is written now is not mixed up with the file that was dropped.
                log.session(1, 3, true);
                assert_eq!(log.read().unwrap().0, upto(4));
            }
            Err(error) => {
                assert!(sync, "{error}");
                assert_eq!(error.kind(), ErrorKind::Corruption);
                assert!(error.to_string().contains("00000003.log"), "{error}");
            }
        }
        let point_in_time = log.replay(LiveLogs::default(), RecoveryMode::PointInTime).unwrap().0;
        assert_eq!(point_in_time, upto(if sync { 3 } else { 4 }));
    }
}

/// The first file is lost, and so is all that was to follow it. Durable operations are refused to
/// be lost even if the manifest says nothing.
#[test]
fn history_never_begins_behind_a_file_that_is_lost() {
    for sync in [false, true] {
        let mut log = Fixture::new();
        log.session(9, 3, sync);
        log.storage.remove(&path(1)).unwrap();
        let read = log.read();
        if sync {
            let error = read.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption);
            assert!(error.to_string().contains("operation 1,"), "{error}");
            continue;
        }
        let (seqs, recovered) = read.unwrap();
        assert_eq!(seqs, upto(0));
        assert_eq!(recovered.last_seq, SeqNo(0));
        assert_eq!(recovered.discarded, [FileNo(2), FileNo(3)]);
        // The dropped files are still there when new history is written, as after a power cut.
        log.session(2, 3, true);
        assert_eq!(log.read().unwrap().0, upto(2));
    }
}

/// Operations in tables and then a lost log: the one after it does not follow the tables.
#[test]
fn a_log_after_a_hole_behind_the_tables_is_refused() {
    let mut log = Fixture::new();
    log.session(9, 3, true);
    log.storage.remove(&path(1)).unwrap();
    log.storage.remove(&path(2)).unwrap();
    let mut read = |last_seq: u64, oldest: u64| {
        log.last_seq = SeqNo(last_seq);
        let live = LiveLogs { oldest: FileNo(oldest), newest: FileNo(0) };
        log.replay(live, RecoveryMode::Strict).map(|(seqs, _)| seqs)
    };
    assert_eq!(read(6, 3).unwrap(), [7, 8, 9]);
    assert_eq!(read(8, 3).unwrap(), [7, 8, 9]);
    // An older manifest, of which the edit that allowed to remove the logs was lost.
    for (last_seq, oldest) in [(5, 3), (3, 2), (0, 0)] {
        assert_eq!(read(last_seq, oldest).unwrap_err().kind(), ErrorKind::Corruption, "{last_seq}, {oldest}");
    }
}

/// All is flushed, the logs are gone, and a new process writes without a sync. Its log says that
/// what is in tables was durable, so a manifest that lost the tables is found out.
#[test]
fn the_first_log_after_an_open_vouches_for_what_is_in_tables() {
    let mut log = Fixture::new();
    log.next_seq = 7;
    log.last_seq = SeqNo(6);
    log.session(2, 100, false);
    assert_eq!(log.read().unwrap().0, [7, 8]);
    log.last_seq = SeqNo(5);
    assert_eq!(log.read().unwrap_err().kind(), ErrorKind::Corruption);
}

#[test]
fn a_file_that_the_manifest_needs_must_be_there() {
    let mut log = Fixture::new();
    log.session(9, 3, true);
    let live = |oldest, newest| LiveLogs { oldest: FileNo(oldest), newest: FileNo(newest) };
    assert_eq!(log.replay(live(1, 3), RecoveryMode::Strict).unwrap().0, upto(9));
    for (oldest, newest) in [(1, 4), (0, 3)] {
        let error = log.replay(live(oldest, newest), RecoveryMode::Strict).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
    }
}

#[test]
fn files_are_released_when_all_their_operations_are_in_tables() {
    let mut log = Fixture::new();
    let mut journal = log.session(9, 3, true);
    let needed = |journal: &Journal, flushed| journal.needed(FileNo(50), |_, last| last <= SeqNo(flushed));
    assert_eq!(needed(&journal, 5), LiveLogs { oldest: FileNo(2), newest: FileNo(3) });
    assert_eq!(needed(&journal, 9).oldest, FileNo(3));
    journal.retire_active();
    assert_eq!(needed(&journal, 9).oldest, FileNo(50));
    let live = needed(&journal, 6);
    assert_eq!(journal.release(live), [FileNo(1), FileNo(2)]);
    assert_eq!(journal.file_count(), 1);
}

#[test]
fn room_grows_with_the_file_stops_where_the_next_begins_and_is_given_back() {
    let storage = MemStorage::new(1);
    storage.create_dir_all(dir()).unwrap();
    let rotate_bytes = 3 << 20;
    let shared: Arc<dyn Storage> = Arc::new(storage.clone());
    let logs = (Vec::new(), LiveLogs::default());
    let mut journal = Journal::recovering(shared, dir().to_owned(), STORE, rotate_bytes, logs);
    let file_len = || storage.bytes(&path(1)).unwrap().len() as u64;
    let mut lens = BTreeSet::new();
    let mut files = 0;
    for seq in (1..).map(SeqNo) {
        let new_no = || {
            files += 1;
            FileNo(files)
        };
        journal.prepare(seq, new_no).unwrap();
        if files == 2 {
            break;
        }
        journal.append_one(seq, KEYSPACE, b"key", Some(&[7; 1000])).unwrap();
        assert!(file_len() >= journal.bytes());
        lens.insert(file_len());
    }
    assert!((4..10).contains(&lens.len()), "room for as much again: {lens:?}");
    assert!(*lens.first().unwrap() < 100 << 10, "{lens:?}");
    assert!(*lens.last().unwrap() < rotate_bytes + 2000, "{lens:?}");
    assert_eq!(file_len() + FILE_HEADER_BYTES as u64, journal.bytes(), "as long as its records");
}

#[test]
fn every_changed_byte_is_refused_in_a_log_that_was_ended() {
    let mut log = Fixture::new();
    log.session(5, 100, true).append_end().unwrap();
    let whole = log.storage.bytes(&path(1)).unwrap();
    for place in 0..whole.len() {
        for change in [1, 0x80, 0xFF] {
            log.change(1, |bytes| bytes[place] ^= change);
            let read = log.read();
            let error = read.map(|(seqs, _)| seqs).expect_err("a changed byte was not seen");
            let kind = error.kind();
            assert!(matches!(kind, ErrorKind::Corruption | ErrorKind::Unsupported), "byte {place}: {error}");
            assert!(error.to_string().contains("00000001.log"), "{error}");
            log.storage.set_bytes(&path(1), whole.clone());
        }
    }
}

#[test]
fn a_log_of_another_store_or_number_is_refused() {
    let mut log = Fixture::new();
    log.session(2, 100, true);
    let bytes = log.storage.bytes(&path(1)).unwrap();
    log.storage.set_bytes(&path(9), bytes);
    let error = log.read().unwrap_err();
    assert!(
        error.to_string().contains("00000009.log") && error.to_string().contains("belongs to"),
        "{error}"
    );
}
