//! A node, read.

use std::cmp::Ordering;

use super::{
    CHILD_BYTES, FIELD_COUNT, FIELD_FIRST, FIELD_STRIDE, FIELD_UNITS, NODE_HEADER_BYTES, RESTART_EVERY,
    SECTION, Separator, TOP_SECTION, restart_bytes,
};
use crate::fields::Fields;
use crate::page::{check_crc, shared_len};
use crate::{FormatError, PageNo, Problem, SeqNo, UNIT_BYTES};

/// A fence page, or the body of the top tier. Total on any bytes.
#[derive(Clone, Copy, Debug)]
pub struct FenceNode<'a> {
    bytes: &'a [u8],
    is_top: bool,
    count: usize,
    first: u32,
    stride: u16,
}

/// Units of the fence page that starts with these bytes. At least 1.
///
/// # Errors
/// Fewer bytes than a header.
pub fn fence_units(bytes: &[u8]) -> Result<u16, FormatError> {
    match bytes.get(FIELD_UNITS..FIELD_UNITS + 2) {
        Some(&[low, high]) => match u16::from_le_bytes([low, high]) {
            0 => Err(FormatError::invalid(SECTION, FIELD_UNITS as u64, "a fence page of no unit")),
            units => Ok(units),
        },
        _ => {
            let problem = Problem::Truncated { needed: NODE_HEADER_BYTES as u64, have: bytes.len() as u64 };
            Err(FormatError::new(SECTION, 0, problem))
        }
    }
}

impl<'a> FenceNode<'a> {
    /// Reads a fence page's header; the bytes are all its units.
    ///
    /// # Errors
    /// Another length than the header says, no child, lists that reach past the end.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let units = fence_units(bytes)?;
        if bytes.len() != usize::from(units) * UNIT_BYTES {
            let what = format!("a fence page of {units} units in {} bytes", bytes.len());
            return Err(FormatError::invalid(SECTION, FIELD_UNITS as u64, what));
        }
        Self::parse_node(bytes, false)
    }

    /// Reads the header of the top tier's body.
    pub(super) fn parse_top(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let node = Self::parse_node(bytes, true)?;
        if u16_at(bytes, FIELD_UNITS) != 0 {
            return Err(FormatError::invalid(TOP_SECTION, FIELD_UNITS as u64, "a top tier that has units"));
        }
        Ok(node)
    }

    fn parse_node(bytes: &'a [u8], is_top: bool) -> Result<Self, FormatError> {
        let section = if is_top { TOP_SECTION } else { SECTION };
        let mut fields = Fields::new(section, bytes);
        let (count, first, stride) = (fields.u32()?, fields.u32()?, fields.u16()?);
        let node = Self { bytes, is_top, count: count as usize, first, stride };
        let listed = if stride == 0 { CHILD_BYTES as u64 } else { 0 };
        let restarts = u64::from(count).div_ceil(RESTART_EVERY as u64) * restart_bytes(is_top) as u64;
        let lead = NODE_HEADER_BYTES as u64 + restarts + listed * u64::from(count);
        if count == 0 || lead > bytes.len() as u64 {
            let what = format!("a node of {count} children in {} bytes", bytes.len());
            return Err(FormatError::invalid(section, FIELD_COUNT as u64, what));
        }
        Ok(node)
    }

    /// The part of the file that the node is.
    fn section(&self) -> &'static str {
        if self.is_top { TOP_SECTION } else { SECTION }
    }

    /// Compares the node's checksum with its bytes.
    pub fn check_crc(&self, salt: u32) -> Result<(), FormatError> {
        check_crc(self.section(), self.bytes, salt)
    }

    /// Its children.
    #[inline]
    pub fn count(&self) -> usize {
        self.count
    }

    fn restart_count(&self) -> usize {
        self.count.div_ceil(RESTART_EVERY)
    }

    fn restart(&self, group: usize) -> usize {
        let at = NODE_HEADER_BYTES + restart_bytes(self.is_top) * group;
        match self.is_top {
            true => u32_at(self.bytes, at) as usize,
            false => usize::from(u16_at(self.bytes, at)),
        }
    }

    /// The page number of a child.
    ///
    /// # Errors
    /// No such child, or a page number above 2^32 - 1.
    #[inline]
    pub fn child(&self, child: usize) -> Result<PageNo, FormatError> {
        let fail = |what: String| Err(FormatError::invalid(self.section(), FIELD_FIRST as u64, what));
        if child >= self.count {
            return fail(format!("child {child} of a node with {} children", self.count));
        }
        if self.stride == 0 {
            let lists = NODE_HEADER_BYTES + restart_bytes(self.is_top) * self.restart_count();
            return Ok(PageNo(u32_at(self.bytes, lists + CHILD_BYTES * child)));
        }
        let page = u64::from(self.first) + child as u64 * u64::from(self.stride);
        match u32::try_from(page) {
            Ok(page) => Ok(PageNo(page)),
            Err(_) => fail(format!("child {child} on page {page}")),
        }
    }

    /// The last child whose separator is at or before (key, sequence); the first child if there
    /// is none. The key is without the common prefix.
    ///
    /// # Errors
    /// A separator on the way that is none.
    pub fn find(&self, key: &[u8], seq: SeqNo) -> Result<usize, FormatError> {
        let group = self.last_group_before(key, seq)?;
        let in_group = RESTART_EVERY.min(self.count - group * RESTART_EVERY);
        let mut fields = self.group(group)?;
        // `matched` is what the key shares with the separator before, which is not after the key.
        // So a separator that shares more with that one is before the key as well, and one that
        // shares less is after it.
        let mut matched = 0;
        for place in 0..in_group {
            let raw = self.read(&mut fields)?;
            match (raw.shared as usize).cmp(&matched) {
                Ordering::Greater => continue,
                Ordering::Less => return Ok(group * RESTART_EVERY + place.saturating_sub(1)),
                Ordering::Equal => {}
            }
            let rest = key.get(matched..).unwrap_or_default();
            if order(&raw, rest, seq).is_gt() {
                return Ok(group * RESTART_EVERY + place.saturating_sub(1));
            }
            matched += shared_len(raw.suffix, rest);
        }
        Ok(group * RESTART_EVERY + in_group - 1)
    }

    /// The last group of eight whose first separator is at or before (key, sequence).
    fn last_group_before(&self, key: &[u8], seq: SeqNo) -> Result<usize, FormatError> {
        let (mut low, mut high) = (1, self.restart_count());
        while low < high {
            let middle = low.midpoint(high);
            let raw = self.read(&mut self.group(middle)?)?;
            match order(&raw, key, seq).is_gt() {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        Ok(low - 1)
    }

    fn group(&self, group: usize) -> Result<Fields<'a>, FormatError> {
        let start = self.restart(group);
        match self.bytes.get(start..) {
            Some(bytes) => Ok(Fields::new(self.section(), bytes)),
            None => Err(FormatError::invalid(self.section(), start as u64, "separators past the end")),
        }
    }

    fn read(&self, fields: &mut Fields<'a>) -> Result<RawSeparator<'a>, FormatError> {
        let shared = fields.varint_u32()?;
        let len_and_flag = fields.varint()?;
        let suffix = fields.bytes(len_and_flag >> 1)?;
        let seq = match len_and_flag & 1 {
            0 => None,
            _ => Some(SeqNo(fields.varint()?)),
        };
        Ok(RawSeparator { shared, suffix, seq })
    }

    /// All separators, whole but for the common prefix, with their children.
    ///
    /// # Errors
    /// The first separator that is none.
    pub fn separators(&self) -> Result<Vec<(Separator, PageNo)>, FormatError> {
        let mut all: Vec<(Separator, PageNo)> = Vec::new();
        let mut fields = self.group(0)?;
        let mut key: Vec<u8> = Vec::new();
        for child in 0..self.count {
            let group = child / RESTART_EVERY;
            let is_restart = child.is_multiple_of(RESTART_EVERY);
            if is_restart {
                fields = self.group(group)?;
                key.clear();
            }
            let raw = self.read(&mut fields)?;
            if raw.shared as usize > key.len() {
                let what = format!("separator {child} shares {} bytes of {}", raw.shared, key.len());
                return Err(FormatError::invalid(self.section(), 0, what));
            }
            key.truncate(raw.shared as usize);
            key.extend_from_slice(raw.suffix);
            all.push((Separator { key: key.clone(), seq: raw.seq }, self.child(child)?));
        }
        Ok(all)
    }
}

/// A separator as it is stored.
struct RawSeparator<'a> {
    shared: u32,
    suffix: &'a [u8],
    seq: Option<SeqNo>,
}

/// How a separator, of which the first bytes are known to be the key's, stands to (rest of the
/// key, sequence).
#[inline]
fn order(separator: &RawSeparator<'_>, rest: &[u8], seq: SeqNo) -> Ordering {
    separator.suffix.cmp(rest).then_with(|| match separator.seq {
        None => Ordering::Less,
        Some(version) => seq.cmp(&version),
    })
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[inline]
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

const _: () = assert!(FIELD_STRIDE + 2 == FIELD_UNITS);
