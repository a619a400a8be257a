//! Sectors of zeros: what a power cut leaves of bytes that never reached the disk.

use super::ZERO_SECTORS_MAX;

/// What disks write as one.
pub(super) const SECTOR_BYTES: u64 = 512;

const ZEROS: [u8; SECTOR_BYTES as usize] = [0; SECTOR_BYTES as usize];

/// How many sectors a payload that begins at `offset` of a file fills with zeros. The sectors
/// at its ends hold bytes of the frame's header or its end byte too, and are never all zeros.
pub(super) fn zero_in_payload(offset: u64, parts: &[&[u8]]) -> u64 {
    let mut at = offset;
    let mut count = 0;
    let mut is_zero = at.is_multiple_of(SECTOR_BYTES);
    for part in parts {
        let mut rest = *part;
        while !rest.is_empty() {
            let left = (SECTOR_BYTES - at % SECTOR_BYTES) as usize;
            let (piece, after) = rest.split_at(left.min(rest.len()));
            is_zero = is_zero && piece == &ZEROS[..piece.len()];
            (at, rest) = (at + piece.len() as u64, after);
            if at.is_multiple_of(SECTOR_BYTES) {
                count += u64::from(is_zero);
                is_zero = true;
            }
        }
    }
    count
}

/// Whether a frame in which this many sectors are zeros was written with fewer.
pub(super) fn some_were_dropped(found: u64, written: u32) -> bool {
    found.min(ZERO_SECTORS_MAX) > u64::from(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_sectors_that_are_wholly_zeros_of_the_payload_count() {
        let zeros = vec![0; 2000];
        assert_eq!(zero_in_payload(512, &[&zeros]), 3);
        assert_eq!(zero_in_payload(513, &[&zeros]), 2);
        assert_eq!(zero_in_payload(480, &[&zeros]), 3);
        assert_eq!(zero_in_payload(0, &[&zeros[..511]]), 0);
        assert_eq!(zero_in_payload(0, &[]), 0);
        assert_eq!(zero_in_payload(0, &[&zeros[..600], &[1], &zeros[..1000]]), 2);
    }

    proptest! {
        #[test]
        fn cutting_a_payload_into_parts_changes_no_count(
            offset in 0_u64..2000,
            runs in prop::collection::vec((0_usize..1500, any::<bool>()), 0..8),
            cut in 0_usize..9000,
        ) {
            let payload: Vec<u8> =
                runs.iter().flat_map(|(len, zero)| std::iter::repeat_n(u8::from(!zero), *len)).collect();
            let (left, right) = payload.split_at(cut.min(payload.len()));
            prop_assert_eq!(zero_in_payload(offset, &[left, right]), zero_in_payload(offset, &[&payload]));
        }
    }
}
