//! Sidecars against the tables they stand beside.

use std::collections::HashMap;
use std::sync::Arc;

use kiban_formats::{FileNo, FormatError, Kind, SeqNo};
use kiban_indexes::{Accessor, AccessorFormat, EntryFacts, Location, PointAccessor, Probe, Residency};

use super::sidecar::{self, Sidecar, Unusable};
use super::work::is_settled;
use crate::error::{Error, ErrorKind, Result};
use crate::files::FileName;
use crate::store::Store;
use crate::table::TableHandle;
use crate::upkeep::Scope;

/// Problems after which a sidecar is not looked at any further.
const PROBLEMS_MAX: usize = 100;

/// A sidecar that was looked at.
#[derive(Debug)]
pub(crate) struct CheckedSidecar {
    pub(crate) bytes: u64,
    /// What is wrong with it: errors that name the file.
    pub(crate) problems: Vec<Error>,
}

impl Store {
    /// The formats of the sidecars in the directory, table by table: also of those that are refused.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn sidecars(&self) -> Result<HashMap<FileNo, Vec<String>>> {
        let listed = self.storage.list(&self.dir).map_err(|source| Error::io("list", &self.dir, source))?;
        let mut sidecars: HashMap<FileNo, Vec<String>> = HashMap::new();
        for entry in listed {
            if let FileName::Sidecar(no, format) = FileName::parse(&entry.name) {
                sidecars.entry(no).or_default().push(format.to_owned());
            }
        }
        Ok(sidecars)
    }

    /// Waits until there is, beside each live table, what the policies want or a reason why not.
    ///
    /// # Errors
    /// That the store was closed. Other failures of the background do not keep it from reading.
    pub(crate) fn wait_for_indexes(&self) -> Result<()> {
        if self.read_only {
            return Ok(());
        }
        let all_settled = || self.spaces().iter().all(|space| is_settled(space));
        let waited = self.upkeep.wait_until(self, Scope::All, all_settled);
        match waited {
            Err(error) if error.kind() == ErrorKind::Closed => Err(error),
            _ => Ok(()),
        }
    }

    /// Reads the sidecars of a table, of these formats: each checksum, and that it says of each key of the table what
    /// a scan of the table says. One of an unknown format is checked by its checksums alone.
    ///
    /// # Errors
    /// The system's, and damage of the table.
    pub(crate) fn verify_sidecars(
        &self,
        table: &TableHandle,
        formats: &[String],
    ) -> Result<Vec<CheckedSidecar>> {
        let mut checked = Vec::new();
        for name in formats {
            let path = table.path().with_extension(name);
            let format = self.indexing.registry().by_name(name);
            let opened = match format {
                Some(format) => {
                    let owner = sidecar::header(&**format, self.id, &table.meta);
                    Sidecar::open(&*self.storage, &path, &**format, &owner)?
                }
                None => Sidecar::open_of_anyone(&*self.storage, &path)?,
            };
            let (bytes, problems) = match opened {
                // Derived data: its absence is no damage.
                Err(Unusable::Missing) => continue,
                Err(Unusable::Refused(error)) => (0, vec![error]),
                Ok(sidecar) => (sidecar.bytes, self.compare(table, &sidecar, format)?),
            };
            let problems = problems.into_iter().map(|problem| Error::format(&path, problem)).collect();
            checked.push(CheckedSidecar { bytes, problems });
        }
        Ok(checked)
    }

    fn compare(
        &self,
        table: &TableHandle,
        sidecar: &Sidecar,
        format: Option<&Arc<dyn AccessorFormat>>,
    ) -> Result<Vec<FormatError>> {
        let file = match sidecar.resident()? {
            Ok(file) => file,
            Err(error) => return Ok(vec![error]),
        };
        let Some(format) = format else { return Ok(Vec::new()) };
        let accessor = match format.open(file, Residency::Resident) {
            Ok(accessor) => accessor,
            Err(error) => return Ok(vec![error]),
        };
        let mut problems = Vec::new();
        table.get(&self.tables)?.for_each_entry(|entry| -> Result<()> {
            if problems.len() < PROBLEMS_MAX && entry.newest {
                problems.extend(wrong(&accessor, entry));
            }
            Ok(())
        })?;
        Ok(problems)
    }
}

/// What is wrong with what an index says of a key's newest entry.
fn wrong(accessor: &Accessor, entry: &EntryFacts<'_>) -> Option<FormatError> {
    let location = accessor.locate(&Probe::new(entry.key, entry.hash, SeqNo::MAX));
    let is_right = match location {
        Location::Entry { page, offset } => (page, offset) == (entry.page, entry.offset),
        Location::Slot { page, slot } => (page, slot) == (entry.page, entry.slot),
        Location::Page(page) => page == entry.page,
        Location::Pages { first, last } => (first..=last).contains(&entry.page),
        Location::Deleted => entry.kind == Kind::Delete,
        Location::Absent => false,
        // It claims nothing.
        _ => true,
    };
    (!is_right).then(|| {
        let key = entry.key.escape_ascii();
        let (page, slot) = (entry.page.0, entry.slot.0);
        FormatError::invalid(
            "accessor file",
            0,
            format!("it says {location:?} of the key b\"{key}\" on page {page}, slot {slot}"),
        )
    })
}
