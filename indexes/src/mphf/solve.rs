//! Finding the pilots of a page.
//!
//! All 32 shifts of a variant are tried at once: the window of 32 slots from each key's base slot
//! says which shifts hit a taken slot; what is clear in the OR of all windows fits. When no pilot of
//! a bucket fits, it takes a place where it drives out one smaller bucket, as in a cuckoo table, and
//! that one is placed anew.

use super::hash::{BucketScale, PageWords, SHIFTS, VARIANTS, base_slot, pilot, slot};
use super::occupancy::Occupancy;

/// Keys of the largest bucket that is tried.
const BUCKET_KEYS_MAX: usize = 64;
/// Keys that may be driven out, for each key of the page, before the page takes another seed.
const EVICTED_KEYS_MAX: usize = 2;
/// Places that are compared before a bucket is driven out.
const VICTIMS_COMPARED: usize = 4;
/// No bucket owns the slot.
const NOBODY: u16 = u16::MAX;
const SHIFT_MASK: u64 = (1 << SHIFTS) - 1;

/// How many buckets and slots a page has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageSize {
    pub(super) buckets: u32,
    pub(super) slots: u32,
}

/// Solves pages, one after the other, in memory that it keeps.
#[derive(Debug, Default)]
pub(super) struct Solver {
    size: PageSize,
    taken: Occupancy,
    /// The bucket in each slot.
    owners: Vec<u16>,
    /// Where each bucket's keys begin in `places`.
    starts: Vec<u32>,
    /// Place words by bucket.
    places: Vec<u64>,
    /// Buckets, the largest first.
    order: Vec<u16>,
    pilots: Vec<u8>,
    /// Bucket and place word of each key.
    words: Vec<(u32, u64)>,
    /// Buckets to place: the next of the order, and what it drove out.
    waiting: Vec<u16>,
    random: u64,
}

impl Default for PageSize {
    fn default() -> Self {
        Self { buckets: 1, slots: SHIFTS }
    }
}

/// A place for a bucket where it drives out another.
#[derive(Clone, Copy, Debug)]
struct Eviction {
    pilot: u8,
    victim: u16,
    victim_keys: usize,
}

/// What the look at all pilots of a bucket found.
enum Look {
    Fits(u8),
    /// For each variant the shifts that hit exactly one taken slot.
    Crowded([u64; VARIANTS as usize]),
}

impl Solver {
    /// Pilots that give each of these distinct hashes a slot of its own. `None`: not by this seed.
    pub(super) fn solve(&mut self, hashes: &[u64], page_seed: u8, size: PageSize) -> Option<&[u8]> {
        if hashes.len() > size.slots as usize || size.buckets >= u32::from(NOBODY) {
            return None;
        }
        self.size = size;
        self.random = u64::from(page_seed);
        self.fill_buckets(hashes, page_seed);
        self.taken.reset(size.slots);
        self.owners.clear();
        self.owners.resize(size.slots as usize, NOBODY);
        self.pilots.clear();
        self.pilots.resize(size.buckets as usize, 0);
        let mut evicted_keys_left = hashes.len() * EVICTED_KEYS_MAX;
        for rank in 0..self.order.len() {
            self.waiting.clear();
            self.waiting.push(self.order[rank]);
            while let Some(bucket) = self.waiting.pop() {
                self.place(bucket, &mut evicted_keys_left)?;
            }
        }
        Some(&self.pilots)
    }

    /// Sorts keys by bucket, and buckets by size.
    fn fill_buckets(&mut self, hashes: &[u64], page_seed: u8) {
        let (buckets, scale) = (self.size.buckets, BucketScale::new(self.size.buckets));
        self.starts.clear();
        self.starts.resize(buckets as usize + 1, 0);
        self.words.clear();
        for hash in hashes {
            let words = PageWords::new(*hash, page_seed);
            let bucket = words.bucket(scale);
            self.starts[bucket as usize + 1] += 1;
            self.words.push((bucket, words.place()));
        }
        self.order_buckets();
        (0..buckets as usize).for_each(|bucket| self.starts[bucket + 1] += self.starts[bucket]);
        self.places.resize(hashes.len(), 0);
        // Each start moves to its bucket's end, and back.
        for (bucket, place) in &self.words {
            let at = &mut self.starts[*bucket as usize];
            self.places[*at as usize] = *place;
            *at += 1;
        }
        for bucket in (1..=buckets as usize).rev() {
            self.starts[bucket] = self.starts[bucket - 1];
        }
        self.starts[0] = 0;
    }

    /// Orders the buckets that have keys; `starts[b + 1]` counts those of `b`.
    fn order_buckets(&mut self) {
        let most = BUCKET_KEYS_MAX + 1;
        let class = |count: &u32| most - (*count as usize).min(most);
        let mut ends = [0u16; BUCKET_KEYS_MAX + 3];
        self.starts[1..].iter().for_each(|count| ends[class(count) + 1] += 1);
        (0..=most).for_each(|class| ends[class + 1] += ends[class]);
        self.order.resize(self.size.buckets as usize, 0);
        for (bucket, count) in self.starts[1..].iter().enumerate() {
            let at = &mut ends[class(count)];
            self.order[usize::from(*at)] = bucket as u16;
            *at += 1;
        }
        // `ends[c]` is now where class `c` ends; the last class is that of empty buckets.
        self.order.truncate(usize::from(ends[most - 1]));
    }

    fn keys(&self, bucket: u16) -> &[u64] {
        let bucket = usize::from(bucket);
        &self.places[self.starts[bucket] as usize..self.starts[bucket + 1] as usize]
    }

    fn place(&mut self, bucket: u16, evicted_keys_left: &mut usize) -> Option<()> {
        let pilot = match self.look(bucket)? {
            Look::Fits(pilot) => pilot,
            Look::Crowded(crowded) => {
                let eviction = self.choose_eviction(bucket, &crowded)?;
                *evicted_keys_left = evicted_keys_left.checked_sub(eviction.victim_keys)?;
                self.flip(eviction.victim, NOBODY);
                self.waiting.push(eviction.victim);
                eviction.pilot
            }
        };
        self.pilots[usize::from(bucket)] = pilot;
        self.flip(bucket, bucket);
        Some(())
    }

    /// Looks for a pilot. `None`: the bucket has too many keys.
    fn look(&self, bucket: u16) -> Option<Look> {
        let keys = self.keys(bucket);
        let mut bases = [0; BUCKET_KEYS_MAX];
        let bases = bases.get_mut(..keys.len())?;
        let mut crowded = [0; VARIANTS as usize];
        for variant in 0..VARIANTS {
            let (mut hit, mut hit_twice, mut apart) = (0, 0, true);
            for (no, key) in keys.iter().enumerate() {
                let base = base_slot(*key, variant, self.size.slots);
                apart &= !bases[..no].contains(&base);
                bases[no] = base;
                let window = self.taken.window(base);
                hit_twice |= hit & window;
                hit |= window;
            }
            let free = !hit & SHIFT_MASK;
            match (apart, free) {
                (false, _) => {}
                (true, 0) => crowded[variant as usize] = hit & !hit_twice & SHIFT_MASK,
                // Not always the first one: that would make long runs of taken slots.
                (true, free) => return Some(Look::Fits(pilot_of(variant, free, (keys[0] >> 7) as u32))),
            }
        }
        Some(Look::Crowded(crowded))
    }

    /// The smallest victim of a few random ones.
    fn choose_eviction(&mut self, bucket: u16, crowded: &[u64; VARIANTS as usize]) -> Option<Eviction> {
        let variants = crowded.iter().filter(|shifts| **shifts != 0).count();
        let mut best: Option<Eviction> = None;
        for _ in 0..VICTIMS_COMPARED.min(variants * VICTIMS_COMPARED) {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let chosen = ((self.random >> 33) as usize * variants) >> 31;
            let (variant, shifts) =
                crowded.iter().enumerate().filter(|(_, shifts)| **shifts != 0).nth(chosen)?;
            let pilot = pilot_of(variant as u32, *shifts, (self.random >> 20) as u32);
            let owners =
                self.keys(bucket).iter().map(|key| self.owners[slot(*key, pilot, self.size.slots) as usize]);
            let victim = owners.into_iter().find(|owner| *owner != NOBODY)?;
            let victim_keys = self.keys(victim).len();
            if best.is_none_or(|best| victim_keys < best.victim_keys) {
                best = Some(Eviction { pilot, victim, victim_keys });
            }
        }
        best
    }

    /// Takes or frees the slots of a bucket, which are then `owner`'s.
    fn flip(&mut self, bucket: u16, owner: u16) {
        let pilot = self.pilots[usize::from(bucket)];
        let (start, end) = (self.starts[usize::from(bucket)], self.starts[usize::from(bucket) + 1]);
        for key in start..end {
            let slot = slot(self.places[key as usize], pilot, self.size.slots);
            self.taken.flip(slot);
            self.owners[slot as usize] = owner;
        }
    }
}

/// The pilot of the first of `shifts`, not empty, from `from` on.
fn pilot_of(variant: u32, shifts: u64, from: u32) -> u8 {
    let from = from % SHIFTS;
    let ahead = shifts >> from;
    let shift = if ahead == 0 { shifts.trailing_zeros() } else { from + ahead.trailing_zeros() };
    pilot(variant, shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mphf::hash::remix;

    fn hashes(count: u64, seed: u64) -> Vec<u64> {
        (0..count).map(|no| remix(seed, no)).collect()
    }

    #[test]
    fn every_key_has_a_slot_of_its_own() {
        let mut solver = Solver::default();
        for (count, size) in [
            (0, PageSize { buckets: 40, slots: 130 }),
            (1, PageSize { buckets: 1, slots: 32 }),
            (128, PageSize { buckets: 40, slots: 130 }),
            (780, PageSize { buckets: 244, slots: 788 }),
            (2_000, PageSize { buckets: 625, slots: 2_021 }),
        ] {
            let hashes = hashes(count, 7);
            let solved =
                (0..u8::MAX).find_map(|seed| Some((seed, solver.solve(&hashes, seed, size)?.to_vec())));
            let (seed, pilots) = solved.unwrap();
            let slot_of = |hash: &u64| {
                let words = PageWords::new(*hash, seed);
                slot(words.place(), pilots[words.bucket(BucketScale::new(size.buckets)) as usize], size.slots)
            };
            let mut slots: Vec<u32> = hashes.iter().map(slot_of).collect();
            slots.sort_unstable();
            slots.dedup();
            assert_eq!(slots.len(), hashes.len());
            assert!(slots.iter().all(|slot| *slot < size.slots));
        }
    }

    #[test]
    fn what_has_no_solution_ends() {
        let mut solver = Solver::default();
        let size = PageSize { buckets: 40, slots: 130 };
        assert!(solver.solve(&hashes(131, 1), 0, size).is_none(), "more keys than slots");
        assert!(solver.solve(&[5; 2], 0, size).is_none(), "one hash twice");
        assert!(solver.solve(&[5; 100], 0, size).is_none(), "one bucket");
        let full = PageSize { buckets: 40, slots: 128 };
        (0..20).for_each(|seed| _ = solver.solve(&hashes(128, 1), seed, full));
    }

    #[test]
    fn nearly_all_pages_need_one_seed() {
        let mut solver = Solver::default();
        let size = PageSize { buckets: 244, slots: 788 };
        let failed = (0..100).filter(|no| solver.solve(&hashes(780, *no), 0, size).is_none()).count();
        assert!(failed <= 5, "{failed} of 100");
    }
}
