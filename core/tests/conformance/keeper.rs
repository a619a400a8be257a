//! A format that keeps whole keys with all their versions, and so may say that a key is deleted.

use std::collections::HashMap;

use kiban::accessor::{
    Accessor, AccessorBuilder, AccessorFile, AccessorFormat, Built, Declined, EntryFacts, FormatError,
    FormatId, Kind, Location, PageNo, Params, Plan, PointAccessor, Presence, Probe, Problem, Residency,
    SectionWriter, SeqNo, SlotNo, TableShape,
};

/// The format `keeper`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeper {
    /// What it says of itself; its answers are the same.
    pub(crate) keeps_keys: bool,
    /// It takes tombstones for values, and values for tombstones.
    pub(crate) mistakes_kinds: bool,
}

impl Keeper {
    pub(crate) const HONEST: Self = Self { keeps_keys: true, mistakes_kinds: false };
}

impl AccessorFormat for Keeper {
    fn id(&self) -> FormatId {
        FormatId::of_name("keeper")
    }

    fn name(&self) -> &str {
        "keeper"
    }

    fn keeps_keys(&self) -> bool {
        self.keeps_keys
    }

    fn plan(&self, _: &TableShape, _: &Params) -> Plan {
        Plan::Inline { bytes_per_key: 64 }
    }

    fn builder(&self, _: &TableShape, _: &Params, _: u64) -> Result<Box<dyn AccessorBuilder>, Declined> {
        Ok(Box::new(KeeperBuilder { rows: Vec::new(), keys: 0, mistakes_kinds: self.mistakes_kinds }))
    }

    fn open(&self, file: AccessorFile, _: Residency) -> Result<Accessor, FormatError> {
        file.verify_section("rows")?;
        let mut rest = &file.bytes()[file.section("rows")?];
        let mut keys: HashMap<Box<[u8]>, Vec<Version>> = HashMap::new();
        while !rest.is_empty() {
            let short = || FormatError::new("rows", 0, Problem::Truncated { needed: 1, have: 0 });
            let (key, version) = decode(&mut rest).ok_or_else(short)?;
            keys.entry(key.into()).or_default().push(version);
        }
        Ok(Accessor::Plugin(Box::new(KeeperIndex { keys })))
    }
}

/// Bytes of a row beside its key.
const ROW: usize = 4 + 8 + 1 + 4 + 2;

struct KeeperBuilder {
    rows: Vec<u8>,
    keys: u64,
    mistakes_kinds: bool,
}

impl AccessorBuilder for KeeperBuilder {
    fn add(&mut self, entry: &EntryFacts<'_>) -> Result<(), Declined> {
        self.keys += u64::from(entry.newest);
        self.rows.extend_from_slice(&(entry.key.len() as u32).to_le_bytes());
        self.rows.extend_from_slice(&entry.seq.0.to_le_bytes());
        self.rows.push(u8::from((entry.kind == Kind::Put) != self.mistakes_kinds));
        self.rows.extend_from_slice(&entry.page.0.to_le_bytes());
        self.rows.extend_from_slice(&entry.slot.0.to_le_bytes());
        self.rows.extend_from_slice(entry.key);
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        self.rows.capacity()
    }

    fn estimate_bytes(&self) -> u64 {
        self.rows.len() as u64
    }

    fn finish(self: Box<Self>, out: &mut dyn SectionWriter) -> Result<Built, Declined> {
        out.section("rows")?;
        out.write(&self.rows)?;
        Ok(Built::new(self.keys, vec![("rows", self.rows.len() as u64)]))
    }
}

#[derive(Clone, Copy, Debug)]
struct Version {
    seq: SeqNo,
    is_put: bool,
    page: PageNo,
    slot: SlotNo,
}

/// The next row, with its key.
fn decode<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], Version)> {
    let (head, tail) = rest.split_first_chunk::<ROW>()?;
    let number = |from: usize, to: usize| {
        head[from..to].iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let (key, tail) = tail.split_at_checked(number(0, 4) as usize)?;
    *rest = tail;
    let (page, slot) = (PageNo(number(13, 17) as u32), SlotNo(number(17, 19) as u16));
    Some((key, Version { seq: SeqNo(number(4, 12)), is_put: head[12] == 1, page, slot }))
}

#[derive(Debug)]
struct KeeperIndex {
    keys: HashMap<Box<[u8]>, Vec<Version>>,
}

impl KeeperIndex {
    /// The newest version that the snapshot sees.
    fn visible(&self, probe: &Probe<'_>) -> Option<&Version> {
        self.keys.get(probe.key)?.iter().find(|version| version.seq <= probe.snapshot)
    }
}

impl PointAccessor for KeeperIndex {
    fn locate(&self, probe: &Probe<'_>) -> Location {
        match self.visible(probe) {
            None => Location::Absent,
            Some(Version { is_put: false, .. }) => Location::Deleted,
            Some(Version { page, slot, .. }) => Location::Slot { page: *page, slot: *slot },
        }
    }

    fn presence(&self, probe: &Probe<'_>) -> Presence {
        match self.visible(probe) {
            None => Presence::Absent,
            Some(version) if version.is_put => Presence::Live,
            Some(_) => Presence::Deleted,
        }
    }

    fn resident_bytes(&self) -> usize {
        let entry = size_of::<(Box<[u8]>, Vec<Version>)>() + 1;
        // Of eight buckets one stays free.
        let buckets = self.keys.capacity() * 8 / 7;
        let keys = self.keys.keys().map(|key| key.len()).sum::<usize>();
        let versions = self.keys.values().map(Vec::capacity).sum::<usize>() * size_of::<Version>();
        size_of::<Self>() + buckets * entry + keys + versions
    }

    fn rejects_absent(&self) -> bool {
        true
    }
}
