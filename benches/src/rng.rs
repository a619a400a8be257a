//! splitmix64: small, seeded, the same on every machine. Source: Steele, Lea, Flood, "Fast
//! splittable pseudorandom number generators", OOPSLA 2014.

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of splitmix64: a bijection of 64-bit words.
pub(crate) fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A stream of splitmix64 words.
#[derive(Clone, Debug)]
pub(crate) struct SplitMix(u64);

impl SplitMix {
    /// The stream of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream of its own for part `part` of what `seed` makes. Parts do not overlap: they
    /// start at unrelated places of the one long cycle.
    pub(crate) fn part(seed: u64, part: u64) -> Self {
        Self::new(mix(mix(seed.wrapping_add(STEP)) ^ part.wrapping_mul(STEP)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// A number below `bound`, which is not 0. Its bias is below `bound` / 2^64 (Lemire, "Fast
    /// random integer generation in an interval", 2019, without the rejection).
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_published_generator() {
        let mut words = SplitMix::new(1_234_567);
        let found: Vec<u64> = (0..3).map(|_| words.next()).collect();
        assert_eq!(found, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn numbers_below_a_bound_reach_all_of_it() {
        let mut words = SplitMix::part(7, 1);
        let mut seen = [0u32; 10];
        for _ in 0..1_000 {
            seen[words.below(10)] += 1;
        }
        assert!(seen.iter().all(|count| (50..150).contains(count)), "{seen:?}");
        assert_eq!(words.below(1), 0);
    }
}
