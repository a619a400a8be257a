//! The write-ahead log: batches of operations in [frames](crate::frame).
//!
//! | frame kind | payload |
//! |---|---|
//! | 1 batch | base sequence u64, count u32, operations |
//! | 2 end | none; its durable mark covers all operations before it |
//!
//! An operation, the i-th with sequence base + i, is: keyspace id varint, kind u8 (1 put,
//! 2 delete, 5 clear the keyspace, 6 ingest), and for put and delete the key, for put also the
//! value, each a varint length and the bytes as they are. An ingest has a varint length and the
//! list of its [tables](crate::manifest), which are whole and durable; their sequence is its own.

mod describe;

pub use describe::describe_log;

use crate::fields::{Fields, put_sized};
use crate::manifest::TableMeta;
use crate::{FormatError, KeyspaceId, Problem, SeqNo, varint};

/// Frame kind: a batch.
pub const BATCH: u8 = 1;
/// Frame kind: the log was closed in order.
pub const END: u8 = 2;

/// Bytes of a batch before its operations.
pub const BATCH_HEADER_BYTES: usize = 12;

const SECTION: &str = "log batch";

/// What an operation of the log does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LogOpKind {
    /// Sets a value.
    Put = 1,
    /// Removes a key.
    Delete = 2,
    /// Removes all keys of the keyspace.
    Clear = 5,
    /// Puts all that is in some tables.
    Ingest = 6,
}

/// An operation of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogOp<'a> {
    /// The keyspace it works on.
    pub keyspace: KeyspaceId,
    /// What it does.
    pub kind: LogOpKind,
    /// The key; empty but for a put and a delete.
    pub key: &'a [u8],
    /// The value of a put, the list of the tables of an ingest; else empty.
    pub value: &'a [u8],
}

/// Operations in the log's encoding.
#[derive(Clone, Debug, Default)]
pub struct LogOps {
    bytes: Vec<u8>,
    count: u64,
}

impl LogOps {
    /// Appends a put.
    pub fn push_put(&mut self, keyspace: KeyspaceId, key: &[u8], value: &[u8]) {
        self.push_head(keyspace, LogOpKind::Put);
        put_sized(key, &mut self.bytes);
        put_sized(value, &mut self.bytes);
    }

    /// Appends a delete.
    pub fn push_delete(&mut self, keyspace: KeyspaceId, key: &[u8]) {
        self.push_head(keyspace, LogOpKind::Delete);
        put_sized(key, &mut self.bytes);
    }

    /// Appends a clear.
    pub fn push_clear(&mut self, keyspace: KeyspaceId) {
        self.push_head(keyspace, LogOpKind::Clear);
    }

    /// Appends an ingest of these tables.
    pub fn push_ingest(&mut self, keyspace: KeyspaceId, tables: &[TableMeta]) {
        self.push_head(keyspace, LogOpKind::Ingest);
        put_sized(&TableMeta::encode_list(tables), &mut self.bytes);
    }

    fn push_head(&mut self, keyspace: KeyspaceId, kind: LogOpKind) {
        varint::encode(keyspace.0.into(), &mut self.bytes);
        self.bytes.push(kind as u8);
        self.count += 1;
    }

    /// Number of operations.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// There is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the encoding.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// The encoding.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The operations. What was pushed is what comes out.
    pub fn iter(&self) -> impl Iterator<Item = LogOp<'_>> {
        let mut fields = Fields::new(SECTION, &self.bytes);
        std::iter::from_fn(move || if fields.is_at_end() { None } else { decode_op(&mut fields).ok() })
    }
}

/// The bytes of a batch before its operations.
pub fn batch_header(base: SeqNo, count: u32) -> [u8; BATCH_HEADER_BYTES] {
    let mut bytes = [0; BATCH_HEADER_BYTES];
    bytes[..8].copy_from_slice(&base.0.to_le_bytes());
    bytes[8..].copy_from_slice(&count.to_le_bytes());
    bytes
}

/// A batch as it stands in the log.
#[derive(Clone, Debug)]
pub struct LogBatch<'a> {
    /// Sequence of its first operation.
    pub base: SeqNo,
    /// Number of operations.
    pub count: u32,
    fields: Fields<'a>,
}

impl<'a> LogBatch<'a> {
    /// Reads the payload of a batch frame. The operations are checked as they are taken.
    ///
    /// # Errors
    /// Too short, no operation, sequences out of range.
    pub fn decode(payload: &'a [u8]) -> Result<Self, FormatError> {
        let mut fields = Fields::new(SECTION, payload);
        let base = SeqNo(fields.u64()?);
        let count = fields.u32()?;
        let last = base.0.checked_add(u64::from(count));
        if count == 0 || base.0 == 0 || last.is_none_or(|last| last - 1 > SeqNo::MAX.0) {
            return Err(FormatError::invalid(SECTION, 0, "senseless sequence or count"));
        }
        Ok(Self { base, count, fields })
    }

    /// Sequence of its last operation.
    pub fn last(&self) -> SeqNo {
        SeqNo(self.base.0 + u64::from(self.count) - 1)
    }

    /// The operations with their sequences.
    pub fn ops(mut self) -> impl Iterator<Item = Result<(SeqNo, LogOp<'a>), FormatError>> {
        let mut ordinal = 0;
        std::iter::from_fn(move || {
            if ordinal == self.count {
                return None;
            }
            let seq = SeqNo(self.base.0 + u64::from(ordinal));
            ordinal += 1;
            let op = decode_op(&mut self.fields).and_then(|op| {
                if ordinal == self.count && !self.fields.is_at_end() {
                    return Err(FormatError::invalid(
                        SECTION,
                        self.fields.offset(),
                        "bytes behind the last operation",
                    ));
                }
                Ok((seq, op))
            });
            if op.is_err() {
                ordinal = self.count;
            }
            Some(op)
        })
    }
}

fn decode_op<'a>(fields: &mut Fields<'a>) -> Result<LogOp<'a>, FormatError> {
    let keyspace = KeyspaceId(fields.varint_u32()?);
    let offset = fields.offset();
    let op = |kind, key, value| LogOp { keyspace, kind, key, value };
    Ok(match fields.u8()? {
        1 => {
            let key = fields.sized()?;
            op(LogOpKind::Put, key, fields.sized()?)
        }
        2 => op(LogOpKind::Delete, fields.sized()?, &[]),
        5 => op(LogOpKind::Clear, &[], &[]),
        6 => {
            let tables = fields.sized()?;
            let at = fields.offset() - tables.len() as u64;
            TableMeta::decode_list(tables).map_err(|error| error.moved_by(at))?;
            op(LogOpKind::Ingest, &[], tables)
        }
        kind => {
            let what = Problem::Invalid(format!("unknown operation {kind}").into());
            return Err(FormatError::new(SECTION, offset, what));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileNo, Level, TableId};
    use proptest::prelude::*;

    fn ingested(no: u64) -> TableMeta {
        TableMeta {
            no: FileNo(no),
            level: Level(0),
            id: TableId([no as u8; 16]),
            bytes: 4096,
            entries: 2,
            keys: 2,
            tombstones: 0,
            min_seq: SeqNo(10),
            max_seq: SeqNo(10),
            smallest: [no as u8, 0].into(),
            largest: [no as u8, 9].into(),
        }
    }

    #[test]
    fn an_ingest_names_its_tables_or_is_none() {
        let mut ops = LogOps::default();
        ops.push_ingest(KeyspaceId(4), &[ingested(5), ingested(6)]);
        let list = ops.iter().next().map(|op| TableMeta::decode_list(op.value)).unwrap();
        assert_eq!(list.unwrap(), [ingested(5), ingested(6)]);
        // An ingest of no table, and one whose table ends early.
        for bytes in [&[4, 6, 0][..], &[4, 6, 3, 5, 0, 1]] {
            let payload = [&batch_header(SeqNo(7), 1)[..], bytes].concat();
            assert!(LogBatch::decode(&payload).unwrap().ops().any(|op| op.is_err()), "{bytes:?}");
        }
    }

    #[test]
    fn operations_come_back_with_their_sequences() {
        let mut ops = LogOps::default();
        ops.push_put(KeyspaceId(1), b"k", b"v");
        ops.push_delete(KeyspaceId(300), b"");
        ops.push_clear(KeyspaceId(2));
        ops.push_ingest(KeyspaceId(4), &[ingested(5), ingested(6)]);
        assert_eq!((ops.len(), ops.is_empty()), (4, false));
        let mut payload = batch_header(SeqNo(7), 4).to_vec();
        payload.extend_from_slice(ops.bytes());
        let batch = LogBatch::decode(&payload).unwrap();
        assert_eq!(batch.last(), SeqNo(10));
        let read: Vec<_> = batch.ops().map(Result::unwrap).collect();
        assert_eq!(read.iter().map(|(seq, _)| seq.0).collect::<Vec<_>>(), [7, 8, 9, 10]);
        assert_eq!(read.iter().map(|(_, op)| *op).collect::<Vec<_>>(), ops.iter().collect::<Vec<_>>());
        assert_eq!(
            read[0].1,
            LogOp { keyspace: KeyspaceId(1), kind: LogOpKind::Put, key: b"k", value: b"v" }
        );
        for cut in 0..payload.len() {
            let read = LogBatch::decode(&payload[..cut])
                .and_then(|batch| batch.ops().collect::<Result<Vec<_>, _>>());
            assert!(read.is_err(), "cut at {cut}");
        }
        payload.push(0);
        assert!(LogBatch::decode(&payload).unwrap().ops().any(|op| op.is_err()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(payload: Vec<u8>) {
            if let Ok(batch) = LogBatch::decode(&payload) {
                let count = batch.count as usize;
                prop_assert!(batch.ops().take(payload.len() + 1).count() <= count);
            }
        }
    }
}
