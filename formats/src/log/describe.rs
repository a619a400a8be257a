//! Annotated dumps of logs.

use super::{BATCH, BATCH_HEADER_BYTES, END, LogBatch, LogOp, LogOpKind, decode_op};
use crate::FormatError;
use crate::describe::{Dump, printable};
use crate::frame::{FileKind, describe_frames};
use crate::manifest::TableMeta;

/// Writes the fields of a log file.
///
/// # Errors
/// What cannot be read; the fields before it are in the dump.
pub fn describe_log(file: &[u8], dump: &mut Dump) -> Result<(), FormatError> {
    describe_frames(file, FileKind::Log, dump, |kind, payload, base, dump| match kind {
        BATCH => describe_batch(payload, base, dump).map_err(|error| error.moved_by(base)),
        END => {
            dump.note("the log was closed in order");
            Ok(())
        }
        kind => Err(FormatError::invalid("log", base, format!("unknown record kind {kind}"))),
    })
}

fn describe_batch(payload: &[u8], base: u64, dump: &mut Dump) -> Result<(), FormatError> {
    let LogBatch { base: first, count, mut fields } = LogBatch::decode(payload)?;
    dump.field(base, &payload[..8], format!("base sequence {first}"));
    dump.field(base + 8, &payload[8..BATCH_HEADER_BYTES], format!("{count} operations"));
    let mut seq = first.0;
    while !fields.is_at_end() {
        let start = fields.offset();
        let op = decode_op(&mut fields)?;
        let what = format!("sequence {seq}: {:?}, keyspace {}, {}", op.kind, op.keyspace, operands(&op)?);
        dump.field(base + start, &payload[start as usize..fields.offset() as usize], what);
        seq += 1;
    }
    Ok(())
}

fn operands(op: &LogOp<'_>) -> Result<String, FormatError> {
    if op.kind != LogOpKind::Ingest {
        return Ok(format!("key {}, value {}", printable(op.key), printable(op.value)));
    }
    let tables = TableMeta::decode_list(op.value)?;
    let each = tables.iter().map(|table| {
        let (smallest, largest) = (printable(&table.smallest), printable(&table.largest));
        format!("table {} of {} bytes, {smallest} to {largest}", table.no, table.bytes)
    });
    Ok(each.collect::<Vec<_>>().join("; "))
}
