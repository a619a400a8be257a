//! A log with every kind of operation, closed in order.

use kiban_formats::frame::{FileHeader, FileKind};
use kiban_formats::log::{BATCH, END, LogBatch, LogOps, batch_header, describe_log};
use kiban_formats::manifest::TableMeta;
use kiban_formats::{FileNo, FormatError, KeyspaceId, Level, SeqNo, TableId};

use super::checks::{STORE, check_damage, check_dump};
use super::frames::{frames, read_frames};

fn log_file() -> Vec<u8> {
    let header = FileHeader {
        kind: FileKind::Log,
        store_id: STORE,
        no: FileNo(12),
        previous: FileNo(9),
        previous_len: 4096,
        first_seq: SeqNo(1001),
        durable_seq: SeqNo(1000),
    };
    let batch = |base, ops: &LogOps| [&batch_header(SeqNo(base), ops.len() as u32), ops.bytes()].concat();
    let mut first = LogOps::default();
    first.push_put(KeyspaceId(0), b"apple", b"red");
    first.push_put(KeyspaceId(3), b"", b"");
    first.push_delete(KeyspaceId(300), b"\x00\xFF");
    let mut second = LogOps::default();
    second.push_clear(KeyspaceId(3));
    let mut third = LogOps::default();
    third.push_put(KeyspaceId(0), b"zeros", &[0; 1500]);
    let mut fourth = LogOps::default();
    fourth.push_ingest(KeyspaceId(3), &[ingested_table()]);
    let all = [
        (BATCH, 1000, batch(1001, &first)),
        (BATCH, 1000, batch(1004, &second)),
        (BATCH, 1003, batch(1005, &third)),
        (BATCH, 1005, batch(1006, &fourth)),
        (END, 1006, Vec::new()),
    ];
    frames(&header, &all)
}

fn ingested_table() -> TableMeta {
    TableMeta {
        no: FileNo(11),
        level: Level(0),
        id: TableId(*b"the table's id.."),
        bytes: 16_384,
        entries: 40,
        keys: 40,
        tombstones: 0,
        min_seq: SeqNo(1006),
        max_seq: SeqNo(1006),
        smallest: b"a".as_slice().into(),
        largest: b"zebra".as_slice().into(),
    }
}

/// Operations as text, each with its sequence.
fn read_log(file: &[u8]) -> Result<Vec<String>, FormatError> {
    let mut ops = Vec::new();
    for (kind, payload) in read_frames(file, FileKind::Log)? {
        if kind == BATCH {
            for op in LogBatch::decode(&payload)?.ops() {
                ops.push(format!("{:?}", op?));
            }
        }
    }
    Ok(ops)
}

#[test]
fn a_log_is_the_golden_one_and_shows_damage() {
    let file = log_file();
    check_dump("log", &file, describe_log);
    let whole = read_log(&file).unwrap();
    assert_eq!(whole.len(), 6);
    check_damage(&file, read_log, |found| *found == whole[..found.len()]);
}
