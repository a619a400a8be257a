//! What a memtable holds, about, without walking all of it.

use std::ops::Bound;

use kiban_formats::{Kind, SeqNo};

use super::entry::{Place, Stored};
use super::{Memtable, entry_bytes};
use crate::iter::Bounds;

/// Entries that are looked at, at most, from each place where a walk begins.
const LOOK_MAX: usize = 4096;

/// Keys by their newest version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyCounts {
    /// It is a value.
    pub(crate) live: u64,
    /// It is a tombstone.
    pub(crate) deleted: u64,
}

impl Memtable {
    /// Exact up to [`LOOK_MAX`] entries; beyond, the rest is taken to be like the first ones.
    pub(crate) fn key_counts(&self) -> KeyCounts {
        let mut counts = KeyCounts::default();
        let mut looked = 0;
        let mut last = None;
        for entry in self.entries.iter().take(LOOK_MAX) {
            looked += 1;
            let stored = entry.key();
            if last.as_ref().is_none_or(|last: &Stored| last.key() != stored.key()) {
                match stored.kind() {
                    Kind::Put => counts.live += 1,
                    Kind::Delete => counts.deleted += 1,
                }
            }
            last = Some(stored.clone());
        }
        let scale = |count: u64| match looked < LOOK_MAX {
            true => count,
            false => share(count, self.len() as u64, looked as u64),
        };
        KeyCounts { live: scale(counts.live), deleted: scale(counts.deleted) }
    }

    /// Bytes, as [`Memtable::bytes`] counts them, of the entries inside the bounds, which are not
    /// empty. Exact where at most [`LOOK_MAX`] entries are inside, or before and behind; else the
    /// middle between the most and the least it may be.
    pub(crate) fn bytes_in(&self, bounds: &Bounds) -> u64 {
        let lower = edge(&bounds.lower, true);
        let upper = edge(&bounds.upper, false);
        let inside = self.entries.range::<dyn Place, _>((as_place(&lower), as_place(&upper)));
        let (least, all) = add_up(inside.map(|entry| entry_bytes(&entry.key().entry())));
        if all {
            return least;
        }
        let before = self.entries.iter().take_while(|entry| bounds.starts_after(entry.key().key()));
        let behind = self.entries.iter().rev().take_while(|entry| bounds.ends_before(entry.key().key()));
        let (before, all_before) = add_up(before.map(|entry| entry_bytes(&entry.key().entry())));
        let (behind, all_behind) = add_up(behind.map(|entry| entry_bytes(&entry.key().entry())));
        let most = self.bytes().saturating_sub(before + behind).max(least);
        if all_before && all_behind { most } else { least.midpoint(most) }
    }
}

/// `whole` x `part` / `parts`.
pub(crate) fn share(whole: u64, part: u64, parts: u64) -> u64 {
    let share = u128::from(whole) * u128::from(part) / u128::from(parts.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// The sum of the first entries, and whether these were all.
fn add_up(bytes: impl Iterator<Item = u64>) -> (u64, bool) {
    let mut bytes = bytes.fuse();
    let sum = bytes.by_ref().take(LOOK_MAX).sum();
    (sum, bytes.next().is_none())
}

/// A bound in the order of entries: the newest version of a key comes first.
fn edge(bound: &Bound<Vec<u8>>, is_lower: bool) -> Bound<(&[u8], SeqNo)> {
    let (first, last) = (SeqNo::MAX, SeqNo(0));
    match bound {
        Bound::Included(key) => Bound::Included((key, if is_lower { first } else { last })),
        Bound::Excluded(key) => Bound::Excluded((key, if is_lower { last } else { first })),
        Bound::Unbounded => Bound::Unbounded,
    }
}

fn as_place<'a>(bound: &'a Bound<(&'a [u8], SeqNo)>) -> Bound<&'a (dyn Place + 'a)> {
    match bound {
        Bound::Included(place) => Bound::Included(place),
        Bound::Excluded(place) => Bound::Excluded(place),
        Bound::Unbounded => Bound::Unbounded,
    }
}
