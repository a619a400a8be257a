//! Changes and their bytes.

use super::{SECTION, TableMeta};
use crate::fields::{Fields, put_sized};
use crate::{FileNo, FormatError, KeyspaceId, Level, SeqNo, varint};

/// A reader that does not know a tag with this bit may skip it.
const OPTIONAL: u8 = 0x80;

/// The log files that must exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LiveLogs {
    /// Logs below this number hold nothing that is needed.
    pub oldest: FileNo,
    /// The newest log known to be durable by name, 0 if there is none. If it is `oldest` or above,
    /// both exist.
    pub newest: FileNo,
}

/// Where a log ended when a store was closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogEnd {
    /// The newest log then, 0 if there is none to speak of. As long as it is needed it is there.
    pub no: FileNo,
    /// Its bytes, all durable. It is never shorter again.
    pub bytes: u64,
}

/// One change of a store's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// What never changes.
    Facts {
        /// Version of the store's format.
        version: u16,
        /// Seed of the key hash.
        hash_seed: u64,
    },
    /// File numbers below this were used.
    NextFile(FileNo),
    /// Sequences up to this were used.
    LastSeq(SeqNo),
    /// A new keyspace.
    AddKeyspace {
        /// Its id, never used before.
        id: KeyspaceId,
        /// Its name.
        name: String,
        /// Its options, as text.
        options: String,
    },
    /// A keyspace and its tables are gone.
    DropKeyspace(KeyspaceId),
    /// New options of a keyspace.
    SetOptions {
        /// The keyspace.
        id: KeyspaceId,
        /// Its options, as text.
        options: String,
    },
    /// A new table. Of two tables of level 0, the one added later is newer.
    AddTable {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The table.
        table: TableMeta,
    },
    /// A table is no longer part of the store.
    RemoveTable {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The table's number.
        no: FileNo,
    },
    /// A table moved to another level as it is.
    MoveTable {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The table's number.
        no: FileNo,
        /// Its level now.
        level: Level,
    },
    /// All operations of a keyspace up to a sequence are in tables.
    Flushed {
        /// The keyspace.
        keyspace: KeyspaceId,
        /// The sequence.
        seq: SeqNo,
    },
    /// Which logs are needed.
    Logs(LiveLogs),
    /// Keyspace ids below this were used.
    NextKeyspace(u32),
    /// The store was closed in order.
    LogEnd(LogEnd),
}

/// The bytes of a list of changes.
pub fn encode_changes(changes: &[Change]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut fields = Vec::new();
    for change in changes {
        fields.clear();
        out.push(encode_fields(change, &mut fields));
        put_sized(&fields, &mut out);
    }
    out
}

fn encode_fields(change: &Change, out: &mut Vec<u8>) -> u8 {
    match change {
        Change::Facts { version, hash_seed } => {
            out.extend_from_slice(&version.to_le_bytes());
            out.extend_from_slice(&hash_seed.to_le_bytes());
            1
        }
        Change::NextFile(no) => {
            varint::encode(no.0, out);
            2
        }
        Change::LastSeq(seq) => {
            varint::encode(seq.0, out);
            3
        }
        Change::AddKeyspace { id, name, options } => {
            varint::encode(id.0.into(), out);
            put_sized(name.as_bytes(), out);
            put_sized(options.as_bytes(), out);
            4
        }
        Change::DropKeyspace(id) => {
            varint::encode(id.0.into(), out);
            5
        }
        Change::SetOptions { id, options } => {
            varint::encode(id.0.into(), out);
            put_sized(options.as_bytes(), out);
            6
        }
        Change::AddTable { keyspace, table } => {
            varint::encode(keyspace.0.into(), out);
            table.encode(out);
            7
        }
        Change::RemoveTable { keyspace, no } => {
            varint::encode(keyspace.0.into(), out);
            varint::encode(no.0, out);
            8
        }
        Change::MoveTable { keyspace, no, level } => {
            varint::encode(keyspace.0.into(), out);
            varint::encode(no.0, out);
            out.push(level.0);
            9
        }
        Change::Flushed { keyspace, seq } => {
            varint::encode(keyspace.0.into(), out);
            varint::encode(seq.0, out);
            10
        }
        Change::Logs(logs) => {
            varint::encode(logs.oldest.0, out);
            varint::encode(logs.newest.0, out);
            11
        }
        Change::NextKeyspace(id) => {
            varint::encode((*id).into(), out);
            12
        }
        Change::LogEnd(end) => {
            varint::encode(end.no.0, out);
            varint::encode(end.bytes, out);
            13
        }
    }
}

/// Reads a list of changes. Unknown optional ones are skipped.
///
/// # Errors
/// Bytes that are no changes, an unknown change that may not be skipped.
pub fn decode_changes(bytes: &[u8]) -> Result<Vec<Change>, FormatError> {
    let mut changes = Vec::new();
    let mut list = Fields::new(SECTION, bytes);
    while !list.is_at_end() {
        changes.extend(decode_one(&mut list)?);
    }
    Ok(changes)
}

/// The next change of a list; `None` if it is unknown and may be skipped.
pub(super) fn decode_one(list: &mut Fields<'_>) -> Result<Option<Change>, FormatError> {
    let start = list.offset();
    let tag = list.u8()?;
    let body = list.sized()?;
    let body_offset = list.offset() - body.len() as u64;
    let mut fields = Fields::new(SECTION, body);
    let change = decode_fields(tag, &mut fields).map_err(|error| error.moved_by(body_offset))?;
    match change {
        Some(change) if fields.is_at_end() => Ok(Some(change)),
        Some(_) => Err(FormatError::invalid(SECTION, start, "bytes behind the last field")),
        None if tag & OPTIONAL != 0 => Ok(None),
        None => Err(FormatError::invalid(SECTION, start, format!("unknown change {tag}"))),
    }
}

fn decode_fields(tag: u8, fields: &mut Fields<'_>) -> Result<Option<Change>, FormatError> {
    Ok(Some(match tag {
        1 => Change::Facts { version: fields.u16()?, hash_seed: fields.u64()? },
        2 => Change::NextFile(file(fields)?),
        3 => Change::LastSeq(seq(fields)?),
        4 => Change::AddKeyspace {
            id: keyspace(fields)?,
            name: fields.text()?.to_owned(),
            options: fields.text()?.to_owned(),
        },
        5 => Change::DropKeyspace(keyspace(fields)?),
        6 => Change::SetOptions { id: keyspace(fields)?, options: fields.text()?.to_owned() },
        7 => Change::AddTable { keyspace: keyspace(fields)?, table: TableMeta::decode(fields)? },
        8 => Change::RemoveTable { keyspace: keyspace(fields)?, no: file(fields)? },
        9 => Change::MoveTable { keyspace: keyspace(fields)?, no: file(fields)?, level: Level(fields.u8()?) },
        10 => Change::Flushed { keyspace: keyspace(fields)?, seq: seq(fields)? },
        11 => Change::Logs(LiveLogs { oldest: file(fields)?, newest: file(fields)? }),
        12 => Change::NextKeyspace(fields.varint_u32()?),
        13 => Change::LogEnd(LogEnd { no: file(fields)?, bytes: fields.varint()? }),
        _ => return Ok(None),
    }))
}

fn keyspace(fields: &mut Fields<'_>) -> Result<KeyspaceId, FormatError> {
    fields.varint_u32().map(KeyspaceId)
}

fn seq(fields: &mut Fields<'_>) -> Result<SeqNo, FormatError> {
    let offset = fields.offset();
    let seq = SeqNo(fields.varint()?);
    if seq > SeqNo::MAX {
        return Err(FormatError::invalid(SECTION, offset, "a sequence above 2^56 - 1"));
    }
    Ok(seq)
}

pub(super) fn file(fields: &mut Fields<'_>) -> Result<FileNo, FormatError> {
    let offset = fields.offset();
    let no = FileNo(fields.varint()?);
    if no > FileNo::MAX {
        return Err(FormatError::invalid(SECTION, offset, "a file number above 2^56 - 1"));
    }
    Ok(no)
}
