//! An index that says what is not so.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kiban_formats::{FormatError, PageNo, SlotNo};

use super::keys::mix;
use crate::accessor::Accessor;
use crate::contract::{
    AccessorBuilder, AccessorFile, AccessorFormat, Built, Declined, EntryFacts, EntryPlace, FormatId,
    Location, Params, Plan, PointAccessor, Presence, Probe, Residency, SectionWriter, TableShape,
};

const NAME: &str = "liar";
/// The section with what lies are made of: hash, page, slot and offset of every entry.
const SECTION: &str = "lies";
const ROW_BYTES: usize = 16;

/// Wraps a format: its indexes answer with places of other entries, older versions, neighbours,
/// places that are none, right places in other forms, runs of pages, and `Unknown`. They never break a
/// promise, unless [asked to](Liar::breaking_promises), so no answer of a store may change.
///
/// It is a format of its own, `liar`, and can be registered beside the one that it wraps.
#[derive(Clone, Debug)]
pub struct Liar {
    format: Arc<dyn AccessorFormat>,
    seed: u64,
    one_in: u64,
    breaks_promises: bool,
    told: Arc<AtomicU64>,
}

impl Liar {
    /// Lies always; which lies follows from the seed and from how often it was asked.
    pub fn new(format: Arc<dyn AccessorFormat>, seed: u64) -> Self {
        Self { format, seed, one_in: 1, breaks_promises: false, told: Arc::default() }
    }

    /// Lies once in so many answers, and is honest in the others; 0 counts as 1.
    #[must_use]
    pub fn one_in(mut self, answers: u64) -> Self {
        self.one_in = answers.max(1);
        self
    }

    /// Its lies are `Absent`, whatever the table has. Answers of a store that trusts it are wrong;
    /// one with `absent_check_every` of 1 finds out.
    #[must_use]
    pub fn breaking_promises(mut self) -> Self {
        self.breaks_promises = true;
        self
    }

    /// Lies that all its indexes have told.
    pub fn told(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }
}

impl AccessorFormat for Liar {
    fn id(&self) -> FormatId {
        FormatId::of_name(NAME)
    }

    fn name(&self) -> &str {
        NAME
    }

    fn version(&self) -> u16 {
        self.format.version()
    }

    fn keeps_keys(&self) -> bool {
        self.format.keeps_keys()
    }

    fn check_params(&self, params: &Params) -> Result<(), String> {
        self.format.check_params(params)
    }

    fn plan(&self, shape: &TableShape, params: &Params) -> Plan {
        self.format.plan(shape, params)
    }

    fn builder(
        &self,
        shape: &TableShape,
        params: &Params,
        seed: u64,
    ) -> Result<Box<dyn AccessorBuilder>, Declined> {
        // It keeps all entries anyway, so one pass is enough.
        let shape = TableShape { memory_max: 0, ..shape.clone() };
        let inner = self.format.builder(&shape, params, seed)?;
        Ok(Box::new(LyingBuilder { inner, rows: Vec::new() }))
    }

    fn open(&self, file: AccessorFile, residency: Residency) -> Result<Accessor, FormatError> {
        file.verify_section(SECTION)?;
        let rows = file.bytes()[file.section(SECTION)?].as_chunks().0.iter().map(decode).collect();
        let mut header = *file.header();
        header.format_id = self.format.id().0;
        let sections = file.sections().iter().filter(|section| section.name != SECTION).cloned().collect();
        let inner = self.format.open(AccessorFile::new(header, sections, file.into_bytes()), residency)?;
        Ok(Accessor::Plugin(Box::new(Lying::new(self.clone(), inner, rows))))
    }
}

struct LyingBuilder {
    inner: Box<dyn AccessorBuilder>,
    rows: Vec<[u8; ROW_BYTES]>,
}

impl AccessorBuilder for LyingBuilder {
    fn add(&mut self, entry: &EntryFacts<'_>) -> Result<(), Declined> {
        self.rows.push(encode(entry));
        self.inner.add(entry)
    }

    fn memory_bytes(&self) -> usize {
        self.inner.memory_bytes() + self.rows.capacity() * ROW_BYTES
    }

    fn estimate_bytes(&self) -> u64 {
        self.inner.estimate_bytes() + (self.rows.len() * ROW_BYTES) as u64
    }

    fn finish(self: Box<Self>, out: &mut dyn SectionWriter) -> Result<Built, Declined> {
        let built = self.inner.finish(out)?;
        out.section(SECTION)?;
        out.write(self.rows.as_flattened())?;
        Ok(built)
    }
}

fn encode(entry: &EntryFacts<'_>) -> [u8; ROW_BYTES] {
    let mut row = [0; ROW_BYTES];
    row[..8].copy_from_slice(&entry.hash.to_le_bytes());
    row[8..12].copy_from_slice(&entry.page.0.to_le_bytes());
    row[12..14].copy_from_slice(&entry.slot.0.to_le_bytes());
    row[14..].copy_from_slice(&entry.offset.to_le_bytes());
    row
}

fn decode(row: &[u8; ROW_BYTES]) -> (u64, EntryPlace) {
    let number = |from: usize, to: usize| {
        row[from..to].iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
    };
    let (page, slot) = (PageNo(number(8, 12) as u32), SlotNo(number(12, 14) as u16));
    (number(0, 8), EntryPlace { page, slot, offset: number(14, 16) as u16 })
}

/// An index that lies.
struct Lying {
    liar: Liar,
    inner: Accessor,
    /// Every entry, in the order of the table.
    rows: Vec<(u64, EntryPlace)>,
    /// The newest entry of each hash.
    newest: HashMap<u64, usize>,
    asked: AtomicU64,
}

impl fmt::Debug for Lying {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lying").field("liar", &self.liar).field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Lying {
    fn new(liar: Liar, inner: Accessor, rows: Vec<(u64, EntryPlace)>) -> Self {
        // The first of a hash is the newest, so it is put in last.
        let newest = rows.iter().enumerate().rev().map(|(no, (hash, _))| (*hash, no)).collect();
        Self { liar, inner, rows, newest, asked: AtomicU64::new(0) }
    }

    fn lie(&self, hash: u64, choice: u64) -> Location {
        if self.liar.breaks_promises {
            return Location::Absent;
        }
        let random = (choice >> 8) as usize;
        let anywhere = self.place(random);
        let at = self.newest.get(&hash).copied();
        let EntryPlace { page, slot, offset } = at.map_or(anywhere, |at| self.place(at));
        let entry = |EntryPlace { page, offset, .. }: EntryPlace| Location::Entry { page, offset };
        let beside = |by: isize| self.place(at.unwrap_or(random).wrapping_add_signed(by));
        match choice % 19 {
            // So, but in another form.
            0 => Location::Page(page),
            1 => Location::Slot { page, slot },
            2 => Location::Entry { page, offset },
            3 => Location::Pages {
                first: PageNo(page.0.saturating_sub(2)),
                last: PageNo(page.0.saturating_add(1)),
            },
            // Another entry: an older version of the key, if it has one, neighbours, any.
            4 => entry(beside(1)),
            5 => Location::Slot { page: beside(1).page, slot: beside(1).slot },
            6 => entry(beside(-1)),
            7 => entry(anywhere),
            8 => Location::Page(anywhere.page),
            9 => Location::Pages { first: anywhere.page, last: PageNo(anywhere.page.0.saturating_add(3)) },
            // None at all.
            10 => Location::Entry { page, offset: offset ^ (1 << (random % 16)) },
            11 => Location::Slot { page, slot: SlotNo(slot.0.wrapping_add(300)) },
            12 => Location::Entry { page: PageNo(page.0 ^ (1 << (random % 32))), offset },
            13 => Location::Page(PageNo(u32::MAX - (random % 3) as u32)),
            14 => Location::Entry { page: PageNo(u32::MAX), offset: u16::MAX },
            15 => Location::Pages { first: PageNo(0), last: PageNo(u32::MAX) },
            // The middle of a run, often.
            16 => Location::Page(PageNo(page.0.saturating_add(1 + (random % 20) as u32))),
            17 => Location::Pages { first: PageNo(page.0.saturating_add(1)), last: page },
            _ => Location::Unknown,
        }
    }

    /// The place of an entry, counted around.
    fn place(&self, no: usize) -> EntryPlace {
        let nowhere = EntryPlace { page: PageNo(9), slot: SlotNo(9), offset: 9 };
        self.rows.get(no % self.rows.len().max(1)).map_or(nowhere, |(_, place)| *place)
    }

    /// The answer itself, or a lie.
    fn told(&self, hash: u64, answer: Location) -> Location {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        let choice = mix(self.liar.seed ^ hash, asked);
        if !(choice >> 40).is_multiple_of(self.liar.one_in) {
            return answer;
        }
        self.liar.told.fetch_add(1, Ordering::Relaxed);
        self.lie(hash, choice)
    }
}

impl PointAccessor for Lying {
    fn locate(&self, probe: &Probe<'_>) -> Location {
        self.told(probe.hash, self.inner.locate(probe))
    }

    fn locate_many(&self, probes: &[Probe<'_>], out: &mut [Location]) {
        self.inner.locate_many(probes, out);
        for (probe, out) in probes.iter().zip(out) {
            *out = self.told(probe.hash, *out);
        }
    }

    fn prefetch(&self, hash: u64) {
        self.inner.prefetch(hash);
    }

    fn presence(&self, probe: &Probe<'_>) -> Presence {
        self.inner.presence(probe)
    }

    fn resident_bytes(&self) -> usize {
        let row_bytes = size_of::<(u64, EntryPlace)>();
        let newest_bytes = self.newest.capacity() * size_of::<(u64, usize, u8)>();
        self.inner.resident_bytes() + size_of::<Self>() + self.rows.capacity() * row_bytes + newest_bytes
    }

    fn rejects_absent(&self) -> bool {
        self.inner.rejects_absent()
    }
}
