//! `ph4`, as the engine builds and asks it.

use kiban_formats::{Kind, PageNo, SeqNo, SlotNo};
use kiban_indexes::{
    Accessor, AccessorFormat, EntryFacts, EntryPlace, Location, Params, Ph4Format, PointAccessor, Probe,
    TableShape, Version,
};

use crate::packed::width;
use crate::{Function, Side, sidecar};

/// A resident index; the number of a key is the page of its place.
pub(crate) struct Ph4 {
    accessor: Accessor,
    slots: usize,
    /// Bytes of the file but for the slots.
    beside_slots: usize,
}

impl Function for Ph4 {
    const NAME: &'static str = "ph4";
    const SIDE: Side = Side::Ours;

    fn build(keys: &[u64]) -> Self {
        let mut shape = TableShape::default();
        shape.keys = keys.len() as u64;
        let mut builder = Ph4Format.builder(&shape, &Params::new(), 1).expect("it declines no table");
        for (no, hash) in (0..).zip(keys) {
            let place = EntryPlace { page: PageNo(no), slot: SlotNo(0), offset: 0 };
            let version = Version { seq: SeqNo(0), kind: Kind::Put, newest: true, value: b"" };
            builder.add(&EntryFacts::new(b"", *hash, place, version)).expect("it takes every entry");
        }
        let (file, built) = sidecar::finish(&Ph4Format, builder, keys.len() as u64);
        let slot_bytes: u64 = built.parts.iter().filter(|part| part.0 == "slots").map(|part| part.1).sum();
        let slots = slot_bytes as usize * 8 / width(keys.len()) as usize;
        let beside_slots = file.len() - slot_bytes as usize;
        Self { accessor: sidecar::open(&Ph4Format, file), slots, beside_slots }
    }

    fn index(&self, key: u64) -> usize {
        match self.accessor.locate(&Probe::new(b"", key, SeqNo::MAX)) {
            Location::Entry { page, .. } => page.0 as usize,
            _ => usize::MAX,
        }
    }

    fn slots(&self) -> usize {
        self.slots
    }

    fn bits(&self) -> f64 {
        self.beside_slots as f64 * 8.0
    }
}
