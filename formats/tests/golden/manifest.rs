//! A manifest with every change, and one that this build does not know.

use kiban_formats::frame::{FileHeader, FileKind};
use kiban_formats::manifest::{
    Change, EDIT, LiveLogs, SNAPSHOT, STORE_VERSION, State, decode_changes, describe_manifest, encode_changes,
};
use kiban_formats::{FileNo, FormatError, KeyspaceId, Level, SeqNo, TableId, TableMeta};

use super::checks::{STORE, check_damage, check_dump};
use super::frames::{frames, read_frames};

fn table(no: u64) -> TableMeta {
    TableMeta {
        no: FileNo(no),
        level: Level(0),
        id: TableId(*b"the-golden-table"),
        bytes: 8192,
        entries: 10,
        keys: 9,
        tombstones: 2,
        min_seq: SeqNo(3),
        max_seq: SeqNo(900),
        smallest: b"".as_slice().into(),
        largest: b"zz\xFF".as_slice().into(),
    }
}

fn manifest_file() -> Vec<u8> {
    let header = FileHeader {
        kind: FileKind::Manifest,
        store_id: STORE,
        no: FileNo(7),
        previous: FileNo(0),
        previous_len: 0,
        first_seq: SeqNo(0),
        durable_seq: SeqNo(0),
    };
    let keyspace = KeyspaceId(0);
    let snapshot = [
        Change::Facts { version: STORE_VERSION, hash_seed: 0x0123_4567_89AB_CDEF },
        Change::NextFile(FileNo(9)),
        Change::LastSeq(SeqNo(12)),
        Change::Logs(LiveLogs { oldest: FileNo(4), newest: FileNo(5) }),
        Change::AddKeyspace { id: keyspace, name: "default".into(), options: String::new() },
        Change::AddKeyspace { id: KeyspaceId(1), name: "pictures".into(), options: "x = 1".into() },
        Change::NextKeyspace(2),
    ];
    let flush = [
        Change::AddTable { keyspace, table: table(10) },
        Change::AddTable { keyspace, table: table(11) },
        Change::Flushed { keyspace, seq: SeqNo(900) },
        Change::Logs(LiveLogs { oldest: FileNo(5), newest: FileNo(6) }),
    ];
    let rest = [
        Change::MoveTable { keyspace, no: FileNo(10), level: Level(1) },
        Change::RemoveTable { keyspace, no: FileNo(11) },
        Change::SetOptions { id: keyspace, options: "y = 2".into() },
        Change::DropKeyspace(KeyspaceId(1)),
    ];
    // Behind the last change one that this build does not know and may skip.
    let rest = [encode_changes(&rest), vec![0xFF, 3, 1, 2, 3]].concat();
    let all =
        [(SNAPSHOT, 80, encode_changes(&snapshot)), (EDIT, 168, encode_changes(&flush)), (EDIT, 280, rest)];
    frames(&header, &all)
}

/// The state after each record.
fn read_manifest(file: &[u8]) -> Result<Vec<State>, FormatError> {
    let mut states = vec![State::default()];
    for (_, payload) in read_frames(file, FileKind::Manifest)? {
        let mut state = states[states.len() - 1].clone();
        state.apply(&decode_changes(&payload)?)?;
        states.push(state);
    }
    Ok(states)
}

#[test]
fn a_manifest_is_the_golden_one_and_shows_damage() {
    let file = manifest_file();
    check_dump("manifest", &file, describe_manifest);
    let whole = read_manifest(&file).unwrap();
    assert_eq!(whole.len(), 4);
    check_damage(&file, read_manifest, |found| *found == whole[..found.len()]);
}
