//! Keys of 38 bytes that a hash has made: any two differ early.

/// The `no`th word of splitmix64.
fn word(no: u64) -> u64 {
    let word = no.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A key; those of other numbers are others.
pub(crate) fn key(no: u64) -> Vec<u8> {
    let bytes = (0..5).flat_map(|part| word(no * 5 + part + 1).to_be_bytes());
    bytes.take(38).collect()
}

/// Numbers below `count` in no order, each about as often as the others.
pub(crate) fn shuffled(count: usize, many: usize) -> Vec<usize> {
    (0..many as u64).map(|no| (word(no + 77) % count as u64) as usize).collect()
}
