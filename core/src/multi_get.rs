//! Many keys at once: each place is asked for all keys that are still looked for, newest first, so
//! that an index can fetch what several of them need together.

use kiban_indexes::Probe;

use crate::error::Result;
use crate::run::Run;
use crate::source::Found;
use crate::table::{TableContext, TableHandle};

/// Keys that are looked for, and what was found so far.
pub(crate) struct Batch<'k> {
    probes: Vec<Probe<'k>>,
    found: Vec<Found>,
    /// The ordinals of those that no place knew yet.
    pending: Vec<usize>,
}

impl<'k> Batch<'k> {
    pub(crate) fn new(probes: Vec<Probe<'k>>) -> Self {
        let found = vec![Found::Absent; probes.len()];
        let pending = (0..probes.len()).collect();
        Self { probes, found, pending }
    }

    /// What was found, in the order of the probes.
    pub(crate) fn into_found(self) -> Vec<Found> {
        self.found
    }

    pub(crate) fn is_done(&self) -> bool {
        self.pending.is_empty()
    }

    /// Asks a place for each key by itself.
    pub(crate) fn ask(&mut self, get: impl Fn(&Probe<'_>) -> Found) {
        let (probes, found) = (&self.probes, &mut self.found);
        self.pending.retain(|ordinal| {
            found[*ordinal] = get(&probes[*ordinal]);
            found[*ordinal] == Found::Absent
        });
    }

    /// Asks one table for the keys in its range.
    pub(crate) fn ask_table(&mut self, context: &TableContext, table: &TableHandle) -> Result<()> {
        let in_range = |ordinal: &usize| table.may_hold(self.probes[*ordinal].key);
        let asked: Vec<usize> = self.pending.iter().copied().filter(in_range).collect();
        self.ask_for(context, table, &asked)?;
        self.forget_found();
        Ok(())
    }

    /// Asks the tables of a run, each for the keys in its range.
    pub(crate) fn ask_run(&mut self, context: &TableContext, run: &Run) -> Result<()> {
        let place = |ordinal: &usize| Some((run.ordinal_for(self.probes[*ordinal].key)?, *ordinal));
        let mut placed: Vec<(usize, usize)> = self.pending.iter().filter_map(place).collect();
        placed.sort_unstable();
        for group in placed.chunk_by(|a, b| a.0 == b.0) {
            let asked: Vec<usize> = group.iter().map(|(_, ordinal)| *ordinal).collect();
            self.ask_for(context, &run.tables()[group[0].0], &asked)?;
        }
        self.forget_found();
        Ok(())
    }

    fn ask_for(&mut self, context: &TableContext, table: &TableHandle, asked: &[usize]) -> Result<()> {
        if asked.is_empty() {
            return Ok(());
        }
        let probes: Vec<Probe<'_>> = asked.iter().map(|ordinal| self.probes[*ordinal]).collect();
        for (ordinal, found) in asked.iter().zip(table.find_many(context, &probes)?) {
            self.found[*ordinal] = found;
        }
        Ok(())
    }

    fn forget_found(&mut self) {
        let found = &self.found;
        self.pending.retain(|ordinal| found[*ordinal] == Found::Absent);
    }
}
