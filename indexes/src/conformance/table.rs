//! Tables that are nowhere but in memory: keys, their versions, and where those would be.

use kiban_formats::{Kind, PageNo, SeqNo, SlotNo, UNIT_BYTES};

use super::keys::neighbours;
use crate::contract::{EntryFacts, EntryPlace, TableShape, Version};

/// Bytes of a page before its first entry, of an entry beside key and value, and of a slot: about
/// what real pages have.
const HEAD_BYTES: usize = 64;
const ENTRY_BYTES: usize = 16;
const SLOT_BYTES: usize = 2;
/// What values are cut from.
static VALUE: [u8; 1 << 17] = [0x5A; 1 << 17];
/// Neighbours are asked for around so many keys at most.
const ABSENT_AROUND_MAX: usize = 4_000;
/// Older versions are asked for of every so many keys.
const SNAPSHOTS_OF: usize = 8;

/// How pages are filled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) first_page: u32,
    /// 4 KiB units of a page.
    pub(super) page_units: u32,
    /// Entries begin at multiples of it.
    pub(super) align: usize,
}

impl Default for Layout {
    fn default() -> Self {
        Self { first_page: 0, page_units: 1, align: 8 }
    }
}

/// What a table is made from.
pub(super) struct Recipe {
    pub(super) name: String,
    /// In order.
    pub(super) keys: Vec<Vec<u8>>,
    /// Kinds and value lengths of the versions of a key, newest first.
    pub(super) versions: fn(u64) -> Vec<(Kind, usize)>,
    /// The hash of a key, from its number and itself; the numbers of absent keys go on behind.
    pub(super) hash: fn(u64, &[u8]) -> u64,
    pub(super) layout: Layout,
}

/// One version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) key: usize,
    pub(super) seq: SeqNo,
    pub(super) kind: Kind,
    pub(super) newest: bool,
    pub(super) place: EntryPlace,
    value_len: usize,
}

/// A question, and which key of the table it is for, if it has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask<'t> {
    pub(super) key: Option<usize>,
    pub(super) bytes: &'t [u8],
    pub(super) hash: u64,
    pub(super) snapshot: SeqNo,
}

/// A table, as builders of indexes see it.
pub(super) struct Table {
    pub(super) name: String,
    pub(super) keys: Vec<Vec<u8>>,
    hashes: Vec<u64>,
    rows: Vec<Row>,
    /// The first row of each key, and the end.
    starts: Vec<usize>,
    /// Keys that it does not have, with hashes.
    absent: Vec<(Vec<u8>, u64)>,
    layout: Layout,
    units: u32,
}

impl Table {
    pub(super) fn new(recipe: Recipe) -> Self {
        let Recipe { name, keys, versions, hash, layout } = recipe;
        let mut pages = Pages { layout, page: layout.first_page, slot: 0, offset: HEAD_BYTES };
        let (mut rows, mut starts) = (Vec::new(), vec![0]);
        for (key, bytes) in keys.iter().enumerate() {
            let versions = versions(key as u64);
            let count = versions.len();
            for (no, (kind, value_len)) in versions.into_iter().enumerate() {
                let seq = SeqNo(100 + ((count - no) * 10 + key % 7) as u64);
                let place = pages.place(bytes.len() + value_len);
                rows.push(Row { key, seq, kind, newest: no == 0, place, value_len });
            }
            starts.push(rows.len());
        }
        let hashes = (0..).zip(&keys).map(|(no, key)| hash(no, key)).collect();
        let every = keys.len() / ABSENT_AROUND_MAX + 1;
        let near = keys.iter().step_by(every).flat_map(|key| neighbours(key));
        let absent = near.chain([Vec::new(), vec![0xFF; 9]]).filter(|key| keys.binary_search(key).is_err());
        let absent = (keys.len() as u64..).zip(absent).map(|(no, key)| (hash(no, &key), key));
        let absent = absent.map(|(hash, key)| (key, hash)).collect();
        let units = pages.page + layout.page_units - layout.first_page;
        Self { name, hashes, rows, starts, absent, layout, units, keys }
    }

    /// What is known of it when an index is planned.
    pub(super) fn shape(&self) -> TableShape {
        TableShape {
            table_bytes: u64::from(self.units) * UNIT_BYTES as u64,
            entries: self.rows.len() as u64,
            keys: self.keys.len() as u64,
            tombstones: self.rows.iter().filter(|row| row.kind == Kind::Delete).count() as u64,
            data_units: self.layout.first_page.saturating_add(self.units),
            align_bytes: self.layout.align as u32,
            page_bytes: self.layout.page_units * UNIT_BYTES as u32,
            ..TableShape::default()
        }
    }

    /// Its entries, in order.
    pub(super) fn entries(&self) -> impl ExactSizeIterator<Item = EntryFacts<'_>> {
        self.rows.iter().map(|row| {
            let Row { key, seq, kind, newest, place, value_len } = *row;
            let version = Version { seq, kind, newest, value: &VALUE[..value_len] };
            EntryFacts::new(&self.keys[key], self.hashes[key], place, version)
        })
    }

    /// The versions of a key, newest first.
    pub(super) fn versions(&self, key: usize) -> &[Row] {
        &self.rows[self.starts[key]..self.starts[key + 1]]
    }

    /// Questions for the newest version of every key.
    pub(super) fn newest(&self) -> Vec<Ask<'_>> {
        let ask = |(key, hash)| Ask { key: Some(key), bytes: &self.keys[key], hash, snapshot: SeqNo::MAX };
        self.hashes.iter().copied().enumerate().map(ask).collect()
    }

    /// Questions for keys that it does not have.
    pub(super) fn absent(&self) -> Vec<Ask<'_>> {
        let ask = |no: usize| {
            let (bytes, hash) = &self.absent[no];
            Ask { key: None, bytes, hash: *hash, snapshot: SeqNo::MAX }
        };
        (0..self.absent.len()).map(ask).collect()
    }

    /// Questions of every kind: every key, some of them at snapshots before and between their
    /// versions, absent keys, and absent keys with the hash of one that is there.
    pub(super) fn asks(&self) -> Vec<Ask<'_>> {
        let newest = self.newest();
        let mut asks = Vec::new();
        for ask in newest.iter().step_by(SNAPSHOTS_OF) {
            let seqs = ask.key.map_or(&[][..], |key| self.versions(key)).iter().map(|row| row.seq.0);
            let snapshots = seqs.flat_map(|seq| [seq, seq - 1]).chain([0]);
            asks.extend(snapshots.map(|seq| Ask { snapshot: SeqNo(seq), ..*ask }));
        }
        let absent = self.absent();
        asks.extend(
            absent.iter().zip(newest.iter().cycle()).map(|(absent, ask)| Ask { hash: ask.hash, ..*absent }),
        );
        asks.extend(newest);
        asks.extend(absent);
        asks
    }
}

/// Where the next entry goes.
struct Pages {
    layout: Layout,
    page: u32,
    slot: u16,
    offset: usize,
}

impl Pages {
    fn place(&mut self, bytes: usize) -> EntryPlace {
        let Layout { page_units, align, .. } = self.layout;
        let room = page_units as usize * UNIT_BYTES;
        let needed = (ENTRY_BYTES + bytes).next_multiple_of(align);
        let slots = |count: u16| (usize::from(count) + 1) * SLOT_BYTES;
        if HEAD_BYTES + needed + slots(0) > room {
            // A run of its own.
            self.next_page();
            let place = EntryPlace { page: PageNo(self.page), slot: SlotNo(0), offset: 0 };
            self.page += (HEAD_BYTES + needed).div_ceil(UNIT_BYTES) as u32;
            return place;
        }
        if self.offset + needed + slots(self.slot) > room {
            self.next_page();
        }
        let place =
            EntryPlace { page: PageNo(self.page), slot: SlotNo(self.slot), offset: self.offset as u16 };
        (self.slot, self.offset) = (self.slot + 1, self.offset + needed);
        place
    }

    fn next_page(&mut self) {
        if self.slot > 0 {
            self.page += self.layout.page_units;
            (self.slot, self.offset) = (0, HEAD_BYTES);
        }
    }
}
