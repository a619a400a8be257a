//! The filter: a split-block Bloom filter over the hashes of a table's keys.
//!
//! Blocks of 256 bits, one bit in each of eight 32-bit lanes, as published by Putze, Sanders and
//! Singler ("Cache-, Hash- and Space-Efficient Bloom Filters", 2007) and specified for the
//! Parquet format, whose eight constants it uses. A probe touches one block.
//!
//! The section is the blocks, 32 bytes each, lanes little-endian. No block: no filter.
//!
//! The upper half of a hash chooses the block, the lower half the bits.

use crate::FormatError;
use crate::describe::Dump;

/// Bytes of a block.
pub const FILTER_BLOCK_BYTES: usize = 4 * LANES;

const LANES: usize = 8;
const SECTION: &str = "filter";
/// Odd multipliers, one a lane: "salt" in the Parquet specification.
const MULTIPLIERS: [u32; LANES] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

type Block = [u32; LANES];

/// One bit a lane.
#[inline]
fn mask(hash: u64) -> Block {
    MULTIPLIERS.map(|multiplier| 1 << ((hash as u32).wrapping_mul(multiplier) >> 27))
}

#[inline]
fn block_of(hash: u64, blocks: usize) -> usize {
    (((hash >> 32) * blocks as u64) >> 32) as usize
}

/// The section's bytes for these hashes of distinct keys. Nothing for no key or no bits.
pub fn build_filter(hashes: &[u64], bits_per_key: u32) -> Vec<u8> {
    let bits = hashes.len() as u64 * u64::from(bits_per_key);
    let count = bits.div_ceil(8 * FILTER_BLOCK_BYTES as u64) as usize;
    let mut blocks: Vec<Block> = vec![[0; LANES]; count];
    if count > 0 {
        for hash in hashes {
            let block = &mut blocks[block_of(*hash, count)];
            block.iter_mut().zip(mask(*hash)).for_each(|(lane, bit)| *lane |= bit);
        }
    }
    blocks.iter().flatten().flat_map(|lane| lane.to_le_bytes()).collect()
}

/// A filter in memory.
#[derive(Debug)]
pub struct Filter {
    blocks: Box<[Block]>,
}

impl Filter {
    /// Reads a section.
    ///
    /// # Errors
    /// A length that is no number of blocks.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        if !bytes.len().is_multiple_of(FILTER_BLOCK_BYTES) || bytes.len() as u64 >> 32 >= 32 {
            let what = format!("{} bytes are no number of blocks", bytes.len());
            return Err(FormatError::invalid(SECTION, 0, what));
        }
        let lane = |lane: &[u8]| u32::from_le_bytes([lane[0], lane[1], lane[2], lane[3]]);
        let block = |block: &[u8]| std::array::from_fn(|no| lane(&block[4 * no..]));
        Ok(Self { blocks: bytes.chunks_exact(FILTER_BLOCK_BYTES).map(block).collect() })
    }

    /// `false`: no key with this hash is in the table.
    #[inline]
    pub fn may_hold(&self, hash: u64) -> bool {
        match self.blocks.get(block_of(hash, self.blocks.len())) {
            Some(block) => {
                let missing =
                    block.iter().zip(mask(hash)).fold(0, |missing, (lane, bit)| missing | (!lane & bit));
                missing == 0
            }
            None => true,
        }
    }

    /// Bytes of memory.
    pub fn resident_bytes(&self) -> usize {
        size_of_val(&*self.blocks)
    }
}

/// Writes a filter section's fields.
pub fn describe_filter(bytes: &[u8], base: u64, dump: &mut Dump) {
    for (no, block) in bytes.chunks(FILTER_BLOCK_BYTES).enumerate() {
        let set: u32 = block.iter().map(|byte| byte.count_ones()).sum();
        let at = base + (no * FILTER_BLOCK_BYTES) as u64;
        dump.field(at, block, format!("block {no}: {set} of 256 bits set"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use xxhash_rust::xxh3::xxh3_64_with_seed;

    fn hashes(from: u64, count: u64) -> Vec<u64> {
        (from..from + count).map(|no| xxh3_64_with_seed(&no.to_le_bytes(), 7)).collect()
    }

    proptest! {
        #[test]
        fn no_key_of_the_table_is_ever_denied(keys in prop::collection::vec(any::<u64>(), 0..300), bits in 0..33u32) {
            let filter = Filter::decode(&build_filter(&keys, bits)).unwrap();
            prop_assert!(keys.iter().all(|hash| filter.may_hold(*hash)));
        }
    }

    /// The figures of the published analysis, within a tenth.
    #[test]
    fn other_keys_pass_as_seldom_as_published() {
        let present = hashes(0, 100_000);
        let absent = hashes(1 << 40, 400_000);
        for (bits, expected) in [(8, 0.033), (10, 0.0127), (12, 0.0054), (16, 0.0013)] {
            let filter = Filter::decode(&build_filter(&present, bits)).unwrap();
            let passed = absent.iter().filter(|hash| filter.may_hold(**hash)).count();
            let rate = passed as f64 / absent.len() as f64;
            assert!((rate / expected - 1.0).abs() < 0.1, "{bits} bits a key: {rate}, expected {expected}");
        }
    }

    #[test]
    fn size_is_the_bits_asked_for_in_whole_blocks() {
        assert!(build_filter(&[], 10).is_empty());
        assert!(build_filter(&[1], 0).is_empty());
        assert_eq!(build_filter(&[1], 1).len(), 32);
        assert_eq!(build_filter(&hashes(0, 1_000), 10).len(), 40 * 32);
    }

    #[test]
    fn no_filter_lets_everything_pass_and_odd_lengths_are_refused() {
        assert!(Filter::decode(&[]).unwrap().may_hold(5));
        assert!(Filter::decode(&[0; 33]).is_err());
    }
}
