//! Building a sidecar from a published table.

use kiban_indexes::{AccessorBuilder, AccessorFormat, Declined, Params, Plan};

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
    /// Builds a sidecar by scanning the table.
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
                    Err(Error::io("write the index of", table.path(), source))
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
        let table = handle.get(&self.tables)?;
        let mut shape = table.shape(handle.meta.level);
        // Every background thread may build one.
        let memory_max = self.settings.build_bytes / u64::from(self.settings.background_threads.max(1));
        shape.memory_max = memory_max.max(1);
        if let Plan::Decline(reason) = format.plan(&shape, params) {
            return Err(Declined::new(reason).into());
        }
        let mut memory = self.tables.building.share();
        let mut builder = format.builder(&shape, params, seed(handle))?;
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
        let path = handle.path().with_extension(format.name());
        let header = sidecar::header(format, self.id, &handle.meta);
        let mut out = Writing::begin(&*self.storage, &path, &header)?;
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
}

/// The same table always gets the same index.
fn seed(table: &TableHandle) -> u64 {
    let mut seed = [0; 8];
    seed.copy_from_slice(&table.meta.id.0[..8]);
    u64::from_le_bytes(seed)
}
