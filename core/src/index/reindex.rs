//! Swapping the indexes of tables that are there, their data untouched.

use std::io;
use std::sync::Arc;

use kiban_formats::Level;
use kiban_indexes::IndexPolicy;
use serde::Serialize;

use super::slot::State;
use super::work::is_settled;
use crate::error::Result;
use crate::space::Space;
use crate::store::Store;
use crate::table::TableHandle;
use crate::upkeep::Scope;

/// What a reindex did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReindexReport {
    /// Indexes that were built.
    pub built: u64,
    /// Indexes that were there already.
    pub kept: u64,
    /// Indexes that the policy does not want, removed.
    pub dropped: u64,
    /// Indexes that a format would not build.
    pub declined: u64,
}

impl Store {
    /// Gives a keyspace another policy, and returns when its live tables have what that wants.
    pub(crate) fn reindex(&self, space: &Arc<Space>, rules: IndexPolicy) -> Result<ReindexReport> {
        self.check_writable()?;
        self.check_space(space)?;
        self.indexing.check(&rules)?;
        let before = space.policy().decision(Level(0));
        self.change_options(space, |options| options.index_policy(rules.clone()))?;
        // Also by the policy it had: what stands beside its tables is looked at again.
        if space.policy().decision(Level(0)) == before {
            space.decide_anew(self.indexing.policy(rules));
        }
        self.upkeep.wake_for(space);
        self.upkeep.wait_until(self, Scope::Of(&[space.id]), || is_settled(space))?;
        let mut report = ReindexReport::default();
        for table in space.view_owned().tables() {
            for (_, state) in table.index().settled().states {
                match state {
                    State::Built => report.built += 1,
                    State::Kept => report.kept += 1,
                    State::Declined(_) => report.declined += 1,
                    State::Missing => {}
                }
            }
            report.dropped += self.drop_unwanted(table);
        }
        Ok(report)
    }

    /// Removes the sidecars of known formats that were not wanted for this table. Those of unknown
    /// formats are somebody else's.
    fn drop_unwanted(&self, table: &TableHandle) -> u64 {
        let settled = table.index().settled();
        let is_wanted = |format: &str| settled.states.iter().any(|(name, _)| name == format);
        let is_known = |format: &str| self.indexing.registry().by_name(format).is_some();
        let names = settled.sidecars.iter().map(|(format, _)| format.as_str());
        let mut dropped = 0;
        for format in names.filter(|format| is_known(format) && !is_wanted(format)) {
            let removed = self.storage.remove(&table.path().with_extension(format));
            let is_gone = removed.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
            if removed.is_ok() || is_gone {
                table.index().forget_sidecar(format);
                dropped += u64::from(!is_gone);
            }
        }
        dropped
    }
}
