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
    let mut again = State::default();
    again.apply(&decode_changes(&encode_changes(&state.snapshot())).unwrap()).unwrap();
    assert_eq!(again, state);
}

#[test]
fn contradictions_are_refused() {
    let keyspace = KeyspaceId(0);
    let missing = KeyspaceId(99);
    let bad = [
        Change::Facts { version: 99, hash_seed: 0 },
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
