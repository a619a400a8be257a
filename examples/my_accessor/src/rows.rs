//! The format `rows`: a row of fourteen bytes for each key, in the order of the keys' hashes.
//!
//! ```text
//! section `rows`: | hash 8 | page 4 | offset 2 | hash 8 | ...        big-endian, so that bytes sort as numbers do
//! ```
//!
//! Hashes are even, so the row of a hash is guessed by proportion and found a few steps further.

use std::ops::Range;

use kiban::accessor::{
    Accessor, AccessorBuilder, AccessorFile, AccessorFormat, Built, Declined, EntryFacts, FormatError,
    FormatId, Location, PageNo, Params, Plan, PointAccessor, Probe, Residency, SectionWriter, TableShape,
};

const ROW: usize = 14;
const HASH: usize = 8;
const SECTION: &str = "rows";

/// The format.
#[derive(Clone, Copy, Debug)]
pub struct Rows;

impl AccessorFormat for Rows {
    fn id(&self) -> FormatId {
        FormatId::of_name("rows")
    }

    fn name(&self) -> &str {
        "rows"
    }

    fn plan(&self, _: &TableShape, _: &Params) -> Plan {
        Plan::Inline { bytes_per_key: ROW as u32 }
    }

    fn builder(&self, _: &TableShape, _: &Params, _: u64) -> Result<Box<dyn AccessorBuilder>, Declined> {
        Ok(Box::new(Collected(Vec::new())))
    }

    fn open(&self, file: AccessorFile, residency: Residency) -> Result<Accessor, FormatError> {
        // A copy has been checked. Of a map nobody has looked at a byte.
        if residency == Residency::Mapped {
            file.verify_section(SECTION)?;
        }
        let rows = file.section(SECTION)?;
        Ok(Accessor::Plugin(Box::new(Index { rows, file, residency })))
    }
}

struct Collected(Vec<[u8; ROW]>);

impl AccessorBuilder for Collected {
    fn add(&mut self, entry: &EntryFacts<'_>) -> Result<(), Declined> {
        // Older versions of a key are found from its newest one.
        if entry.newest {
            let mut row = [0; ROW];
            row[..HASH].copy_from_slice(&entry.hash.to_be_bytes());
            row[HASH..12].copy_from_slice(&entry.page.0.to_be_bytes());
            row[12..].copy_from_slice(&entry.offset.to_be_bytes());
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
        out.section(SECTION)?;
        out.write(self.0.as_flattened())?;
        // Keys that share their hash are not found by it.
        let found = self.0.chunk_by(|one, next| one[..HASH] == next[..HASH]).filter(|same| same.len() == 1);
        Ok(Built::new(found.count() as u64, vec![(SECTION, (self.0.len() * ROW) as u64)]))
    }
}

#[derive(Debug)]
struct Index {
    file: AccessorFile,
    rows: Range<usize>,
    residency: Residency,
}

impl PointAccessor for Index {
    fn locate(&self, probe: &Probe<'_>) -> Location {
        let (rows, _) = self.file.bytes()[self.rows.clone()].as_chunks::<ROW>();
        let hash = probe.hash.to_be_bytes();
        let mut at = (((probe.hash >> 32) * rows.len() as u64) >> 32) as usize;
        while at > 0 && rows[at - 1][..HASH] >= hash[..] {
            at -= 1;
        }
        while rows.get(at).is_some_and(|row| row[..HASH] < hash[..]) {
            at += 1;
        }
        let mut same = rows[at..].iter().take_while(|row| row[..HASH] == hash);
        match (same.next(), same.next()) {
            (None, _) => Location::Absent,
            (Some(row), None) => {
                Location::Entry { page: PageNo(number(&row[HASH..12])), offset: number(&row[12..]) as u16 }
            }
            // Which of them it is the table's own index says.
            (Some(_), Some(_)) => Location::Unknown,
        }
    }

    fn resident_bytes(&self) -> usize {
        size_of::<Self>() + if self.residency == Residency::Resident { self.file.len() } else { 0 }
    }

    fn rejects_absent(&self) -> bool {
        true
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kiban::accessor::conformance::{check, check_in_store};

    use super::Rows;

    #[test]
    fn it_keeps_the_contract_in_memory() {
        let report = check(&Rows).unwrap();
        assert!(report.declined().is_empty(), "{report}");
    }

    #[test]
    fn it_keeps_the_contract_in_stores() {
        check_in_store(Arc::new(Rows)).unwrap();
    }
}
