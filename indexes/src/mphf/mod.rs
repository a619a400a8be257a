//! A perfect hash in pages of 4 KiB: from the 64-bit hash of a key to a number that was stored for it.
//!
//! ```text
//! hash ── remixed by the table's seed ── high 32 bits ── directory ── page
//!                                        by the page's seed:
//!                                          low 32 bits ── bucket ──── pilot ─┐
//!                                          all 64 bits ── place word ────────┴─ slot ── fingerprint, value
//!
//! page: | slot 0 | slot 1 | ...                     | pilot 0 | pilot 1 | ... | zeros |
//!         fingerprint and value, packed in bits       a byte for each bucket
//! ```
//!
//! **Pages are cut when they are full**: in the order of hashes each takes as many keys as its slots
//! and pilots hold, so that no page is half empty by chance. The directory keeps where each begins. As pages are
//! nearly even, the page of a hash is found by one load ([`page_table`]); the bucket is computed meanwhile.
//!
//! **Pilots.** The keys of a page are in buckets of 3 on average, skewed: the first buckets have 24
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
//! | pilots | 2.7 |
//! | slots | 1.01 (8 + bits of a value) |
//! | directory | 72 a page: 0.1 |
//!
//! # Beside other crates
//!
//! One thread, the same run, all functions in turns, the quickest of 11 rounds (of 10^7: 5); keys that are
//! hashes; `cargo bench -p kiban-benches --features mphf-crates --bench mphf`. Ours builds the whole file
//! of `ph4`, with values, fingerprints and checksums, and a lookup gives the value. The others read theirs
//! from an array of 32-bit numbers, or, in the last column, from the same packed slots behind the same
//! fingerprints. A lookup waits for the one before.
//!
//! | keys | ns a key to build | of `ptr_hash`, the quicker of one part and parts | of the quickest crate | ns a lookup | of the quickest crate | of the quickest, packed |
//! |---|---|---|---|---|---|---|
//! | 10^4 | 30 | 0.71 | 0.71 | 11 | 1.40 | 1.11 |
//! | 10^5 | 46 | 0.88 | 0.88 | 15 | 1.33 | 1.13 |
//! | 10^6 | 51 | 0.79 | 0.89 | 36 | 1.33 | 1.21 |
//! | 10^7 | 56 | 0.80 | 0.94 | 223 | 1.16 | 1.21 |
//!
//! Below 10^6 keys all is in the processor's caches: the four steps from hash to value, each of which
//! waits for the one before, are what is measured, against two of the others. The fingerprint and the
//! unpacking of a value of any width are a fifth of ours.
//!
//! Placing by pilots follows Pibiri and Trani, "PTHash" (SIGIR 2021), and Groot Koerkamp, "PtrHash"
//! (SEA 2025), which also drives buckets out; that a seed moves a whole bucket, and that a word of bits
//! tries many moves at once, is in Beling and Sanders, "PHast" (2025).

mod bits;
mod build;
mod collect;
mod directory;
mod geometry;
mod hash;
mod lookup;
mod occupancy;
mod page_table;
mod solve;
mod sort;

#[cfg(test)]
mod tests;

pub(crate) use build::Pages;
pub(crate) use collect::{Collector, PAIR_BYTES};
pub(crate) use directory::Directory;
pub(crate) use geometry::{Geometry, value_bits};
pub(crate) use lookup::{Found, HashPages, InPage, InSlot};
