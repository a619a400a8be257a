//! The perfect hash of `ph4` beside those of other crates: time to build, time of a lookup, bits and slots a key.
//! One thread.
//!
//! `cargo bench -p kiban-benches --features mphf-crates --bench mphf -- 1000000` (numbers of keys; none: 10^4 to
//! 10^7; `--test`: few keys, to see that it works).
//!
//! All functions take turns: in each round each is built, then each is asked. The table shows the quickest round of
//! each, because noise only adds; beside a ratio stands between what half of the rounds' ratios are.
//!
//! `ph4` gives a number that was stored for the key, behind a fingerprint that refuses most other keys. So three
//! lookups of the others are timed: their own, which gives a slot; the slot and a 32-bit number from an array; the slot
//! and what `ph4` reads there, a fingerprint that is compared and a number, packed in as many bits.

#[path = "mphf/crates.rs"]
mod crates;
#[path = "mphf/ours.rs"]
mod ours;
#[path = "mphf/packed.rs"]
mod packed;
#[path = "mphf/round.rs"]
mod round;
#[path = "common/sidecar.rs"]
mod sidecar;
#[path = "mphf/table.rs"]
mod table;

use round::{Field, Runner, Turn, run};

/// What a function is to the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Ours,
    /// `ptr_hash` with its default parameters.
    PtrHash,
    Other,
}

/// A function from keys to numbers.
trait Function {
    const NAME: &'static str;
    const SIDE: Side;

    fn build(keys: &[u64]) -> Self;
    /// Another number below [`Function::slots`] for each key.
    fn index(&self, key: u64) -> usize;
    fn slots(&self) -> usize;
    fn bits(&self) -> f64;
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut sizes: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    // `cargo test` passes nothing, `cargo bench` passes `--bench`.
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let is_test = has("--test") || !has("--bench") && sizes.is_empty();
    if sizes.is_empty() {
        sizes = if is_test { vec![200, 3_000] } else { vec![10_000, 100_000, 1_000_000, 10_000_000] };
    }
    for size in sizes {
        let runners: Vec<Box<dyn Turn>> = vec![
            Box::<Runner<ours::Ph4>>::default(),
            Box::<Runner<crates::PtrHashSingle>>::default(),
            Box::<Runner<crates::PtrHashParts>>::default(),
            Box::<Runner<crates::PtrHashFast>>::default(),
            Box::<Runner<crates::Phast>>::default(),
            Box::<Runner<crates::PhastShift>>::default(),
            Box::<Runner<crates::PhastR>>::default(),
        ];
        table::print(size, &run(&Field::new(size, is_test), runners));
    }
}
