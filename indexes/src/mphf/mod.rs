//! A perfect hash in pages of 4 KiB: from the 64-bit hash of a key to a number that was stored for it.
//!
//! ```text
//! hash ── remixed by the table's seed ── high 32 bits ── directory ── page
//!                                        all 64 bits, by the page's seed:
//!                                          32 bits ── bucket ── pilot ─┐
//!                                          64 bits ── place word ──────┴─ slot ── fingerprint, value
//!
//! page: | slot 0 | slot 1 | ...                     | pilot 0 | pilot 1 | ... | zeros |
//!         fingerprint and value, packed in bits       a byte for each bucket
//! ```
//!
//! **Pages are cut when they are full**: in the order of hashes each takes as many keys as its slots
//! and pilots hold, so that no page is half empty by chance. The directory keeps where each begins. A
//! page that a hash belongs to is guessed in proportion and found among the few around the guess; how
//! far guesses can be wrong is known when the directory is read.
//!
//! **Pilots.** The keys of a page are in buckets of 3.2 on average, skewed: the first buckets have 25
//! keys, the last ones less than 2. A pilot of 8 bits gives each key of its bucket a slot: 3 bits choose
//! one of 8 places from the key's place word, 5 bits move the whole bucket on by 0 to 31 slots. So all
//! 32 moves are tried by a few operations on words of bits ([`solve`]). Large buckets are placed first.
//! A bucket that fits nowhere drives out a smaller one, and a page that does not come out right takes
//! another seed: one page in a hundred. One in 10^16 and more would fall back, and so does
//! a page of too many keys that agree in their high 32 bits: its keys are [`Found::Unknown`].
//!
//! **Slots**: 1.01 a key, not minimal. An empty slot is cheaper than the search for the last free one,
//! and needs no table of moved keys.
//!
//! **Keys that share all 64 bits** of their hash have one slot for all of them, which says `Unknown`.
//! So no list of them is searched when others are looked up.
//!
//! **Fewer than 128 keys** have no pilots: a page of 16-bit fingerprints in rising order, all of which
//! are compared, and the values in the same order.
//!
//! | part | bits a key |
//! |---|---|
//! | pilots | 2.5 |
//! | slots | 1.01 (8 + bits of a value) |
//! | directory | 72 a page: 0.1 |
//!
//! The placing by pilots follows Pibiri and Trani, "PTHash" (SIGIR 2021), and Groot Koerkamp,
//! "PtrHash" (SEA 2025); moves as part of the pilot and the search by windows of bits are our own.

mod bits;
mod build;
mod collect;
mod directory;
mod geometry;
mod hash;
mod lookup;
mod occupancy;
mod solve;
mod sort;

#[cfg(test)]
mod tests;

pub(crate) use collect::Collector;
pub(crate) use directory::Directory;
pub(crate) use geometry::{Geometry, value_bits};
pub(crate) use lookup::{Found, HashPages, InPage, InSlot};
