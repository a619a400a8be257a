//! Asking the processor for a cache line before it is needed.
//!
//! The only `unsafe` of this crate. A prefetch reads nothing that the program sees: its result is
//! the same without it, so the plain code is its own oracle.
#![expect(unsafe_code, reason = "prefetching has no safe intrinsic")]

/// Bytes of a cache line.
pub const LINE_BYTES: usize = 64;

/// Begins to load the cache lines of so many bytes from `bytes[at]` on, as far as there are any.
#[inline(always)]
pub fn prefetch_range(bytes: &[u8], at: usize, len: usize) {
    (at..at + len).step_by(LINE_BYTES).for_each(|at| prefetch(bytes, at));
}

/// Begins to load the cache line of `bytes[at]`; nothing where that is outside.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    let Some(byte) = bytes.get(at) else { return };
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the pointer comes from a reference, and the instruction neither faults nor changes
    // memory. SSE is part of every x86-64 processor.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast());
    }
    // Elsewhere stable Rust has no such instruction.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = byte;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_place_may_be_asked_for() {
        let bytes = [1; 100];
        [0, 63, 99, 100, usize::MAX].into_iter().for_each(|at| prefetch(&bytes, at));
        prefetch(&[], 0);
        assert_eq!(bytes, [1; 100]);
    }
}
