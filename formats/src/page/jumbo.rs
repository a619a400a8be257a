//! Jumbo runs: a record alone in 4 KiB units of its own.

use super::checksum::{check_crc, put_crc};
use super::entry::{EntryLens, EntryStart, KeyParts};
use super::{
    Entry, FIELD_COUNT, FIELD_CRC, FIELD_FIRST_ENTRY, FIELD_PREFIX, FirstOrdinals, JUMBO_MARK, KEY_BYTES_MAX,
    NewEntry, PAGE_HEADER_BYTES, SECTION,
};
use crate::fields::Fields;
use crate::{FormatError, Kind, Problem, SeqNo, UNIT_BYTES};

/// Where the entry of a jumbo run starts.
pub const JUMBO_HEADER_BYTES: usize = FIELD_ZERO + 4;
const FIELD_UNITS: usize = PAGE_HEADER_BYTES;
const FIELD_ZERO: usize = FIELD_UNITS + 4;
const _: () = assert!(JUMBO_HEADER_BYTES == 24);

/// Bytes that start a page say that it is a jumbo run.
#[inline]
pub fn is_jumbo(bytes: &[u8]) -> bool {
    bytes.get(FIELD_PREFIX..FIELD_FIRST_ENTRY) == Some(&JUMBO_MARK.to_le_bytes())
}

/// Units that a record takes as a jumbo run.
pub(super) fn jumbo_units(lens: EntryLens) -> u64 {
    ((JUMBO_HEADER_BYTES + lens.encoded(0)) as u64).div_ceil(UNIT_BYTES as u64)
}

/// Appends all of a run but its value and the zeros behind it, and returns the run's units. The
/// value and zeros up to a multiple of the unit are to follow.
///
/// # Errors
/// The record is larger than 2^32 - 1 units.
pub fn encode_jumbo_head(
    entry: &NewEntry<'_>,
    first: FirstOrdinals,
    salt: u32,
    out: &mut Vec<u8>,
) -> Result<u32, FormatError> {
    let start = out.len();
    let units = u32::try_from(jumbo_units(entry.lens()))
        .map_err(|_| FormatError::invalid(SECTION, 0, "a record of more than 2^32 - 1 units"))?;
    out.extend_from_slice(&1u16.to_le_bytes());
    out.extend_from_slice(&JUMBO_MARK.to_le_bytes());
    out.extend_from_slice(&first.entry.to_le_bytes());
    out.extend_from_slice(&first.key.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&units.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    entry.sealed_head().encode(entry.key.len(), entry.value.len(), out);
    out.extend_from_slice(entry.key);
    put_crc(&mut out[start..], salt);
    Ok(units)
}

/// The head of a jumbo run: all but the value.
#[derive(Clone, Copy, Debug)]
pub struct Jumbo<'a> {
    /// Units of the run.
    pub units: u32,
    /// The ordinals in the header.
    pub first: FirstOrdinals,
    /// The key.
    pub key: &'a [u8],
    /// Where the value starts in the run.
    pub value_offset: usize,
    /// Bytes of the value; they are inside the run.
    pub value_len: u32,
    start: EntryStart,
}

impl<'a> Jumbo<'a> {
    /// How many bytes of the run [`Jumbo::parse`] needs, read from the first unit. At most a key
    /// and 64 bytes.
    ///
    /// # Errors
    /// No head is there, or one whose key is longer than keys are.
    pub fn head_bytes(unit: &[u8]) -> Result<usize, FormatError> {
        let (start, start_len) = decode_start(unit)?;
        let key_len = usize::try_from(start.suffix_len).ok().filter(|len| *len <= KEY_BYTES_MAX);
        let key_len = key_len.ok_or_else(|| {
            let what = format!("a key of {} bytes; keys have at most {KEY_BYTES_MAX}", start.suffix_len);
            FormatError::invalid(SECTION, JUMBO_HEADER_BYTES as u64, what)
        })?;
        Ok(start_len + key_len)
    }

    /// Reads the head of a run that starts with `bytes`, and checks its checksum.
    ///
    /// # Errors
    /// Fewer bytes than [`Jumbo::head_bytes`], a wrong checksum, a run of another length than
    /// its record needs.
    pub fn parse(bytes: &'a [u8], salt: u32) -> Result<Self, FormatError> {
        let head_bytes = Self::head_bytes(bytes)?;
        let Some(head) = bytes.get(..head_bytes) else {
            let problem = Problem::Truncated { needed: head_bytes as u64, have: bytes.len() as u64 };
            return Err(FormatError::new(SECTION, 0, problem));
        };
        check_crc(SECTION, head, salt)?;
        let (start, start_len) = decode_start(head)?;
        let mut header = Fields::new(SECTION, head);
        let (count, mark) = (header.u16()?, header.u16()?);
        let first = FirstOrdinals { entry: header.u32()?, key: header.u32()? };
        let (_crc, units, zero) = (header.u32()?, header.u32()?, header.u32()?);
        if count != 1 || mark != JUMBO_MARK || zero != 0 {
            return Err(FormatError::invalid(SECTION, FIELD_COUNT as u64, "a header that is no jumbo run's"));
        }
        let run_bytes = head_bytes as u64 + start.value_len;
        if run_bytes.div_ceil(UNIT_BYTES as u64) != u64::from(units) {
            let what = format!("a run of {units} units for {run_bytes} bytes");
            return Err(FormatError::invalid(SECTION, FIELD_UNITS as u64, what));
        }
        Ok(Self {
            units,
            first,
            key: &head[start_len..],
            value_offset: head_bytes,
            // The decoder refuses longer values.
            value_len: start.value_len as u32,
            start,
        })
    }

    /// The entry's sequence.
    pub fn seq(&self) -> SeqNo {
        self.start.seq
    }

    /// The entry's kind.
    pub fn kind(&self) -> Kind {
        self.start.kind
    }

    /// The entry's next newer version, if there is one.
    pub fn newer(&self) -> Option<SeqNo> {
        self.start.newer
    }

    /// The entry, with its value: [`Jumbo::value_len`] bytes from [`Jumbo::value_offset`]. Not
    /// verified.
    pub fn entry(&self, value: &'a [u8]) -> Entry<'a> {
        let key = KeyParts { prefix: &[], suffix: self.key };
        Entry::from_parts(&self.start, key, value, self.value_offset)
    }
}

fn decode_start(bytes: &[u8]) -> Result<(EntryStart, usize), FormatError> {
    let Some(entry) = bytes.get(JUMBO_HEADER_BYTES..) else {
        let problem = Problem::Truncated { needed: JUMBO_HEADER_BYTES as u64, have: bytes.len() as u64 };
        return Err(FormatError::new(SECTION, 0, problem));
    };
    let mut fields = Fields::new(SECTION, entry);
    let start = EntryStart::decode(&mut fields).map_err(|error| error.moved_by(JUMBO_HEADER_BYTES as u64))?;
    Ok((start, JUMBO_HEADER_BYTES + fields.offset() as usize))
}

const _: () = assert!(FIELD_CRC < JUMBO_HEADER_BYTES);
