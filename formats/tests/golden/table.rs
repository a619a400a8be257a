//! A small table with everything in it: versions, a tombstone, a shared prefix, a jumbo run.

use kiban_formats::crc::crc32;
use kiban_formats::describe::Dump;
use kiban_formats::table::{TableEncoder, TableEntry, TableFacts, TableSink, describe_table};
use kiban_formats::{FormatError, KeyspaceId, Kind, SeqNo, StoreId, TableId, payload_crc};

struct File(Vec<u8>);

impl TableSink for File {
    type Error = FormatError;

    fn append(&mut self, parts: &[&[u8]]) -> Result<(), FormatError> {
        parts.iter().for_each(|part| self.0.extend_from_slice(part));
        Ok(())
    }
}

fn table(entries: &[(&str, u64, Option<&[u8]>)]) -> Vec<u8> {
    let mut encoder = TableEncoder::new(TableFacts {
        store_id: StoreId(*b"the store's id.."),
        table_id: TableId(*b"the table's id.."),
        hash_seed: 0x5EED,
        keyspace: KeyspaceId(3),
        filter_bits_per_key: 10,
        base_seq: SeqNo(0),
    });
    let mut file = File(Vec::new());
    for (no, (key, seq, value)) in entries.iter().enumerate() {
        let key = key.as_bytes();
        let kind = if value.is_some() { Kind::Put } else { Kind::Delete };
        let value = value.unwrap_or_default();
        // Any hash will do here.
        let hash = 0x9E37_79B9_7F4A_7C15u64.wrapping_mul(no as u64 + 1);
        let payload_crc = payload_crc(key, value);
        encoder
            .add(&TableEntry { key, hash, seq: SeqNo(*seq), kind, value, payload_crc }, &mut file)
            .unwrap();
    }
    encoder.finish(&mut file).unwrap();
    file.0
}

fn dump(file: &[u8]) -> String {
    let mut dump = Dump::new();
    describe_table(file, &mut dump).unwrap();
    dump.heading(format!("{} bytes, CRC-32 {:08x}", file.len(), crc32(file)));
    dump.finish()
}

#[test]
fn the_bytes_of_a_table_are_the_golden_ones() {
    let large: Vec<u8> = (0..70_000u32).map(|no| no as u8).collect();
    let file = table(&[
        ("tree/apple", 9, Some(b"red")),
        ("tree/apple", 4, None),
        ("tree/apricot", 300, Some(b"")),
        ("tree/oak", 7, Some(&large)),
        ("tree/oak", 6, Some(b"acorn")),
        ("tree/oak", 2, Some(b"leaf")),
        ("tree/plum", 1, Some(b"blue")),
    ]);
    super::check("table", &dump(&file));
}

#[test]
fn a_damaged_table_is_described_as_far_as_it_goes() {
    let mut file = table(&[("apple", 9, Some(b"red")), ("pear", 4, Some(b"green"))]);
    let intact = dump(&file);
    assert!(intact.contains("key \"apple\"") && !intact.contains("WRONG") && !intact.contains("UNREADABLE"));
    let value_at = file.windows(3).position(|bytes| bytes == b"red").unwrap();
    file[value_at] ^= 1;
    assert!(dump(&file).contains("entry checksum, WRONG"), "{}", dump(&file));
    // The first slot names a place outside the page.
    file[17] = 0xFF;
    let damaged = dump(&file);
    assert!(damaged.contains("UNREADABLE: data page"), "{damaged}");
    assert!(damaged.contains("# footer"), "{damaged}");
}
