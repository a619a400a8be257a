//! A page, read. Total on any bytes: what is wrong is an error, at the latest when it is used.

use std::cmp::Ordering;

use super::{
    COUNT_BITS, COUNT_MASK, Entry, FIELD_COUNT, FIELD_FIRST_ENTRY, FIELD_FIRST_KEY, FIELD_PREFIX,
    FirstOrdinals, PAGE_HEADER_BYTES, SECTION, SLOT_BYTES, check_crc,
};
use crate::{FormatError, Problem, SeqNo, SlotNo, UNIT_BYTES};

/// Up to so many slots are compared with an offset in one go.
const SLOTS_AT_ONCE: usize = 64;

/// A page's bytes as slots and entries.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    bytes: &'a [u8],
    slots: &'a [u8],
    prefix: &'a [u8],
}

impl<'a> Page<'a> {
    /// Reads the header of a page that is no jumbo run and starts with `bytes`; more may follow
    /// behind it. Nothing else is believed or checked.
    ///
    /// # Errors
    /// A page longer than `bytes`, no entry, or a slot array or a prefix that reaches past the
    /// page.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let truncated = |needed: usize| {
            let problem = Problem::Truncated { needed: needed as u64, have: bytes.len() as u64 };
            FormatError::new(SECTION, 0, problem)
        };
        let header = bytes.get(..PAGE_HEADER_BYTES).ok_or_else(|| truncated(PAGE_HEADER_BYTES))?;
        let count_and_units = u16_at(header, FIELD_COUNT);
        let page_bytes = (usize::from(count_and_units >> COUNT_BITS) + 1) * UNIT_BYTES;
        let bytes = bytes.get(..page_bytes).ok_or_else(|| truncated(page_bytes))?;
        let count = usize::from(count_and_units & COUNT_MASK);
        let slots_end = PAGE_HEADER_BYTES + SLOT_BYTES * count;
        let prefix_end = slots_end + usize::from(u16_at(header, FIELD_PREFIX));
        let prefix = bytes.get(slots_end..prefix_end).ok_or_else(|| truncated(prefix_end))?;
        if count == 0 {
            return Err(FormatError::invalid(SECTION, FIELD_COUNT as u64, "a page without an entry"));
        }
        Ok(Self { bytes, slots: &bytes[PAGE_HEADER_BYTES..slots_end], prefix })
    }

    /// Compares the page's checksum with its bytes.
    pub fn check_crc(&self, salt: u32) -> Result<(), FormatError> {
        check_crc(SECTION, self.bytes, salt)
    }

    /// The page's bytes, whole units.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Entries on the page.
    #[inline]
    pub fn count(&self) -> usize {
        self.slots.len() / SLOT_BYTES
    }

    /// What all keys of the page start with.
    pub fn prefix(&self) -> &'a [u8] {
        self.prefix
    }

    /// The ordinals in the header.
    pub fn first(&self) -> FirstOrdinals {
        FirstOrdinals {
            entry: u32_at(self.bytes, FIELD_FIRST_ENTRY),
            key: u32_at(self.bytes, FIELD_FIRST_KEY),
        }
    }

    /// The offset that a slot names; the slot must be on the page.
    #[inline]
    pub(super) fn offset(&self, slot: usize) -> usize {
        usize::from(u16_at(self.slots, SLOT_BYTES * slot))
    }

    /// Where the entry of a slot starts, in bytes from the start of the page; 0 if there is no
    /// such slot.
    #[inline]
    pub fn entry_offset(&self, slot: SlotNo) -> u16 {
        let slot = usize::from(slot.0);
        if slot < self.count() { u16_at(self.slots, SLOT_BYTES * slot) } else { 0 }
    }

    /// The entry of a slot.
    ///
    /// # Errors
    /// No such slot, or no entry where the slot says.
    #[inline]
    pub fn entry(&self, slot: SlotNo) -> Result<Entry<'a>, FormatError> {
        let slot = usize::from(slot.0);
        if slot >= self.count() {
            let what = format!("slot {slot} of a page with {} entries", self.count());
            return Err(FormatError::invalid(SECTION, 0, what));
        }
        self.entry_of(slot)
    }

    #[inline]
    fn entry_of(&self, slot: usize) -> Result<Entry<'a>, FormatError> {
        Entry::decode(self.bytes, self.offset(slot), self.prefix)
    }

    /// The entry that starts at `offset`, if a slot names it.
    ///
    /// # Errors
    /// No entry where the slot says.
    #[inline]
    pub fn entry_at(&self, offset: u16) -> Result<Option<Entry<'a>>, FormatError> {
        match self.names(offset) {
            true => Entry::decode(self.bytes, offset.into(), self.prefix).map(Some),
            false => Ok(None),
        }
    }

    /// Whether a slot names `offset`. The slots of a common page are compared all at once, without a
    /// branch to mispredict.
    #[inline]
    fn names(&self, offset: u16) -> bool {
        if self.count() <= SLOTS_AT_ONCE {
            let (slots, _) = self.slots.as_chunks();
            return slots.iter().map(|slot| u16::from(u16::from_le_bytes(*slot) == offset)).sum::<u16>() > 0;
        }
        let slot = self.partition(|slot| Ok(self.offset(slot) < usize::from(offset)));
        slot.is_ok_and(|slot| slot < self.count() && self.offset(slot) == usize::from(offset))
    }

    /// The slot of the first entry at or after (key, sequence), in the order (key ascending,
    /// sequence descending); the number of entries if there is none.
    ///
    /// # Errors
    /// A slot on the way that names no entry.
    #[inline]
    pub fn search(&self, key: &[u8], seq: SeqNo) -> Result<usize, FormatError> {
        let (start, rest) = key.split_at(key.len().min(self.prefix.len()));
        match start.cmp(self.prefix) {
            Ordering::Less => return Ok(0),
            Ordering::Greater => return Ok(self.count()),
            Ordering::Equal => {}
        }
        self.partition(|slot| {
            let entry = self.entry_of(slot)?;
            Ok(entry.suffix.cmp(rest).then(seq.cmp(&entry.seq)).is_lt())
        })
    }

    /// The first slot for which `before` does not hold, by binary search.
    #[inline]
    fn partition(&self, before: impl Fn(usize) -> Result<bool, FormatError>) -> Result<usize, FormatError> {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = low.midpoint(high);
            match before(middle)? {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }
}

#[inline]
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
