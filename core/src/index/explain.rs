//! Which index each table has, and why.

use kiban_indexes::Residency;
use serde::Serialize;

use super::slot::{Attached, State};
use crate::space::Space;
use crate::store::Store;
use crate::table::TableHandle;

/// Which index a live table has, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TableIndexReport {
    /// The keyspace's name.
    pub keyspace: String,
    /// The level it is in.
    pub level: u32,
    /// The table's number.
    pub table: u64,
    /// Bytes of its file.
    pub bytes: u64,
    /// Distinct keys.
    pub keys: u64,
    /// The policy's rule that matched, in words.
    pub rule: String,
    /// The format that answers lookups: `sorted` is the table's own.
    pub active: String,
    /// What stands beside the table.
    pub sidecars: Vec<SidecarReport>,
    /// Why this one, in words and numbers.
    pub reason: String,
}

/// An index beside a table, or one that is wanted and not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SidecarReport {
    /// The format's name.
    pub format: String,
    /// Bytes of its file; 0 if there is none.
    pub bytes: u64,
    /// Where it is kept.
    pub residency: Residency,
    /// `active`, `ready`, `declined`, `missing`, `unknown` (of a format that this build does not know),
    /// or `unused` (of a known one that the policy does not want).
    pub state: String,
}

impl Store {
    /// One element a live table.
    pub(crate) fn explain(&self, spaces: &[std::sync::Arc<Space>]) -> Vec<TableIndexReport> {
        self.index_all_if_read_only();
        if self.read_only {
            // As a writer would keep them. One that was closed meanwhile keeps none.
            let _ = self.admit_all();
        }
        let mut reports = Vec::new();
        for space in spaces {
            let view = space.view_owned();
            reports.extend(view.tables().map(|table| self.explain_table(space, table)));
        }
        reports.sort_by(|a, b| (&a.keyspace, a.level, a.table).cmp(&(&b.keyspace, b.level, b.table)));
        reports
    }

    fn explain_table(&self, space: &Space, table: &TableHandle) -> TableIndexReport {
        let settled = table.index().settled();
        let attached = table.index().attached();
        let active = match attached.as_deref() {
            Some(Attached::Index(index)) => Some((index.name(), index.residency())),
            _ => None,
        };
        let mut sidecars: Vec<SidecarReport> = settled
            .sidecars
            .iter()
            .map(|(format, bytes)| {
                let is_active = active.filter(|(name, _)| name == format);
                let is_wanted = settled.states.iter().any(|(name, _)| name == format);
                let state = match (is_active, is_wanted) {
                    (Some(_), _) => "active",
                    (None, true) => "ready",
                    (None, false) if self.indexing.registry().by_name(format).is_none() => "unknown",
                    (None, false) => "unused",
                };
                let residency = is_active.map_or(Residency::Off, |(_, residency)| residency);
                SidecarReport { format: format.clone(), bytes: *bytes, residency, state: state.to_owned() }
            })
            .collect();
        for (format, state) in &settled.states {
            let word = match state {
                State::Declined(_) => "declined",
                State::Missing => "missing",
                State::Kept | State::Built => continue,
            };
            let (format, state) = (format.clone(), word.to_owned());
            sidecars.push(SidecarReport { format, bytes: 0, residency: Residency::Off, state });
        }
        TableIndexReport {
            keyspace: space.name.clone(),
            level: u32::from(table.meta.level.0),
            table: table.meta.no.0,
            bytes: table.meta.bytes,
            keys: table.meta.keys,
            rule: settled.rule,
            active: active.map_or("sorted", |(name, _)| name).to_owned(),
            sidecars,
            reason: settled.reason,
        }
    }
}
