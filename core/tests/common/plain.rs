//! The simplest index there is, as somebody outside writes it: hash and place of each key, sorted.

use std::ops::Range;

use kiban::accessor::{
    Accessor, AccessorBuilder, AccessorFile, AccessorFormat, Built, Declined, EntryFacts, FormatError,
    FormatId, Location, PageNo, Params, Plan, PointAccessor, Probe, Residency, SectionWriter, TableShape,
};

/// Hash, page and offset of a key, and zeros.
const ROW: usize = 16;

/// The format `plain`: 16 bytes a key. Keys that share their hash are left to the sorted index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain;

impl AccessorFormat for Plain {
    fn id(&self) -> FormatId {
        FormatId::of_name("plain")
    }

    fn name(&self) -> &str {
        "plain"
    }

    fn plan(&self, _: &TableShape, _: &Params) -> Plan {
        Plan::Scan
    }

    fn builder(&self, _: &TableShape, _: &Params, _: u64) -> Result<Box<dyn AccessorBuilder>, Declined> {
        Ok(Box::new(PlainBuilder(Vec::new())))
    }

    fn open(&self, file: AccessorFile, residency: Residency) -> Result<Accessor, FormatError> {
        if residency == Residency::Mapped {
            file.verify_section("rows")?;
        }
        let rows = file.section("rows")?;
        Ok(Accessor::Plugin(Box::new(PlainIndex { file, rows, residency })))
    }
}

struct PlainBuilder(Vec<[u8; ROW]>);

impl AccessorBuilder for PlainBuilder {
    fn add(&mut self, entry: &EntryFacts<'_>) -> Result<(), Declined> {
        if entry.newest {
            let mut row = [0; ROW];
            row[..8].copy_from_slice(&entry.hash.to_be_bytes());
            row[8..12].copy_from_slice(&entry.page.0.to_be_bytes());
            row[12..14].copy_from_slice(&entry.offset.to_be_bytes());
            self.0.push(row);
        }
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        self.0.capacity() * ROW
    }

    fn estimate_bytes(&self) -> u64 {
        (self.0.len() * ROW) as u64
    }

    fn finish(mut self: Box<Self>, out: &mut dyn SectionWriter) -> Result<Built, Declined> {
        self.0.sort_unstable();
        out.section("rows")?;
        out.write(self.0.as_flattened())?;
        let alone = self.0.chunk_by(|one, next| one[..8] == next[..8]).filter(|same| same.len() == 1);
        Ok(Built::new(alone.count() as u64, Vec::new()))
    }
}

#[derive(Debug)]
struct PlainIndex {
    file: AccessorFile,
    rows: Range<usize>,
    residency: Residency,
}

impl PointAccessor for PlainIndex {
    fn locate(&self, probe: &Probe<'_>) -> Location {
        let (rows, _) = self.file.bytes()[self.rows.clone()].as_chunks::<ROW>();
        let hash = probe.hash.to_be_bytes();
        let from = rows.partition_point(|row| row[..8] < hash[..]);
        let mut same = rows[from..].iter().take_while(|row| row[..8] == hash);
        match (same.next(), same.next()) {
            (None, _) => Location::Absent,
            (Some(_), Some(_)) => Location::Unknown,
            (Some(row), None) => {
                let number = |range: Range<usize>| {
                    row[range].iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte))
                };
                Location::Entry { page: PageNo(number(8..12)), offset: number(12..14) as u16 }
            }
        }
    }

    fn resident_bytes(&self) -> usize {
        size_of::<Self>() + if self.residency == Residency::Resident { self.file.len() } else { 0 }
    }

    fn rejects_absent(&self) -> bool {
        true
    }
}
