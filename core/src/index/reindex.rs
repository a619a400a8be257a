//! Swapping the indexes of tables that are there, their data untouched.

use std::io;
use std::sync::Arc;

use kiban_formats::Level;
use kiban_indexes::IndexPolicy;
use serde::Serialize;

use super::slot::State;
use super::work::is_settled;
use crate::error::{Error, Result};
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
    ///
    /// # Errors
    /// Also the failure of a build or a removal. The policy is stored then, and the other tables have
    /// what it wants.
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
            let settled = table.index().settled();
            if let Some(kind) = settled.failed {
                return Err(Error::new(kind, settled.reason));
            }
            for (_, state) in settled.states {
                match state {
                    State::Built => report.built += 1,
                    State::Kept => report.kept += 1,
                    State::Declined(_) => report.declined += 1,
                    State::Missing => {}
                }
            }
            report.dropped += self.drop_unwanted(table)?;
        }
        Ok(report)
    }

    /// Removes the sidecars of known formats that were not wanted for this table. Those of unknown
    /// formats are somebody else's.
    fn drop_unwanted(&self, table: &TableHandle) -> Result<u64> {
        let settled = table.index().settled();
        let is_wanted = |format: &str| settled.states.iter().any(|(name, _)| name == format);
        let is_known = |format: &str| self.indexing.registry().by_name(format).is_some();
        let names = settled.sidecars.iter().map(|(format, _)| format.as_str());
        let mut dropped = 0;
        for format in names.filter(|format| is_known(format) && !is_wanted(format)) {
            let path = table.path().with_extension(format);
            match self.storage.remove(&path) {
                Ok(()) => dropped += 1,
                Err(source) if source.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(Error::io("remove", &path, source)),
            }
            table.index().forget_sidecar(format);
        }
        Ok(dropped)
    }
}
