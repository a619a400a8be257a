//! Building: always the same bytes, given up at any time, told of failures.

use std::thread;

use kiban_formats::accessor_file::{
    ACCESSOR_HEADER_BYTES, ACCESSOR_TRAILER_BYTES, DIRECTORY_ENTRY_BYTES, SECTION_ALIGN,
};
use kiban_formats::describe::Dump;

use super::keys::SEED;
use super::sidecar::{self, MemSections};
use super::table::Table;
use crate::contract::{AccessorBuilder, AccessorFormat, Built, Declined, Params, TableShape};

/// Writes of a build that are made to fail, at most.
const FAILED_WRITES_MAX: u64 = 40;

/// A format, and its parameters.
#[derive(Clone, Copy)]
pub(super) struct Maker<'f> {
    pub(super) format: &'f dyn AccessorFormat,
    pub(super) params: &'f Params,
}

/// A file that was built.
pub(super) struct Made {
    pub(super) file: Vec<u8>,
    pub(super) built: Built,
    /// What the builder expected just before.
    pub(super) estimate: u64,
}

impl<'f> Maker<'f> {
    pub(super) fn begin(&self, shape: &TableShape) -> Result<Box<dyn AccessorBuilder>, Declined> {
        self.format.builder(shape, self.params, SEED)
    }

    /// A builder that was given all entries.
    pub(super) fn fill(
        &self,
        table: &Table,
        shape: &TableShape,
    ) -> Result<Box<dyn AccessorBuilder>, Declined> {
        let mut builder = self.begin(shape)?;
        table.entries().try_for_each(|entry| builder.add(&entry))?;
        Ok(builder)
    }

    pub(super) fn make(&self, table: &Table) -> Result<Made, Declined> {
        let builder = self.fill(table, &table.shape())?;
        let estimate = builder.estimate_bytes();
        let (file, built) = sidecar::finish(builder, &self.header(table))?;
        Ok(Made { file, built, estimate })
    }

    fn header(&self, table: &Table) -> kiban_formats::accessor_file::AccessorHeader {
        sidecar::header(self.format, table.keys.len() as u64)
    }

    /// Another build gives the same bytes; so it does where the counts are estimates, as they are
    /// while a table is being written, and where another thread goes on with it.
    pub(super) fn repeats(&self, table: &Table, made: &Made) -> Result<(), String> {
        let exact = table.shape();
        let mut guessed = exact.clone();
        guessed.keys = exact.keys * 3 / 2 + 5;
        guessed.entries = exact.entries / 2;
        guessed.table_bytes = exact.table_bytes * 2;
        guessed.data_units = 0;
        for (shape, what) in [(exact, "another build"), (guessed, "a build by estimated counts")] {
            let builder = self.fill(table, &shape).map_err(|declined| format!("{what}: {declined}"))?;
            self.is_same(builder, table, made, what)?;
        }
        let moved = self.across_threads(table).map_err(|declined| declined.to_string())?;
        self.is_same(moved, table, made, "a build in two threads")
    }

    fn is_same(
        &self,
        builder: Box<dyn AccessorBuilder>,
        table: &Table,
        made: &Made,
        what: &str,
    ) -> Result<(), String> {
        let again = sidecar::finish(builder, &self.header(table));
        let (file, built) = again.map_err(|declined| format!("{what}: {declined}"))?;
        if built.keys != made.built.keys {
            return Err(format!("{what} finds {} keys, not {}", built.keys, made.built.keys));
        }
        let differs = file.iter().zip(&made.file).position(|(again, first)| again != first);
        match differs.or((file.len() != made.file.len()).then_some(file.len().min(made.file.len()))) {
            None => Ok(()),
            Some(at) => Err(format!("{what} gives another file, from byte {at} on")),
        }
    }

    /// A builder of which another thread added the second half.
    fn across_threads(&self, table: &Table) -> Result<Box<dyn AccessorBuilder>, Declined> {
        let mut builder = self.begin(&table.shape())?;
        let half = table.entries().len() / 2;
        table.entries().take(half).try_for_each(|entry| builder.add(&entry))?;
        let rest = move || {
            table.entries().skip(half).try_for_each(|entry| builder.add(&entry))?;
            Ok(builder)
        };
        thread::scope(|scope| {
            let rest = scope.spawn(rest).join();
            rest.unwrap_or_else(|_| Err(Declined::new("it panicked in another thread")))
        })
    }

    /// A builder that is dropped at any time, here and elsewhere, is nothing but gone.
    pub(super) fn drops(&self, table: &Table) -> Result<(), String> {
        let entries = table.entries().len();
        for (no, stop) in [0, 1, entries / 2, entries].into_iter().enumerate() {
            let mut builder = self.begin(&table.shape()).map_err(|declined| declined.to_string())?;
            let mut some = table.entries().take(stop);
            some.try_for_each(|entry| builder.add(&entry)).map_err(|declined| declined.to_string())?;
            if no % 2 == 0 {
                let dropped = thread::scope(|scope| scope.spawn(move || drop(builder)).join());
                dropped.map_err(|_| "it panicked in another thread".to_owned())?;
            }
        }
        Ok(())
    }

    /// A write that fails is told as such, whichever it is.
    pub(super) fn fails(&self, table: &Table) -> Result<(), String> {
        for calls in 0..FAILED_WRITES_MAX {
            let builder = self.fill(table, &table.shape()).map_err(|declined| declined.to_string())?;
            let mut out = MemSections::failing_after(&self.header(table), calls);
            match builder.finish(&mut out) {
                Ok(_) if out.has_failed() => {
                    return Err(format!("call {calls} failed: the build ended well"));
                }
                Err(declined) if declined.io().is_none() => {
                    return Err(format!("call {calls} failed, and was told as `{declined}`"));
                }
                // There were no more.
                Ok(_) => break,
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// The size is within a tenth of what was expected; what the container takes comes on top.
    pub(super) fn estimates(&self, made: &Made) -> Result<(), String> {
        let sections = sidecar::sections(&made.file).map_err(|error| error.to_string())?.len() as u64;
        let container = (ACCESSOR_HEADER_BYTES + ACCESSOR_TRAILER_BYTES) as u64
            + sections * (DIRECTORY_ENTRY_BYTES as u64 + SECTION_ALIGN);
        let (estimate, bytes) = (made.estimate, made.file.len() as u64);
        match estimate.abs_diff(bytes) <= bytes / 10 + container {
            true => Ok(()),
            false => Err(format!("{estimate} bytes were expected, the file has {bytes}")),
        }
    }

    /// Every section is described.
    pub(super) fn describes(&self, bytes: &[u8]) -> Result<(), String> {
        let file =
            sidecar::read(bytes, std::sync::Arc::new(bytes.to_vec())).map_err(|error| error.to_string())?;
        let mut dump = Dump::new();
        file.sections().iter().try_for_each(|section| {
            let described = self.format.describe(&file, section, &mut dump);
            described.map_err(|error| format!("section {}: {error}", section.name))
        })
    }
}
