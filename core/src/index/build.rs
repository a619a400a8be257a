//! Building a sidecar of a published table: of what was collected while it was written, or by a scan.

use kiban_formats::TableId;
use kiban_indexes::{AccessorBuilder, AccessorFormat, Declined, Params, Plan, TableShape};

use super::collect::Collected;
use super::sidecar::{self, Writing};
use crate::error::{Error, Result};
use crate::store::Store;
use crate::table::TableHandle;

/// Entries between two looks whether the store is closed and the memory is enough.
const ENTRIES_A_LOOK: u64 = 1024;

/// Most passes over a table that a format gets.
const PASSES_MAX: u32 = 1024;

/// How a build ended that did not fail.
#[derive(Debug)]
pub(super) enum Ended {
    /// With a sidecar of so many bytes.
    Built(u64),
    /// Without, for this reason.
    Declined(String),
}

enum Stop {
    Failed(Error),
    Declined(Declined),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Declined> for Stop {
    fn from(declined: Declined) -> Self {
        Self::Declined(declined)
    }
}

impl Store {
    /// Builds a table's sidecar.
    ///
    /// # Errors
    /// The system's, damage of the table, and that the store was closed.
    pub(super) fn build_sidecar(
        &self,
        table: &TableHandle,
        format: &dyn AccessorFormat,
        params: &Params,
    ) -> Result<Ended> {
        match self.try_build(table, format, params) {
            Ok(bytes) => Ok(Ended::Built(bytes)),
            Err(Stop::Failed(error)) => Err(error),
            Err(Stop::Declined(declined)) => match declined.io() {
                Some(source) => {
                    let source = std::io::Error::new(source.kind(), source.to_string());
                    Err(Error::io("write", &table.path().with_extension(format.name()), source))
                }
                None => Ok(Ended::Declined(declined.reason().to_owned())),
            },
        }
    }

    fn try_build(
        &self,
        handle: &TableHandle,
        format: &dyn AccessorFormat,
        params: &Params,
    ) -> std::result::Result<u64, Stop> {
        if let Some(collected) = handle.index().take_collected(format.name(), params)
            && let Some(bytes) = self.solve_collected(handle, format, params, collected)?
        {
            return Ok(bytes);
        }
        self.build_by_scan(handle, format, params)
    }

    /// Builds a sidecar of what was collected while the table was written. `None`: the format asks for
    /// the entries once more.
    fn solve_collected(
        &self,
        handle: &TableHandle,
        format: &dyn AccessorFormat,
        params: &Params,
        collected: Collected,
    ) -> std::result::Result<Option<u64>, Stop> {
        let Collected { mut shape, mut builder, mut memory } = collected;
        shape.level = handle.meta.level;
        // It was begun for what the table was expected to become.
        check_plan(format, &shape, params)?;
        let mut out = self.begin_sidecar(handle, format)?;
        if builder.next_pass(&mut out)? {
            return Ok(None);
        }
        memory.set(builder.memory_bytes() as u64);
        builder.finish(&mut out)?;
        Ok(Some(out.finish().map_err(Declined::from)?))
    }

    fn build_by_scan(
        &self,
        handle: &TableHandle,
        format: &dyn AccessorFormat,
        params: &Params,
    ) -> std::result::Result<u64, Stop> {
        let table = handle.get(&self.tables)?;
        let mut shape = table.shape(handle.meta.level);
        // Half is for what is collected. Of the rest every background thread may take its part.
        let memory_max = self.settings.build_bytes / 2 / u64::from(self.settings.background_threads.max(1));
        shape.memory_max = memory_max.max(1);
        check_plan(format, &shape, params)?;
        let mut memory = self.tables.building.share();
        let mut builder = format.builder(&shape, params, seed(handle.meta.id))?;
        let mut add_all = |builder: &mut dyn AccessorBuilder| {
            let mut until_look = 0;
            table.for_each_entry(|entry| -> std::result::Result<(), Stop> {
                if until_look == 0 {
                    self.check_open()?;
                    until_look = ENTRIES_A_LOOK;
                    let bytes = builder.memory_bytes() as u64;
                    memory.set(bytes);
                    if bytes > memory_max {
                        return Err(
                            Declined::new(format!("needs more memory than {memory_max} bytes")).into()
                        );
                    }
                }
                until_look -= 1;
                Ok(builder.add(entry)?)
            })
        };
        add_all(&mut *builder)?;
        let mut out = self.begin_sidecar(handle, format)?;
        let mut passes = 1;
        while builder.next_pass(&mut out)? {
            passes += 1;
            if passes > PASSES_MAX {
                return Err(Declined::new(format!("asks for more than {PASSES_MAX} passes")).into());
            }
            self.check_open()?;
            add_all(&mut *builder)?;
        }
        builder.finish(&mut out)?;
        let bytes = out.finish().map_err(Declined::from)?;
        Ok(bytes)
    }

    fn begin_sidecar(&self, handle: &TableHandle, format: &dyn AccessorFormat) -> Result<Writing<'_>> {
        let path = handle.path().with_extension(format.name());
        Writing::begin(&*self.storage, &path, &sidecar::header(format, self.id, &handle.meta))
    }
}

fn check_plan(
    format: &dyn AccessorFormat,
    shape: &TableShape,
    params: &Params,
) -> std::result::Result<(), Declined> {
    match format.plan(shape, params) {
        Plan::Decline(reason) => Err(Declined::new(reason)),
        Plan::Inline { .. } | Plan::Scan => Ok(()),
    }
}

/// The same table always gets the same index.
pub(super) fn seed(table: TableId) -> u64 {
    let mut seed = [0; 8];
    seed.copy_from_slice(&table.0[..8]);
    u64::from_le_bytes(seed)
}
