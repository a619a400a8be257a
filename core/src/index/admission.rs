//! Where the indexes of all tables are kept, decided for all of them together.
//!
//! A table that comes is given what is free. When no index is being built any more the planner
//! weighs all tables of the store against each other: reads count as many times as a table has keys.
//! What must give way is let go of first, so that the sum is never above the budget; what is loaded is
//! loaded here, in the background, and attached by one atomic store. Fences, filters and handles are
//! reserved when a table is opened: what they have taken is no longer there for indexes.

use std::sync::Arc;

use kiban_indexes::planner::{Decision, PlanOption, TableFacts, plan};
use kiban_indexes::{AccessorFormat, Residency};

use super::sidecar::{self, Sidecar};
use super::slot::Attached;
use super::work::shape_of;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Event;
use crate::store::Store;
use crate::table::TableHandle;

/// What a read costs, in nanoseconds of a machine of 2024: only their ratios count. Where data is in
/// memory an index saves the search; a copy on the heap also saves the first checks of a map.
const SORTED_NS: f64 = 1_400.0;
const MAPPED_NS: f64 = 600.0;
const RESIDENT_NS: f64 = 500.0;
/// A format that the rule names later is taken where the one before does not fit.
const LATER_NS: f64 = 10.0;

/// A table with sidecars to choose from.
struct Candidate {
    table: Arc<TableHandle>,
    facts: TableFacts,
    /// The format behind each option; of the first one, which is the table's own index, none.
    formats: Vec<Option<Arc<dyn AccessorFormat>>>,
}

impl Candidate {
    /// The bytes of the budget that its index takes, and its option.
    fn now(&self) -> (u64, Option<usize>) {
        match self.table.index().attached().as_deref() {
            Some(Attached::Index(index)) => {
                let is_it = |option: &PlanOption| {
                    option.format.as_deref() == Some(index.name()) && option.residency == index.residency()
                };
                (index.resident_bytes(), self.facts.options.iter().position(is_it))
            }
            _ => (0, Some(0)),
        }
    }
}

impl Store {
    /// Decides where each index is kept, and sees to it.
    ///
    /// # Errors
    /// That the store was closed. What cannot be loaded is an event; the table's own index answers.
    pub(crate) fn admit_all(&self) -> Result<()> {
        let (candidates, fraction) = self.candidates();
        let taken: u64 = candidates.iter().map(|candidate| candidate.now().0).sum();
        let allowed = (self.tables.budget.limit() as f64 * fraction) as u64;
        let bytes = allowed.min(taken + self.tables.budget.reservable_bytes());
        let facts: Vec<TableFacts> = candidates.iter().map(|candidate| candidate.facts.clone()).collect();
        let decisions = plan(&facts, kiban_indexes::planner::Budget { bytes });
        let changes = candidates.iter().zip(&decisions);
        let (less, more): (Vec<_>, Vec<_>) =
            changes.partition(|(candidate, decision)| decision.bytes < candidate.now().0);
        for (candidate, decision) in less.into_iter().chain(more) {
            self.check_open()?;
            if let Err(error) = self.admit_as(candidate, decision) {
                if error.kind() == ErrorKind::Closed {
                    return Err(error);
                }
                self.listener.tell(|| Event::BackgroundError { message: error.to_string() });
            }
        }
        Ok(())
    }

    /// The tables that have a choice, and the part of the budget that their policies allow.
    fn candidates(&self) -> (Vec<Candidate>, f64) {
        let (mut candidates, mut fraction) = (Vec::new(), 1.0_f64);
        for space in self.spaces() {
            let policy = space.policy();
            for table in space.view_owned().tables() {
                if table.index().is_settled(policy.decision(table.meta.level))
                    && let Some(candidate) = self.candidate(table, &policy.rules)
                {
                    fraction = fraction.min(policy.rules.admission().max_fraction_of_cache);
                    candidates.push(candidate);
                }
            }
        }
        (candidates, fraction)
    }

    fn candidate(&self, table: &Arc<TableHandle>, rules: &kiban_indexes::IndexPolicy) -> Option<Candidate> {
        let wanted = rules.wanted(&shape_of(&table.meta));
        let settled = table.index().settled();
        let own = PlanOption { format: None, residency: Residency::Mapped, bytes: 0, cost: SORTED_NS };
        let (mut options, mut formats) = (vec![own], vec![None]);
        let may_map = wanted.residency == Residency::Mapped || self.tables.maps(table.meta.level);
        for (place, (name, _)) in wanted.formats.iter().enumerate() {
            let Some((_, bytes)) = settled.sidecars.iter().find(|(sidecar, _)| sidecar == name) else {
                continue;
            };
            let Some(format) = self.indexing.registry().by_name(name) else { continue };
            let later = LATER_NS * place as f64;
            let mapped = (Residency::Mapped, 0, MAPPED_NS + later);
            let resident = (Residency::Resident, *bytes, RESIDENT_NS + later);
            let allowed = match wanted.residency {
                Residency::Auto | Residency::Resident => [may_map.then_some(mapped), Some(resident)],
                Residency::Mapped => [Some(mapped), None],
                Residency::Off => [None, None],
            };
            for (residency, bytes, cost) in allowed.into_iter().flatten() {
                options.push(PlanOption { format: Some(name.clone()), residency, bytes, cost });
                formats.push(Some(format.clone()));
            }
        }
        let facts = TableFacts { table: table.meta.no, weight: table.meta.keys as f64, options };
        let mut candidate = Candidate { table: table.clone(), facts, formats };
        // What is there stays unless another gains more by so much: nothing swings between equals.
        if let Some(now) = candidate.now().1 {
            candidate.facts.options[now].cost -= (MAPPED_NS - RESIDENT_NS) * rules.admission().hysteresis;
        }
        (candidate.formats.len() > 1).then_some(candidate)
    }

    /// Brings a table where it was decided that it stands.
    fn admit_as(&self, candidate: &Candidate, decision: &Decision) -> Result<()> {
        let (table, option) = (&candidate.table, decision.option.unwrap_or(0));
        let is_there = candidate.now().1 == Some(option);
        let mut reason = decision.reason.clone();
        if !is_there {
            let chosen = candidate.formats.get(option).cloned().flatten();
            let residency = candidate.facts.options[option].residency;
            let attached = match &chosen {
                Some(format) => self.load(table, format, residency)?,
                None => Err(decision.reason.clone()),
            };
            let first = candidate.formats.iter().flatten().next();
            let missing = first.and_then(|format| self.indexing.missing(format.name()));
            match attached {
                Ok(index) => table.attach(Some(index)),
                Err(why) => {
                    reason = why;
                    table.attach(missing);
                }
            }
        }
        table.index().give_reason(reason);
        Ok(())
    }

    fn load(
        &self,
        table: &TableHandle,
        format: &Arc<dyn AccessorFormat>,
        residency: Residency,
    ) -> Result<std::result::Result<Attached, String>> {
        let path = table.path().with_extension(format.name());
        let owner = sidecar::header(&**format, self.id, &table.meta);
        let Ok(sidecar) = Sidecar::open(&*self.storage, &path, &**format, &owner)? else {
            return Err(Error::corruption(&path, "an index that was there has gone, or is another"));
        };
        let opened = self.open_index(table, format, &sidecar, residency)?;
        Ok(opened.map(|(index, _)| Attached::Index(index)))
    }
}
