//! Packed numbers of up to 57 bits, least significant bit first.

/// Bits of the widest number: it lies in the 8 bytes from the byte in which it begins.
pub(crate) const WIDTH_MAX: u32 = 57;

/// The mask of a number's bits.
#[inline]
pub(crate) fn mask(width: u32) -> u64 {
    debug_assert!(width <= WIDTH_MAX);
    (1 << width) - 1
}

/// The number at `index`; 0 where fewer than 8 bytes are left.
#[inline]
pub(crate) fn get(bytes: &[u8], index: usize, width: u32) -> u64 {
    let bit = index * width as usize;
    let word = bytes.get(bit / 8..).and_then(|rest| rest.first_chunk()).copied();
    (u64::from_le_bytes(word.unwrap_or_default()) >> (bit % 8)) & mask(width)
}

/// Sets the number at `index`.
///
/// # Panics
/// Fewer than 8 bytes are left where it begins.
pub(crate) fn set(bytes: &mut [u8], index: usize, width: u32, number: u64) {
    let bit = index * width as usize;
    let word = &mut bytes[bit / 8..bit / 8 + 8];
    let (mut old, shift) = ([0; 8], bit % 8);
    old.copy_from_slice(word);
    let kept = u64::from_le_bytes(old) & !(mask(width) << shift);
    word.copy_from_slice(&(kept | (number & mask(width)) << shift).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_stand_side_by_side() {
        for width in 1..=WIDTH_MAX {
            let mut bytes = [0xFF; 256];
            let number = |index: usize| (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) & mask(width);
            (0..30).rev().for_each(|index| set(&mut bytes, index, width, number(index)));
            (0..30).for_each(|index| assert_eq!(get(&bytes, index, width), number(index), "{width} bits"));
            assert_eq!(get(&bytes, 30, width), mask(width), "the number behind is as it was");
        }
        assert_eq!(get(&[0xFF; 7], 0, 8), 0);
    }
}
