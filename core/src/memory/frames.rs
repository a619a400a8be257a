//! The frame table: pages read by `pread`, checked once when they are loaded.
//!
//! Shards, each behind a mutex that is held for a few loads. A shard is an index (open
//! addressing, linear probing, at most half full) over slots, and a clock hand that goes round
//! the slots. A slot has a small counter: a hit raises it, the hand lowers it, and where it is
//! zero the page goes (Corbató's clock with a count, as in Nicola, Dan and Dias, "The
//! Generalized Clock Buffer Replacement Scheme", 1992). A page that is read once, as by a scan,
//! goes at the first pass; a fence page begins with one life more.
//!
//! Where the table is full, a load first evicts: a frame that goes and that nobody has pinned
//! takes the new page, so that nothing is allocated.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use kiban_formats::{FileNo, PageNo};

use super::frame::{Frame, frame_bytes, new_frame};
use crate::sync::lock;

/// Shards begin to pay where there are as many threads; each has at least [`SHARD_BYTES_MIN`].
const SHARDS_MAX: u64 = 64;
/// A shard has room for 16 of the longest pages.
const SHARD_BYTES_MIN: u64 = 1 << 20;
/// The most that hits raise a slot's counter to.
const LIVES_MAX: u8 = 3;

type PageKey = (FileNo, PageNo);

/// Pages of all tables of a store, at most so many bytes.
#[derive(Debug)]
pub(crate) struct FrameTable {
    shards: Box<[Shard]>,
    /// Bytes of all frames that are alive: in the table, being loaded, or pinned by callers.
    alive: Arc<AtomicU64>,
}

/// Two cache lines, because processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Shard(Mutex<Slots>);

#[derive(Debug)]
struct Slots {
    capacity: u64,
    /// Bytes of the frames in slots.
    frames_bytes: u64,
    /// For each slot a place; 0 is free, else a slot's ordinal plus one. A power of two, or empty.
    index: Vec<u32>,
    slots: Vec<Slot>,
    /// Slots without a frame.
    free: Vec<u32>,
    hand: usize,
}

#[derive(Debug)]
struct Slot {
    key: PageKey,
    frame: Option<Frame>,
    lives: u8,
}

/// How long a page stays that is not read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// Until the hand comes.
    Data,
    /// One turn of the hand longer: every read of its table goes through it.
    Index,
}

impl FrameTable {
    /// A table of `capacity` bytes; 0 keeps nothing.
    pub(super) fn new(capacity: u64) -> Self {
        let shards = (capacity / SHARD_BYTES_MIN).clamp(1, SHARDS_MAX).next_power_of_two().min(SHARDS_MAX);
        let table = Self {
            shards: (0..shards).map(|_| Shard(Mutex::new(Slots::new()))).collect(),
            alive: Arc::default(),
        };
        table.set_capacity(capacity);
        table
    }

    /// Lets the table hold so many bytes from here on, and evicts what is above.
    pub(super) fn set_capacity(&self, capacity: u64) {
        let each = capacity / self.shards.len() as u64;
        for shard in &self.shards {
            lock(&shard.0).set_capacity(each);
        }
    }

    /// The page, if it is there.
    #[inline]
    pub(crate) fn get(&self, file: FileNo, page: PageNo) -> Option<Frame> {
        let hash = hash((file, page));
        lock(&self.shard(hash).0).get((file, page), hash)
    }

    /// A frame to read this page into, used or new; `None` if there are none so long.
    pub(crate) fn lend(&self, file: FileNo, page: PageNo, page_bytes: usize) -> Option<Frame> {
        let hash = hash((file, page));
        let evicted = lock(&self.shard(hash).0).evict_for(page_bytes);
        evicted.or_else(|| new_frame(page_bytes, &self.alive))
    }

    /// Keeps a page, as long as there is room for it.
    pub(crate) fn insert(&self, file: FileNo, page: PageNo, frame: &Frame, worth: Worth) {
        let hash = hash((file, page));
        let lives = u8::from(worth == Worth::Index);
        let slot = Slot { key: (file, page), frame: Some(frame.clone()), lives };
        lock(&self.shard(hash).0).insert(slot, hash);
    }

    /// Bytes that pages and their places take; never above the capacity.
    pub(crate) fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| lock(&shard.0).bytes()).sum()
    }

    /// Bytes of the shards themselves, outside the capacity.
    pub(crate) fn fixed_bytes(&self) -> u64 {
        size_of_val(&*self.shards) as u64
    }

    /// Bytes of frames that the table let go of and that somebody still holds.
    pub(crate) fn pinned_bytes(&self) -> u64 {
        let held: u64 = self.shards.iter().map(|shard| lock(&shard.0).frames_bytes).sum();
        self.alive.load(Ordering::Relaxed).saturating_sub(held)
    }

    #[inline]
    fn shard(&self, hash: u64) -> &Shard {
        // The index of a shard uses the low bits.
        &self.shards[(hash >> 48) as usize & (self.shards.len() - 1)]
    }
}

/// Numbers of files and pages are small and dense: a multiplication spreads them over all bits.
#[inline]
fn hash((file, page): PageKey) -> u64 {
    let number = file.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(page.0);
    let product = u128::from(number ^ 0xA076_1D64_78BD_642F) * 0xE703_7ED1_A0B4_28DB;
    product as u64 ^ (product >> 64) as u64
}

impl Slots {
    fn new() -> Self {
        let (index, slots, free) = (Vec::new(), Vec::new(), Vec::new());
        Self { capacity: 0, frames_bytes: 0, index, slots, free, hand: 0 }
    }

    /// Bytes of index and slots.
    fn places_bytes(&self) -> u64 {
        let ordinals = self.index.capacity() + self.free.capacity();
        (ordinals * size_of::<u32>() + self.slots.capacity() * size_of::<Slot>()) as u64
    }

    fn bytes(&self) -> u64 {
        self.frames_bytes + self.places_bytes()
    }

    /// Whether a page fits, with the places that it may need.
    fn has_room(&self, page_bytes: u64) -> bool {
        let has_place = !self.free.is_empty() || self.slots.len() < self.slots.capacity();
        let places = if has_place { self.places_bytes() } else { places_bytes(grown(self.slots.len())) };
        self.frames_bytes + page_bytes + places <= self.capacity
    }

    fn set_capacity(&mut self, capacity: u64) {
        self.capacity = capacity;
        self.make_room(0, |_| {});
        if self.bytes() > capacity {
            // The places alone are too many: begin anew.
            *self = Self { capacity, ..Self::new() };
        }
    }

    #[inline]
    fn get(&mut self, key: PageKey, hash: u64) -> Option<Frame> {
        let (_, ordinal) = self.find(key, hash)?;
        let slot = &mut self.slots[ordinal];
        slot.lives = (slot.lives + 1).min(LIVES_MAX);
        slot.frame.clone()
    }

    /// The place in the index, and the slot.
    #[inline]
    fn find(&self, key: PageKey, hash: u64) -> Option<(usize, usize)> {
        let mask = self.index.len().checked_sub(1)?;
        let mut place = hash as usize & mask;
        while let Some(ordinal) = (self.index[place] as usize).checked_sub(1) {
            if self.slots[ordinal].key == key {
                return Some((place, ordinal));
            }
            place = (place + 1) & mask;
        }
        None
    }

    /// Makes room for a page, and gives a frame of its length that went.
    fn evict_for(&mut self, page_bytes: usize) -> Option<Frame> {
        let mut last = None;
        self.make_room(frame_bytes(page_bytes), |frame| {
            if frame.bytes.len() == page_bytes && Arc::strong_count(&frame) == 1 {
                last = Some(frame);
            }
        });
        last
    }

    fn insert(&mut self, slot: Slot, hash: u64) {
        let bytes = slot.frame.as_ref().map_or(0, |frame| frame_bytes(frame.bytes.len()));
        if self.find(slot.key, hash).is_some() || !self.make_room(bytes, |_| {}) {
            return;
        }
        let ordinal = match self.free.pop() {
            Some(ordinal) => ordinal as usize,
            None => self.slots.len(),
        };
        if ordinal == self.slots.capacity() {
            self.grow();
        }
        match self.slots.get_mut(ordinal) {
            Some(free) => *free = slot,
            None => self.slots.push(slot),
        }
        self.frames_bytes += bytes;
        self.add_place(hash, ordinal);
    }

    /// More slots, all of which are taken, and the index with them.
    fn grow(&mut self) {
        let slots = grown(self.slots.len());
        self.slots.reserve_exact(slots - self.slots.len());
        self.free.reserve_exact(slots);
        self.index = vec![0; index_len(slots)];
        for ordinal in 0..self.slots.len() {
            self.add_place(hash(self.slots[ordinal].key), ordinal);
        }
    }

    fn add_place(&mut self, hash: u64, ordinal: usize) {
        let mask = self.index.len() - 1;
        let mut place = hash as usize & mask;
        while self.index[place] != 0 {
            place = (place + 1) & mask;
        }
        self.index[place] = ordinal as u32 + 1;
    }

    /// Empties a place, and moves those behind it up that would not be found any more.
    fn remove_place(&mut self, mut hole: usize) {
        let mask = self.index.len() - 1;
        let mut place = hole;
        loop {
            place = (place + 1) & mask;
            let Some(ordinal) = (self.index[place] as usize).checked_sub(1) else { break };
            let home = hash(self.slots[ordinal].key) as usize & mask;
            if place.wrapping_sub(home) & mask >= place.wrapping_sub(hole) & mask {
                self.index[hole] = self.index[place];
                hole = place;
            }
        }
        self.index[hole] = 0;
    }

    /// Evicts until a page fits; `false` if it never will. Those that go are handed on.
    fn make_room(&mut self, page_bytes: u64, mut evicted: impl FnMut(Frame)) -> bool {
        // Each slot is passed once for each life it can have, and once to go.
        for _ in 0..self.slots.len() * (usize::from(LIVES_MAX) + 1) {
            if self.has_room(page_bytes) {
                break;
            }
            if let Some(frame) = self.turn() {
                evicted(frame);
            }
        }
        self.has_room(page_bytes)
    }

    /// Moves the hand over one slot, and gives its frame if that goes.
    fn turn(&mut self) -> Option<Frame> {
        let ordinal = self.hand;
        self.hand = (self.hand + 1) % self.slots.len();
        let slot = &mut self.slots[ordinal];
        let bytes = frame_bytes(slot.frame.as_ref()?.bytes.len());
        if let Some(fewer) = slot.lives.checked_sub(1) {
            slot.lives = fewer;
            return None;
        }
        let key = slot.key;
        let (place, _) = self.find(key, hash(key)).expect("a page in a slot has a place");
        self.remove_place(place);
        self.free.push(ordinal as u32);
        self.frames_bytes -= bytes;
        self.slots[ordinal].frame.take()
    }
}

/// How many slots come after `slots`: a quarter more.
fn grown(slots: usize) -> usize {
    slots + (slots / 4).max(16)
}

/// Places of the index for so many slots.
fn index_len(slots: usize) -> usize {
    (2 * slots).next_power_of_two()
}

/// Bytes of index, slots and the list of free ones.
fn places_bytes(slots: usize) -> u64 {
    (slots * (size_of::<Slot>() + size_of::<u32>()) + index_len(slots) * size_of::<u32>()) as u64
}

#[cfg(test)]
mod tests;
