//! Rounds in which every function takes its turn.

use std::hint::black_box;
use std::time::Instant;

use crate::packed::Packed;
use crate::{Function, Side};

/// Lookups of a run.
const LOOKUPS: usize = 1_000_000;
/// Keys that a function takes in a round, in as many builds as that needs.
const BUILT_KEYS: usize = 300_000;
/// A build that takes longer is not made again.
const BUILD_NS_MAX: f64 = 3e9;

/// What is built from, and asked.
pub(crate) struct Field {
    keys: Vec<u64>,
    order: Vec<u64>,
    numbers: Vec<u32>,
    rounds: usize,
    builds: usize,
}

impl Field {
    pub(crate) fn new(size: usize, is_test: bool) -> Self {
        // Keys are hashes already.
        let keys: Vec<u64> = (1..=size as u64).map(mix).collect();
        let lookups = if is_test { 2 * size } else { LOOKUPS };
        let order = (0..lookups as u64).map(|no| keys[(mix(no + 7) % size as u64) as usize]).collect();
        // Slots are fewer than twice the keys, and a few more.
        let numbers = (0..2 * size as u32 + 64).rev().collect();
        let (rounds, builds) = match size {
            _ if is_test => (1, 1),
            ..2_000_000 => (11, BUILT_KEYS.div_ceil(size)),
            _ => (5, 1),
        };
        Self { keys, order, numbers, rounds, builds }
    }
}

/// What was measured of one function; nanoseconds, one for each round.
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    pub(crate) side: Side,
    /// Slots and bits a key.
    pub(crate) slots: f64,
    pub(crate) bits: f64,
    /// A key.
    pub(crate) build: Vec<f64>,
    /// A lookup that ends at the slot, at a number in an array, at a fingerprint and a number, packed.
    pub(crate) lookups: [Vec<f64>; 3],
}

/// A function's turns.
pub(crate) trait Turn {
    fn build(&mut self, field: &Field);
    fn look_up(&mut self, field: &Field);
    fn outcome(self: Box<Self>, field: &Field) -> Outcome;
}

pub(crate) struct Runner<F> {
    built: Option<(F, Packed)>,
    build: Vec<f64>,
    lookups: [Vec<f64>; 3],
}

impl<F> Default for Runner<F> {
    fn default() -> Self {
        Self { built: None, build: Vec::new(), lookups: [const { Vec::new() }; 3] }
    }
}

/// All rounds of all functions.
pub(crate) fn run(field: &Field, mut runners: Vec<Box<dyn Turn>>) -> Vec<Outcome> {
    for _ in 0..field.rounds {
        runners.iter_mut().for_each(|runner| runner.build(field));
        runners.iter_mut().for_each(|runner| runner.look_up(field));
    }
    runners.into_iter().map(|runner| runner.outcome(field)).collect()
}

impl<F: Function> Turn for Runner<F> {
    fn build(&mut self, field: &Field) {
        let keys = field.keys.as_slice();
        if let Some(slow) = self.build.first().filter(|ns| **ns * keys.len() as f64 > BUILD_NS_MAX) {
            return self.build.push(*slow);
        }
        self.built = None;
        let mut function = None;
        let count = keys.len() * field.builds;
        let ns = timed(count, || {
            (0..field.builds).for_each(|_| function = Some(F::build(black_box(keys))));
        });
        self.build.push(ns);
        self.built = function.map(|function| {
            check(&function, keys);
            let packed = Packed::new(&function, keys);
            (function, packed)
        });
    }

    fn look_up(&mut self, field: &Field) {
        let Some((function, packed)) = &self.built else { return };
        let ask = |lookup: &dyn Fn(&[u64])| timed(field.order.len(), || lookup(&field.order));
        let slot = ask(&|order| chain(order, |key| function.index(key)));
        // What we give was read already.
        let [number, all] = match F::SIDE {
            Side::Ours => [slot; 2],
            _ => [
                ask(&|order| chain(order, |key| field.numbers[function.index(key)] as usize)),
                ask(&|order| chain(order, |key| packed.get(function.index(key), key))),
            ],
        };
        self.lookups.iter_mut().zip([slot, number, all]).for_each(|(lookups, ns)| lookups.push(ns));
    }

    fn outcome(self: Box<Self>, field: &Field) -> Outcome {
        let keys = field.keys.len() as f64;
        let (slots, bits) =
            self.built.map_or((0.0, 0.0), |(function, _)| (function.slots() as f64, function.bits()));
        let Self { build, lookups, .. } = *self;
        Outcome { name: F::NAME, side: F::SIDE, slots: slots / keys, bits: bits / keys, build, lookups }
    }
}

/// Looks keys up one after the other, each only when the one before has been answered.
#[inline(always)]
fn chain(order: &[u64], lookup: impl Fn(u64) -> usize) {
    let nothing = black_box(0);
    let mut before = 0;
    for key in order {
        before = lookup(key ^ (before as u64 & nothing));
    }
    black_box(before);
}

fn timed(count: usize, run: impl FnOnce()) -> f64 {
    let began = Instant::now();
    run();
    began.elapsed().as_nanos() as f64 / count as f64
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

/// A word of splitmix64.
fn mix(no: u64) -> u64 {
    let word = no.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
