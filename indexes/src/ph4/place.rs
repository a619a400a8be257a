//! A place as a number: page and offset in as few bits as the table's places need.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 1 | bits of an offset, low in the number; those of the page are above |
//! | 1 | 1 | how far offsets are shifted: all of the table's are multiples of 2 to this |
//! | 2 | 6 | zero |

use kiban_formats::describe::Dump;
use kiban_formats::{FormatError, PageNo, Problem};

use crate::contract::Location;

const SECTION: &str = "places";
/// Bytes before the directory.
pub(super) const PLACE_BYTES: usize = 8;
/// Bits of an offset in a page.
const OFFSET_BITS_MAX: u32 = 16;

/// A place before the table's bits are known: page above, offset below.
#[inline]
pub(super) fn raw(page: PageNo, offset: u16) -> u64 {
    u64::from(page.0) << OFFSET_BITS_MAX | u64::from(offset)
}

/// What has been seen of a table's places.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PlacesSeen {
    page_max: u32,
    offset_max: u16,
    /// All offsets ORed.
    offset_bits: u16,
}

impl PlacesSeen {
    #[inline]
    pub(super) fn add(&mut self, page: PageNo, offset: u16) {
        self.page_max = self.page_max.max(page.0);
        self.offset_max = self.offset_max.max(offset);
        self.offset_bits |= offset;
    }

    pub(super) fn coding(&self) -> PlaceCoding {
        // No offset but 0: jumbo runs only.
        let shift = if self.offset_bits == 0 { 0 } else { self.offset_bits.trailing_zeros() };
        PlaceCoding { offset_bits: u16::BITS - (self.offset_max >> shift).leading_zeros(), shift }
    }

    /// The greatest number of a place.
    pub(super) fn number_max(&self) -> u64 {
        self.coding().number(raw(PageNo(self.page_max), u16::MAX))
    }
}

/// How places are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlaceCoding {
    offset_bits: u32,
    shift: u32,
}

impl PlaceCoding {
    /// The number of a place; an offset that is too large counts as the largest.
    pub(super) fn number(self, raw: u64) -> u64 {
        let (page, offset) = (raw >> OFFSET_BITS_MAX, raw & u64::from(u16::MAX));
        let unit = (offset >> self.shift).min((1 << self.offset_bits) - 1);
        page << self.offset_bits | unit
    }

    /// The place of a number.
    #[inline]
    pub(super) fn location(self, number: u64) -> Location {
        // More bits than a page has are refused when the file is opened.
        let page = (number >> self.offset_bits) as u32;
        let unit = number & ((1 << self.offset_bits) - 1);
        // The bits and the shift are 16 together.
        Location::Entry { page: PageNo(page), offset: (unit << self.shift) as u16 }
    }

    /// Whether numbers of so many bits are places: page, offset, and a bit for the two numbers above all places.
    pub(super) fn takes(self, number_bits: u32) -> bool {
        number_bits <= u32::BITS + self.offset_bits + 1
    }

    pub(super) fn encode(self) -> [u8; PLACE_BYTES] {
        [self.offset_bits as u8, self.shift as u8, 0, 0, 0, 0, 0, 0]
    }

    /// Reads the coding; what is behind it.
    pub(super) fn decode(bytes: &[u8]) -> Result<(Self, &[u8]), FormatError> {
        let truncated = Problem::Truncated { needed: PLACE_BYTES as u64, have: bytes.len() as u64 };
        let (head, rest) =
            bytes.split_first_chunk().ok_or_else(|| FormatError::new(SECTION, 0, truncated))?;
        let [offset_bits, shift, zeros @ ..]: &[u8; PLACE_BYTES] = head;
        let (offset_bits, shift) = (u32::from(*offset_bits), u32::from(*shift));
        if offset_bits + shift > OFFSET_BITS_MAX {
            let what = format!("offsets of {offset_bits} bits, shifted by {shift}");
            return Err(FormatError::invalid(SECTION, 0, what));
        }
        if *zeros != [0; 6] {
            return Err(FormatError::invalid(SECTION, 2, "unknown flags"));
        }
        Ok((Self { offset_bits, shift }, rest))
    }

    /// Writes the fields.
    ///
    /// # Errors
    /// What does not decode.
    pub(super) fn describe(bytes: &[u8], offset: u64, dump: &mut Dump) -> Result<(), FormatError> {
        let (coding, _) = Self::decode(bytes)?;
        dump.field(offset, &bytes[..1], format!("offsets of {} bits", coding.offset_bits));
        dump.field(offset + 1, &bytes[1..2], format!("in units of {} bytes", 1 << coding.shift));
        dump.field(offset + 2, &bytes[2..PLACE_BYTES], "zero");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mphf::value_bits;

    #[test]
    fn places_come_back_in_as_few_bits_as_they_need() {
        let places: [(&[(u32, u16)], u64); 6] = [
            (&[(0, 0)], 0),
            (&[(5, 0), (9, 0)], 9),
            (&[(76_923, 4_094), (0, 16)], (76_923 << 11) + 2_047),
            (&[(7, 4_088), (1, 64)], (7 << 9) + 511),
            (&[(u32::MAX, u16::MAX)], (1 << 48) - 1),
            (&[(3, 64)], (3 << 1) + 1),
        ];
        for (places, number_max) in places {
            let mut seen = PlacesSeen::default();
            places.iter().for_each(|(page, offset)| seen.add(PageNo(*page), *offset));
            assert_eq!(seen.number_max(), number_max);
            let (coding, _) = PlaceCoding::decode(&seen.coding().encode()).unwrap();
            assert_eq!(coding, seen.coding());
            for (page, offset) in places {
                let page = PageNo(*page);
                let location = coding.location(coding.number(raw(page, *offset)));
                assert_eq!(location, Location::Entry { page, offset: *offset });
            }
        }
    }

    #[test]
    fn impossible_codings_are_refused() {
        for bytes in [[16, 1, 0, 0, 0, 0, 0, 0], [0, 17, 0, 0, 0, 0, 0, 0], [11, 1, 0, 0, 0, 0, 0, 1]] {
            assert!(PlaceCoding::decode(&bytes).is_err(), "{bytes:?}");
        }
        assert!(PlaceCoding::decode(&[0; 7]).is_err());
        let coding = PlaceCoding::decode(&[4, 0, 0, 0, 0, 0, 0, 0]).unwrap().0;
        assert!(coding.takes(value_bits((1 << 36) - 1)), "the last place there is");
        assert!(!coding.takes(38), "pages that no table has");
    }
}
