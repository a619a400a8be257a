//! The hashes of a page: from a key's hash to its bucket, its place and its fingerprint.

/// Odd, with no pattern: the fraction of the golden ratio.
const TABLE_MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
/// Odd multiplier of the page seeds; any other pattern than the table's.
const PAGE_MULTIPLIER: u64 = 0xD1B5_4A32_D192_ED03;
/// Even; times a page seed, and 1 more, it is an odd multiplier.
const BUCKET_MULTIPLIER: u32 = 0x2545_F492;

/// Low bits of a pilot: which bits of the place word count.
const VARIANT_BITS: u32 = 3;
/// Variants of a place.
pub(super) const VARIANTS: u32 = 1 << VARIANT_BITS;
/// Shifts of a variant, in the high bits of a pilot: by how many slots the bucket is moved.
pub(super) const SHIFTS: u32 = 256 >> VARIANT_BITS;
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
        // An odd multiplier for each seed. The first one takes the hash's low half as it is: a lookup waits for
        // the bucket, and has time for the place while the pilot is loaded.
        let bucket_multiplier = BUCKET_MULTIPLIER.wrapping_mul(u32::from(page_seed)) | 1;
        let place_multiplier = PAGE_MULTIPLIER.wrapping_mul(2 * u64::from(page_seed) + 1);
        Self {
            bucket: (hash as u32).wrapping_mul(bucket_multiplier),
            place: folded_product(hash, place_multiplier),
        }
    }

    /// The bucket.
    #[inline]
    pub(super) fn bucket(self, scale: BucketScale) -> u32 {
        let linear = u64::from(self.bucket);
        let quadratic = (linear * linear) >> 32;
        ((quadratic * scale.quadratic + linear * scale.linear) >> 35) as u32
    }

    /// The word from which places are made.
    #[inline]
    pub(super) fn place(self) -> u64 {
        self.place
    }
}

/// How bucket words become buckets. Seven parts in eight of the scale are quadratic: the first buckets
/// are large and are placed while the page is empty, the last ones are small and fit the gaps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BucketScale {
    /// The parts, times the number of buckets.
    quadratic: u64,
    linear: u64,
}

impl BucketScale {
    pub(super) fn new(buckets: u32) -> Self {
        Self { quadratic: 7 * u64::from(buckets), linear: u64::from(buckets) }
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
    // No mask: a rotation by 64 bits more is the same.
    let shifted = base_slot(place, pilot, slots) + (pilot >> VARIANT_BITS);
    // One key in fifty wraps: a branch that is foretold costs less than waiting for the comparison.
    if shifted >= slots { wrapped(shifted, slots) } else { shifted }
}

#[cold]
fn wrapped(shifted: u32, slots: u32) -> u32 {
    shifted - slots
}

/// The pilot of a variant and a shift.
#[inline]
pub(super) fn pilot(variant: u32, shift: u32) -> u8 {
    (shift << VARIANT_BITS | variant) as u8
}

/// The fingerprint of a hash: its low bits. Pages are cut by its high ones.
#[inline]
pub(super) fn fingerprint(hash: u64, bits: u32) -> u64 {
    hash & ((1 << bits) - 1)
}
