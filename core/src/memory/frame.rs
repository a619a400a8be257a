//! One page in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kiban_formats::UNIT_BYTES;

/// A page in memory; values point into it. A clone is a pin.
pub(crate) type Frame = Arc<FrameBytes>;

/// The bytes of a page, and who counts them. Unsized, so that a read finds them right behind the
/// reference counts and not behind another pointer.
#[derive(Debug)]
pub(crate) struct FrameBytes<T: ?Sized = [u8]> {
    /// Bytes of all frames of the store that are alive.
    alive: Arc<AtomicU64>,
    pub(crate) bytes: T,
}

/// Bytes that a frame takes beside its page: two reference counts and the pointer to the counter.
const HEADER_BYTES: usize = 3 * size_of::<usize>();

/// Makes a frame of so many units.
type Maker = fn(Arc<AtomicU64>) -> Frame;

/// Longer pages are read anew each time.
pub(super) const FRAME_UNITS_MAX: usize = 16;

const MAKERS: [Maker; FRAME_UNITS_MAX] = [
    make::<{ UNIT_BYTES }>,
    make::<{ 2 * UNIT_BYTES }>,
    make::<{ 3 * UNIT_BYTES }>,
    make::<{ 4 * UNIT_BYTES }>,
    make::<{ 5 * UNIT_BYTES }>,
    make::<{ 6 * UNIT_BYTES }>,
    make::<{ 7 * UNIT_BYTES }>,
    make::<{ 8 * UNIT_BYTES }>,
    make::<{ 9 * UNIT_BYTES }>,
    make::<{ 10 * UNIT_BYTES }>,
    make::<{ 11 * UNIT_BYTES }>,
    make::<{ 12 * UNIT_BYTES }>,
    make::<{ 13 * UNIT_BYTES }>,
    make::<{ 14 * UNIT_BYTES }>,
    make::<{ 15 * UNIT_BYTES }>,
    make::<{ 16 * UNIT_BYTES }>,
];

fn make<const BYTES: usize>(alive: Arc<AtomicU64>) -> Frame {
    alive.fetch_add(frame_bytes(BYTES), Ordering::Relaxed);
    Arc::new(FrameBytes { alive, bytes: [0; BYTES] })
}

/// A new frame for a page of this many bytes; `None` if there are none as long, or if it is no
/// number of units.
pub(super) fn new_frame(page_bytes: usize, alive: &Arc<AtomicU64>) -> Option<Frame> {
    let units = page_bytes / UNIT_BYTES;
    let maker = MAKERS.get(units.checked_sub(1)?).filter(|_| page_bytes.is_multiple_of(UNIT_BYTES))?;
    Some(maker(alive.clone()))
}

/// Bytes of memory of a frame for a page of this many bytes.
pub(super) const fn frame_bytes(page_bytes: usize) -> u64 {
    (page_bytes + HEADER_BYTES) as u64
}

impl<T: ?Sized> Drop for FrameBytes<T> {
    fn drop(&mut self) {
        self.alive.fetch_sub(frame_bytes(size_of_val(&self.bytes)), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_as_long_as_asked_and_counted_while_they_live() {
        let alive = Arc::new(AtomicU64::new(0));
        for units in 1..=FRAME_UNITS_MAX {
            let frame = new_frame(units * UNIT_BYTES, &alive).unwrap();
            assert_eq!(frame.bytes.len(), units * UNIT_BYTES);
            assert_eq!(alive.load(Ordering::Relaxed), frame_bytes(units * UNIT_BYTES));
            let pinned = frame.clone();
            drop(frame);
            assert_ne!(alive.load(Ordering::Relaxed), 0);
            drop(pinned);
            assert_eq!(alive.load(Ordering::Relaxed), 0);
        }
        for bytes in [0, 1, UNIT_BYTES + 1, (FRAME_UNITS_MAX + 1) * UNIT_BYTES] {
            assert!(new_frame(bytes, &alive).is_none(), "{bytes}");
        }
    }
}
