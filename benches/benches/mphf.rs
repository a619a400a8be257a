//! The perfect hash of `ph4` beside those of other crates: time to build, bits and slots a key,
//! time of a lookup. One thread; every lookup depends on the one before.
//!
//! `cargo bench -p kiban-benches --features mphf-crates --bench mphf -- 1000000` (numbers of keys;
//! none: 10^4 to 10^7). `ph4` gives a number that was stored for the key, behind a fingerprint, so
//! the others read theirs from an array of 32-bit numbers; what they take without is shown as well.

#[path = "mphf/crates.rs"]
mod crates;
#[path = "mphf/ours.rs"]
mod ours;

use std::hint::black_box;
use std::time::Instant;

/// Of so many builds the quickest counts.
const BUILDS: usize = 3;
/// Of so many runs of lookups the quickest counts.
const LOOKUP_RUNS: usize = 15;
/// Lookups of a run.
const LOOKUPS: usize = 1_000_000;

/// A function from keys to numbers.
trait Function: Sized {
    const NAME: &'static str;
    /// What the table says of it.
    const NOTE: &'static str;
    fn build(keys: &[u64]) -> Self;
    /// Another number below [`Function::slots`] for each key.
    fn index(&self, key: u64) -> usize;
    fn slots(&self) -> usize;
    fn bits(&self) -> f64;
    /// Whether what it gives was stored for the key.
    fn is_map() -> bool {
        false
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut sizes: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    if sizes.is_empty() {
        // `cargo test` runs it too, without `--bench`: once, to see that it works.
        let is_bench = arguments.iter().any(|argument| argument == "--bench");
        sizes = if is_bench { vec![10_000, 100_000, 1_000_000, 10_000_000] } else { vec![10_000] };
    }
    println!("| keys | function | build ns/key | bits/key | slots/key | lookup ns | with number ns |");
    println!("|---|---|---|---|---|---|---|");
    for size in sizes {
        let keys: Vec<u64> = (1..=size as u64).map(mix).collect();
        measure::<ours::Ph4>(&keys);
        measure::<crates::PtrHashSingle>(&keys);
        measure::<crates::PtrHashParts>(&keys);
        measure::<crates::PtrHashFast>(&keys);
        measure::<crates::Phast>(&keys);
        measure::<crates::PhastShift>(&keys);
        measure::<crates::PhastR>(&keys);
    }
}

/// Keys are hashes already: words of splitmix64.
fn mix(no: u64) -> u64 {
    let word = no.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

fn measure<F: Function>(keys: &[u64]) {
    let mut built = None;
    let build_ns = quickest(BUILDS, keys.len(), || built = Some(F::build(black_box(keys))));
    let Some(function) = built else { return };
    check(&function, keys);
    let order: Vec<u64> =
        (0..LOOKUPS as u64).map(|no| keys[(mix(no + 7) % keys.len() as u64) as usize]).collect();
    let alone = quickest(LOOKUP_RUNS, LOOKUPS, || chain(&order, |key| function.index(key)));
    let numbers: Vec<u32> = (0..function.slots() as u32).rev().collect();
    let with_number = match F::is_map() {
        true => alone,
        false => {
            quickest(LOOKUP_RUNS, LOOKUPS, || chain(&order, |key| numbers[function.index(key)] as usize))
        }
    };
    let slots = function.slots() as f64 / keys.len() as f64;
    let alone = if F::is_map() { "-".to_owned() } else { format!("{alone:.1}") };
    println!(
        "| {} | {} ({}) | {build_ns:.1} | {:.2} | {slots:.3} | {alone} | {with_number:.1} |",
        keys.len(),
        F::NAME,
        F::NOTE,
        function.bits() / keys.len() as f64,
    );
}

/// Looks keys up one after the other, each only when the one before has been answered.
fn chain(order: &[u64], lookup: impl Fn(u64) -> usize) {
    let nothing = black_box(0);
    let mut before = 0;
    for key in order {
        before = lookup(key ^ (before as u64 & nothing));
    }
    black_box(before);
}

fn quickest(runs: usize, count: usize, mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let began = Instant::now();
        run();
        best = best.min(began.elapsed().as_nanos() as f64 / count as f64);
    }
    best
}

/// No two keys have one number.
fn check<F: Function>(function: &F, keys: &[u64]) {
    let mut seen = vec![false; function.slots()];
    for key in keys {
        let seen = &mut seen[function.index(*key)];
        assert!(!*seen, "{}: two keys of one number", F::NAME);
        *seen = true;
    }
}
