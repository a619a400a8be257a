//! The hashes of a page: from a key's hash to its bucket, its place and its fingerprint.

/// Odd, with no pattern: the fraction of the golden ratio.
const TABLE_MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
/// Odd multiplier of the page seeds; any other pattern than the table's.
const PAGE_MULTIPLIER: u64 = 0xD1B5_4A32_D192_ED03;

/// Low bits of a pilot: by how many slots the bucket is moved.
pub(super) const SHIFT_BITS: u32 = 5;
/// Shifts of a variant.
pub(super) const SHIFTS: u32 = 1 << SHIFT_BITS;
/// Variants: the high bits of a pilot choose which bits of the place word count.
pub(super) const VARIANTS: u32 = 256 >> SHIFT_BITS;
/// By how many bits variants are apart.
const VARIANT_ROTATION: u32 = u64::BITS / VARIANTS;

/// Both halves of the 128-bit product, one XORed into the other.
#[inline]
fn folded_product(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// The table's own hash of a key. Another seed cures whatever two hashes did badly together; equal
/// hashes stay equal.
#[inline]
pub(super) fn remix(seed: u64, hash: u64) -> u64 {
    folded_product(hash ^ seed, TABLE_MULTIPLIER)
}

/// What a page makes of a hash, by its own seed.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageWords {
    /// Chooses the bucket.
    bucket: u32,
    /// Chooses the slot, together with the pilot.
    place: u64,
}

impl PageWords {
    #[inline]
    pub(super) fn new(hash: u64, page_seed: u8) -> Self {
        // An odd multiplier for each seed.
        let multiplier = PAGE_MULTIPLIER.wrapping_mul(2 * u64::from(page_seed) + 1);
        let product = u128::from(hash) * u128::from(multiplier);
        let low = product as u64;
        Self { bucket: (low >> 32) as u32, place: (product >> 64) as u64 ^ low }
    }

    /// The bucket, of so many. Seven parts in eight of the scale are quadratic: the first buckets
    /// are large and are placed while the page is empty, the last ones are small and fit the gaps.
    #[inline]
    pub(super) fn bucket(self, buckets: u32) -> u32 {
        let linear = u64::from(self.bucket);
        let quadratic = (linear * linear) >> 32;
        let skewed = (7 * quadratic + linear) >> 3;
        ((skewed * u64::from(buckets)) >> 32) as u32
    }

    /// The word from which places are made.
    #[inline]
    pub(super) fn place(self) -> u64 {
        self.place
    }
}

/// The slot that a variant gives to a place word, before it is shifted.
#[inline]
pub(super) fn base_slot(place: u64, variant: u32, slots: u32) -> u32 {
    let bits = place.rotate_left(variant * VARIANT_ROTATION) as u32;
    ((u64::from(bits) * u64::from(slots)) >> 32) as u32
}

/// The slot that a pilot gives to a place word.
#[inline]
pub(super) fn slot(place: u64, pilot: u8, slots: u32) -> u32 {
    let pilot = u32::from(pilot);
    let shifted = base_slot(place, pilot >> SHIFT_BITS, slots) + (pilot & (SHIFTS - 1));
    if shifted >= slots { shifted - slots } else { shifted }
}

/// The fingerprint of a hash: its low bits. Pages are cut by its high ones.
#[inline]
pub(super) fn fingerprint(hash: u64, bits: u32) -> u64 {
    hash & ((1 << bits) - 1)
}
