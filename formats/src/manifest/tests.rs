use proptest::prelude::*;

use super::*;
use crate::{FileNo, KeyspaceId, Level, SeqNo, TableId};

fn table(no: u64, level: u8) -> TableMeta {
    TableMeta {
        no: FileNo(no),
        level: Level(level),
        id: TableId([no as u8; 16]),
        bytes: 8192,
        entries: 10,
        keys: 9,
        tombstones: 2,
        min_seq: SeqNo(3),
        max_seq: SeqNo(12),
        smallest: b"".as_slice().into(),
        largest: b"zz".as_slice().into(),
    }
}

fn changes() -> Vec<Change> {
    let keyspace = KeyspaceId(0);
    vec![
        Change::Facts { version: STORE_VERSION, hash_seed: 0x1234 },
        Change::NextFile(FileNo(9)),
        Change::LastSeq(SeqNo(12)),
        Change::AddKeyspace { id: keyspace, name: "default".into(), options: String::new() },
        Change::AddKeyspace { id: KeyspaceId(4), name: "other".into(), options: "x = 1".into() },
        Change::SetOptions { id: keyspace, options: "y = 2".into() },
        Change::AddTable { keyspace, table: table(5, 0) },
        Change::AddTable { keyspace, table: table(6, 0) },
        Change::MoveTable { keyspace, no: FileNo(5), level: Level(1) },
        Change::RemoveTable { keyspace, no: FileNo(6) },
        Change::Flushed { keyspace, seq: SeqNo(12) },
        Change::Logs(LiveLogs { oldest: FileNo(7), newest: FileNo(8) }),
        Change::DropKeyspace(KeyspaceId(4)),
        Change::LogEnd(LogEnd { no: FileNo(8), bytes: 3000 }),
    ]
}

#[test]
fn changes_come_back() {
    let bytes = encode_changes(&changes());
    assert_eq!(decode_changes(&bytes).unwrap(), changes());
}

#[test]
fn every_cut_is_refused_or_a_shorter_list() {
    let bytes = encode_changes(&changes());
    for cut in 0..bytes.len() {
        if let Ok(read) = decode_changes(&bytes[..cut]) {
            assert_eq!(read, changes()[..read.len()], "cut at {cut}");
        }
    }
}

#[test]
fn an_unknown_change_is_refused_and_an_unknown_optional_one_skipped() {
    let mut bytes = encode_changes(&changes());
    bytes.extend_from_slice(&[0x8F, 2, 1, 2]);
    assert_eq!(decode_changes(&bytes).unwrap(), changes());
    bytes.extend_from_slice(&[0x0F, 0]);
    assert!(decode_changes(&bytes).unwrap_err().to_string().contains("unknown change 15"));
}

#[test]
fn the_state_is_what_the_changes_say_and_its_snapshot_says_the_same() {
    let mut state = State::default();
    state.apply(&changes()).unwrap();
    let space = &state.keyspaces[&KeyspaceId(0)];
    assert_eq!((space.options.as_str(), space.flushed), ("y = 2", SeqNo(12)));
    assert_eq!(space.tables, [table(5, 1)]);
    assert_eq!((state.next_keyspace, state.keyspaces.len()), (5, 1));
    let again = State::from_snapshot(&decode_changes(&encode_changes(&state.snapshot())).unwrap());
    assert_eq!(again.unwrap(), state);
}

#[test]
fn contradictions_are_refused() {
    let keyspace = KeyspaceId(0);
    let missing = KeyspaceId(99);
    let bad = [
        Change::Facts { version: 99, hash_seed: 0 },
        Change::Facts { version: STORE_VERSION, hash_seed: 0x1234 },
        Change::AddKeyspace { id: keyspace, name: "new".into(), options: String::new() },
        Change::AddKeyspace { id: KeyspaceId(7), name: "default".into(), options: String::new() },
        Change::DropKeyspace(missing),
        Change::SetOptions { id: missing, options: String::new() },
        Change::AddTable { keyspace, table: table(5, 0) },
        Change::AddTable { keyspace: missing, table: table(50, 0) },
        Change::RemoveTable { keyspace, no: FileNo(6) },
        Change::MoveTable { keyspace, no: FileNo(6), level: Level(2) },
        Change::Flushed { keyspace: missing, seq: SeqNo(1) },
        Change::Logs(LiveLogs { oldest: FileNo(1), newest: FileNo(8) }),
    ];
    let mut state = State::default();
    state.apply(&changes()).unwrap();
    for change in bad {
        assert!(state.clone().apply(std::slice::from_ref(&change)).is_err(), "{change:?}");
    }
}

#[test]
fn the_number_of_a_table_that_is_gone_is_free() {
    let mut state = State::default();
    state.apply(&changes()).unwrap();
    let keyspace = KeyspaceId(9);
    let gone = [
        Change::AddKeyspace { id: keyspace, name: "short-lived".into(), options: String::new() },
        Change::AddTable { keyspace, table: table(20, 0) },
        Change::DropKeyspace(keyspace),
        Change::AddTable { keyspace: KeyspaceId(0), table: table(20, 0) },
        Change::AddTable { keyspace: KeyspaceId(0), table: table(6, 0) },
    ];
    state.apply(&gone).unwrap();
    assert_eq!(state.keyspaces[&KeyspaceId(0)].tables, [table(5, 1), table(20, 0), table(6, 0)]);
}

#[test]
fn a_snapshot_without_facts_is_refused() {
    assert!(State::from_snapshot(&changes()).is_ok());
    assert!(State::from_snapshot(&changes()[1..]).is_err());
    assert!(State::from_snapshot(&[]).is_err());
}

#[test]
fn a_number_beyond_all_files_is_refused() {
    for change in [
        Change::NextFile(FileNo(u64::MAX)),
        Change::Logs(LiveLogs { oldest: FileNo(u64::MAX), newest: FileNo(0) }),
        Change::LogEnd(LogEnd { no: FileNo(u64::MAX), bytes: 0 }),
        Change::AddTable { keyspace: KeyspaceId(0), table: table(FileNo::MAX.0 + 1, 0) },
        Change::LastSeq(SeqNo(SeqNo::MAX.0 + 1)),
    ] {
        assert!(decode_changes(&encode_changes(std::slice::from_ref(&change))).is_err(), "{change:?}");
    }
    let last = [Change::NextFile(FileNo::MAX)];
    assert_eq!(decode_changes(&encode_changes(&last)).unwrap(), last);
}

proptest! {
    #[test]
    fn any_bytes_are_read_and_applied_without_a_panic(payload: Vec<u8>) {
        if let Ok(changes) = decode_changes(&payload) {
            let _ = State::default().apply(&changes);
        }
    }
}

#[test]
fn senseless_tables_are_refused() {
    let bad = [
        TableMeta { keys: 11, ..table(5, 0) },
        TableMeta { tombstones: 11, ..table(5, 0) },
        TableMeta { entries: 0, keys: 0, tombstones: 0, ..table(5, 0) },
        TableMeta { min_seq: SeqNo(13), ..table(5, 0) },
        TableMeta { max_seq: SeqNo(u64::MAX), ..table(5, 0) },
        TableMeta { largest: b"".as_slice().into(), smallest: b"a".as_slice().into(), ..table(5, 0) },
    ];
    for table in bad {
        let bytes = encode_changes(&[Change::AddTable { keyspace: KeyspaceId(0), table: table.clone() }]);
        assert!(decode_changes(&bytes).is_err(), "{table:?}");
    }
}
