//! What the manifest knows of a table, so that opening a store opens no table.

use super::{SECTION, change};
use crate::fields::{Fields, put_sized};
use crate::footer::Footer;
use crate::properties::Properties;
use crate::{FileNo, FormatError, Level, SeqNo, TableId, varint};

/// A table as the manifest knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableMeta {
    /// Its file's number.
    pub no: FileNo,
    /// The level it is in.
    pub level: Level,
    /// Its id, which its file and its accessor files carry.
    pub id: TableId,
    /// Its file's length.
    pub bytes: u64,
    /// Entries: all versions and tombstones.
    pub entries: u64,
    /// Distinct keys.
    pub keys: u64,
    /// Tombstones.
    pub tombstones: u64,
    /// Least sequence of an entry.
    pub min_seq: SeqNo,
    /// Greatest sequence of an entry.
    pub max_seq: SeqNo,
    /// Smallest key.
    pub smallest: Box<[u8]>,
    /// Largest key.
    pub largest: Box<[u8]>,
}

impl TableMeta {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        varint::encode(self.no.0, out);
        out.push(self.level.0);
        out.extend_from_slice(&self.id.0);
        for number in [self.bytes, self.entries, self.keys, self.tombstones, self.min_seq.0, self.max_seq.0] {
            varint::encode(number, out);
        }
        put_sized(&self.smallest, out);
        put_sized(&self.largest, out);
    }

    /// What footer and properties say of the table in this file.
    pub fn of(no: FileNo, level: Level, footer: &Footer, properties: Properties) -> Self {
        Self {
            no,
            level,
            id: footer.table_id,
            bytes: footer.file_bytes,
            entries: properties.entries,
            keys: properties.keys,
            tombstones: properties.tombstones,
            min_seq: properties.min_seq,
            max_seq: properties.max_seq,
            smallest: properties.smallest.into(),
            largest: properties.largest.into(),
        }
    }

    /// The same table, ingested and committed at this sequence.
    #[must_use]
    pub fn at(&self, seq: SeqNo) -> Self {
        Self { min_seq: seq, max_seq: seq, ..self.clone() }
    }

    /// The bytes of a list of tables.
    pub fn encode_list(tables: &[Self]) -> Vec<u8> {
        let mut out = Vec::new();
        tables.iter().for_each(|table| table.encode(&mut out));
        out
    }

    /// Reads a list of tables.
    ///
    /// # Errors
    /// No table, or bytes that are none. Offsets count from the start of the list.
    pub fn decode_list(bytes: &[u8]) -> Result<Vec<Self>, FormatError> {
        let mut fields = Fields::new(SECTION, bytes);
        let mut tables = vec![Self::decode(&mut fields)?];
        while !fields.is_at_end() {
            tables.push(Self::decode(&mut fields)?);
        }
        Ok(tables)
    }

    pub(super) fn decode(fields: &mut Fields<'_>) -> Result<Self, FormatError> {
        let start = fields.offset();
        let meta = Self {
            no: change::file(fields)?,
            level: Level(fields.u8()?),
            id: TableId(fields.array()?),
            bytes: fields.varint()?,
            entries: fields.varint()?,
            keys: fields.varint()?,
            tombstones: fields.varint()?,
            min_seq: SeqNo(fields.varint()?),
            max_seq: SeqNo(fields.varint()?),
            smallest: fields.sized()?.into(),
            largest: fields.sized()?.into(),
        };
        let counts = meta.keys <= meta.entries && meta.tombstones <= meta.entries && meta.entries > 0;
        if !counts || meta.min_seq > meta.max_seq || meta.max_seq > SeqNo::MAX || meta.smallest > meta.largest
        {
            return Err(FormatError::invalid(
                SECTION,
                start,
                format!("table {}: senseless numbers", meta.no),
            ));
        }
        Ok(meta)
    }
}
