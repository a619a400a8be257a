//! Unsigned LEB128: seven bits a byte, the low ones first, bit 7 set on all bytes but the last.

use crate::{FormatError, Problem};

/// Bytes of the longest varint.
pub const VARINT_BYTES_MAX: usize = 10;

/// Appends `value`.
pub fn encode(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Bytes that [`encode`] appends for `value`.
pub fn encoded_len(value: u64) -> usize {
    let bits = u64::BITS - (value | 1).leading_zeros();
    bits.div_ceil(7) as usize
}

/// The value at the start of `bytes`, and how many bytes it takes.
///
/// # Errors
/// The bytes end inside it, it is longer than it need be, or it is above 2^64 - 1.
#[inline]
pub fn decode(bytes: &[u8]) -> Result<(u64, usize), FormatError> {
    match bytes.first() {
        Some(&byte) if byte < 0x80 => Ok((byte.into(), 1)),
        _ => decode_long(bytes),
    }
}

fn decode_long(bytes: &[u8]) -> Result<(u64, usize), FormatError> {
    let mut value = 0;
    for (place, &byte) in bytes.iter().take(VARINT_BYTES_MAX).enumerate() {
        let bits = u64::from(byte & 0x7F);
        let last = place == VARINT_BYTES_MAX - 1;
        if last && byte > 1 {
            return Err(FormatError::invalid("varint", 0, "a number above 2^64 - 1"));
        }
        value |= bits << (7 * place);
        if byte < 0x80 {
            if byte == 0 {
                return Err(FormatError::invalid("varint", 0, "longer than it need be"));
            }
            return Ok((value, place + 1));
        }
    }
    let (needed, have) = (bytes.len() as u64 + 1, bytes.len() as u64);
    Err(FormatError::new("varint", 0, Problem::Truncated { needed, have }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_comes_back(value: u64, shift in 0..64u32, rest: Vec<u8>) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            encode(value, &mut bytes);
            prop_assert_eq!(bytes.len(), encoded_len(value));
            let len = bytes.len();
            for cut in 0..len {
                prop_assert!(decode(&bytes[..cut]).is_err());
            }
            bytes.extend(rest);
            prop_assert_eq!(decode(&bytes), Ok((value, len)));
        }
    }

    #[test]
    fn over_long_and_over_large_numbers_are_refused() {
        assert!(decode(&[0x80, 0]).is_err());
        assert!(decode(&[0xFF; 10]).is_err());
        assert!(decode(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2]).is_err());
        assert_eq!(decode(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]), Ok((u64::MAX, 10)));
    }
}
