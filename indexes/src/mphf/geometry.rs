//! How many pages, slots and pilots a number of keys gets.

use std::ops::Range;

use kiban_formats::UNIT_BYTES;

use super::bits::{self, WIDTH_MAX};

/// Bytes of a full page: what a device reads at once.
const PAGE_BYTES: usize = UNIT_BYTES;
/// Tables of fewer keys have no pilots: a page of fingerprints that are scanned.
pub(super) const PILOTED_KEYS_MIN: usize = 128;
/// Bits of the fingerprints that are scanned: 127 of them match by chance once in 2^9.
pub(super) const SCANNED_BITS: u32 = 16;
/// Bits of the fingerprints in slots.
pub(super) const FINGERPRINT_BITS: u32 = 8;
/// Keys of a page at most: what the solver is tuned for.
const PAGE_KEYS_MAX: usize = 2048;
/// From this many pages on they are whole pages of 4 KiB, at multiples of 4 KiB.
const WHOLE_PAGES_MIN: usize = 8;
/// Shorter pages are multiples of a cache line.
const LINE_BYTES: usize = 64;
/// Zeros behind packed values, so that the last one is read like the others.
const READ_AHEAD_BYTES: usize = 8;
/// Keys a bucket on average: more make pilots smaller and the search for them longer.
const KEYS_A_BUCKET: usize = 3;
/// Keys a slot: 99 / 100.
const KEYS_A_SLOT: (usize, usize) = (99, 100);

/// The geometry of a table's hash pages: all pages have the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) pages: u32,
    pub(crate) page_bytes: u32,
    pub(crate) slots: u32,
    /// Pilots of a page; 0: the fingerprints are scanned.
    pub(crate) buckets: u32,
    pub(crate) value_bits: u32,
}

impl Geometry {
    /// For so many hashes, and values of up to `value_bits` bits.
    pub(crate) fn new(keys: usize, value_bits: u32) -> Self {
        match keys {
            0 => Self { value_bits, ..Self::default() },
            1..PILOTED_KEYS_MIN => Self::scanned(keys, value_bits),
            _ => Self::piloted(keys, value_bits),
        }
    }

    /// For keys of which so many have hashes of their own. Where there are no pilots only those count;
    /// elsewhere all do, because they are counted before hashes are compared.
    pub(crate) fn of(keys: usize, hashes: usize, value_bits: u32) -> (Self, usize) {
        let keys = if keys < PILOTED_KEYS_MIN { hashes } else { keys };
        (Self::new(keys, value_bits), keys)
    }

    fn scanned(keys: usize, value_bits: u32) -> Self {
        let mut scanned = Self { pages: 1, slots: keys as u32, buckets: 0, value_bits, page_bytes: 0 };
        scanned.page_bytes = scanned.used_bytes().next_multiple_of(LINE_BYTES) as u32;
        scanned
    }

    fn piloted(keys: usize, value_bits: u32) -> Self {
        let slot_bits = (value_bits + FINGERPRINT_BITS) as usize;
        let pages = keys.div_ceil(page_keys_max(slot_bits));
        let page_keys = keys.div_ceil(pages);
        let page_bytes = match pages {
            WHOLE_PAGES_MIN.. => PAGE_BYTES,
            _ => page_bytes(page_keys, slot_bits).next_multiple_of(LINE_BYTES),
        };
        let buckets = buckets(page_keys);
        Self {
            pages: pages as u32,
            page_bytes: page_bytes as u32,
            slots: ((page_bytes - buckets) * 8 / slot_bits) as u32,
            buckets: buckets as u32,
            value_bits,
        }
    }

    pub(crate) fn is_scanned(&self) -> bool {
        self.buckets == 0
    }

    /// Pages begin at multiples of 4 KiB of the file.
    pub(crate) fn is_aligned(&self) -> bool {
        self.page_bytes as usize == PAGE_BYTES
    }

    /// Bits of a fingerprint.
    pub(crate) fn fingerprint_bits(&self) -> u32 {
        if self.is_scanned() { SCANNED_BITS } else { FINGERPRINT_BITS }
    }

    /// Bits of a slot: the value, and unless fingerprints stand apart its fingerprint.
    #[inline]
    pub(super) fn slot_bits(&self) -> u32 {
        if self.is_scanned() { self.value_bits } else { self.value_bits + FINGERPRINT_BITS }
    }

    /// The bytes of a page's packed slots; of fewer keys' fingerprints and values.
    pub(super) fn slots_range(&self) -> Range<usize> {
        let start = if self.is_scanned() { self.slots as usize * SCANNED_BITS as usize / 8 } else { 0 };
        start..start + (self.slots as usize * self.slot_bits() as usize).div_ceil(8)
    }

    /// Bytes of a page that are used.
    fn used_bytes(&self) -> usize {
        let behind = if self.is_scanned() { READ_AHEAD_BYTES } else { self.buckets as usize };
        self.slots_range().end + behind
    }

    /// Bytes of all pages.
    pub(crate) fn pages_bytes(&self) -> u64 {
        u64::from(self.pages) * u64::from(self.page_bytes)
    }

    /// What stands in a page where there is no key.
    #[inline]
    pub(super) fn empty_value(&self) -> u64 {
        bits::mask(self.value_bits)
    }

    /// What stands for keys that share a hash.
    #[inline]
    pub(super) fn listed_value(&self) -> u64 {
        bits::mask(self.value_bits) - 1
    }

    /// What is wrong with a geometry from a file.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if !(2..=WIDTH_MAX - FINGERPRINT_BITS).contains(&self.value_bits) {
            return Err("values of an impossible width");
        }
        if self.pages == 0 {
            let empty = Self { value_bits: self.value_bits, ..Self::default() };
            return if *self == empty { Ok(()) } else { Err("slots without pages") };
        }
        let scanned_right = self.pages == 1 && (self.slots as usize) < PILOTED_KEYS_MIN;
        if self.slots == 0 || self.is_scanned() && !scanned_right {
            return Err("an impossible number of slots");
        }
        let room = self.page_bytes as usize;
        if room > PAGE_BYTES || room > usize::from(u16::MAX) || self.used_bytes() > room {
            return Err("slots and pilots that do not fit a page");
        }
        match self.is_scanned() || self.buckets as usize >= READ_AHEAD_BYTES {
            true => Ok(()),
            false => Err("too few pilots"),
        }
    }
}

/// Bits that hold values up to `value_max` beside the two that are reserved.
pub(crate) fn value_bits(value_max: u64) -> u32 {
    u64::BITS - (value_max + 2).leading_zeros()
}

fn buckets(page_keys: usize) -> usize {
    page_keys.div_ceil(KEYS_A_BUCKET)
}

fn page_bytes(page_keys: usize, slot_bits: usize) -> usize {
    let (keys, slots) = KEYS_A_SLOT;
    ((page_keys * slots).div_ceil(keys) * slot_bits).div_ceil(8) + buckets(page_keys)
}

/// Keys that fit a page.
fn page_keys_max(slot_bits: usize) -> usize {
    let mut keys = PAGE_KEYS_MAX.min(PAGE_BYTES * 8 / slot_bits);
    while page_bytes(keys, slot_bits) > PAGE_BYTES {
        keys -= 1;
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_keys_has_a_geometry_that_reads_back() {
        for value_bits in [2, 9, 28, 31, 48, 49] {
            for keys in (0..3_000).chain([9_999, 100_000, 1_000_000, 100_000_000]) {
                let geometry = Geometry::new(keys, value_bits);
                assert_eq!(geometry.check(), Ok(()), "{keys} keys, {value_bits} bits");
                let slots = u64::from(geometry.pages) * u64::from(geometry.slots);
                assert!(slots >= keys as u64, "{keys} keys, {value_bits} bits: {slots} slots");
            }
        }
    }

    #[test]
    fn pages_are_as_full_as_the_module_says() {
        // 17 bits of page and 11 of offset: a million keys; 20 and 11: ten millions.
        for (keys, value_bits, bytes_max) in [(1_000_000, 28, 4.89), (10_000_000, 31, 5.28)] {
            let geometry = Geometry::new(keys, value_bits);
            let bytes = geometry.pages_bytes() as f64 / keys as f64;
            assert!(bytes <= bytes_max, "{bytes} bytes a key");
        }
    }

    #[test]
    fn impossible_geometries_are_refused() {
        let good = Geometry::new(5_000, 28);
        for bad in [
            Geometry { value_bits: 1, ..good },
            Geometry { value_bits: 50, ..good },
            Geometry { pages: 0, ..good },
            Geometry { slots: 0, ..good },
            Geometry { slots: u32::MAX, ..good },
            Geometry { buckets: 0, ..good },
            Geometry { buckets: 7, ..good },
            Geometry { buckets: u32::MAX, ..good },
            Geometry { page_bytes: 0, ..good },
            Geometry { page_bytes: u32::MAX, ..good },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }
}
