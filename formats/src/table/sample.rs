//! The first records of a table, kept until there are enough to choose its pages by.

use crate::page::{NewEntry, PageShape, SampleRecord, choose_shape};
use crate::{Kind, SeqNo};

/// Bytes of keys and values after which the choice is made.
const SAMPLE_BYTES_MAX: usize = 1 << 20;
/// Records after which it is made.
const SAMPLE_RECORDS_MAX: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Sample {
    records: Vec<Record>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    at: usize,
    key_len: usize,
    value_len: usize,
    seq: SeqNo,
    kind: Kind,
    newer: Option<SeqNo>,
    payload_crc: u32,
}

impl Sample {
    /// With this entry the sample is large enough. So a large value is never copied.
    pub(super) fn is_full_with(&self, entry: &NewEntry<'_>) -> bool {
        let bytes = self.bytes.len() + entry.key.len() + entry.value.len();
        self.records.len() + 1 >= SAMPLE_RECORDS_MAX || bytes >= SAMPLE_BYTES_MAX
    }

    pub(super) fn push(&mut self, entry: &NewEntry<'_>) {
        self.records.push(Record {
            at: self.bytes.len(),
            key_len: entry.key.len(),
            value_len: entry.value.len(),
            seq: entry.seq,
            kind: entry.kind,
            newer: entry.newer,
            payload_crc: entry.payload_crc,
        });
        self.bytes.extend_from_slice(entry.key);
        self.bytes.extend_from_slice(entry.value);
    }

    /// Bytes of keys and values.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = NewEntry<'_>> {
        self.records.iter().map(|record| {
            let (key, rest) = self.bytes[record.at..].split_at(record.key_len);
            NewEntry {
                key,
                seq: record.seq,
                kind: record.kind,
                newer: record.newer,
                value: &rest[..record.value_len],
                payload_crc: record.payload_crc,
            }
        })
    }

    /// The shape for a table that starts with the sample and `next`, or is all of the sample.
    pub(super) fn choose(&self, next: Option<&NewEntry<'_>>) -> PageShape {
        let sampled = self.records.iter().map(|record| SampleRecord {
            key: &self.bytes[record.at..record.at + record.key_len],
            value_len: record.value_len,
        });
        let mut records: Vec<SampleRecord<'_>> = sampled.collect();
        records.extend(next.map(|next| SampleRecord { key: next.key, value_len: next.value.len() }));
        choose_shape(&records, next.is_none())
    }
}
