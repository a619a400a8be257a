//! Which slots of a page are taken, 64 at a look.

use super::hash::SHIFTS;

/// A bitmap of slots. The first ones are repeated behind the last, so that a window that runs over
/// the end is one look too.
#[derive(Debug, Default)]
pub(super) struct Occupancy {
    words: Vec<u64>,
    slots: u32,
}

impl Occupancy {
    /// Frees all of so many slots, at least [`SHIFTS`].
    pub(super) fn reset(&mut self, slots: u32) {
        debug_assert!(slots >= SHIFTS);
        self.slots = slots;
        self.words.clear();
        // A window is read from two words.
        self.words.resize((slots + SHIFTS) as usize / 64 + 2, 0);
    }

    /// The slots from `slot` on, 64 of them; bit 0 is `slot` itself. Only the first [`SHIFTS`] run
    /// over the end.
    #[inline]
    pub(super) fn window(&self, slot: u32) -> u64 {
        let (word, bit) = (slot as usize / 64, slot % 64);
        // In two steps: a shift by 64 is none.
        self.words[word] >> bit | (self.words[word + 1] << 1) << (63 - bit)
    }

    #[inline]
    pub(super) fn flip(&mut self, slot: u32) {
        self.words[slot as usize / 64] ^= 1 << (slot % 64);
        if slot < SHIFTS {
            let again = slot + self.slots;
            self.words[again as usize / 64] ^= 1 << (again % 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_runs_over_the_end_as_far_as_shifts_go() {
        for slots in [32, 63, 64, 100, 829] {
            let mut taken = Occupancy::default();
            taken.reset(slots);
            let set: Vec<u32> = (0..slots).filter(|slot| slot * slot % 7 == 1).collect();
            set.iter().for_each(|slot| taken.flip(*slot));
            for slot in 0..slots {
                for ahead in 0..SHIFTS {
                    let bit = taken.window(slot) >> ahead & 1 == 1;
                    assert_eq!(bit, set.contains(&((slot + ahead) % slots)), "{slot} + {ahead} of {slots}");
                }
            }
            set.iter().for_each(|slot| taken.flip(*slot));
            assert!(taken.words.iter().all(|word| *word == 0));
        }
    }
}
