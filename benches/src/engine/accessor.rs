//! An accessor of Kiban that is measured.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use kiban::accessor::{AccessorFormat, Registry};
use kiban::{Db, DbBuilder, IndexPolicy, Residency, Rule};

/// The index that every table has: no other one is built.
pub(crate) const SORTED: &str = "sorted";

/// An accessor under its name in reports.
#[derive(Clone, Debug)]
pub(crate) struct Accessor {
    /// `sorted`, or the name of a format.
    format: String,
    /// The same, numbered where it is measured more than once.
    label: String,
    /// Formats that are not Kiban's own.
    plugins: Arc<[Arc<dyn AccessorFormat>]>,
}

impl Accessor {
    /// One for each name; a name may stand there twice, to see what the comparison makes of two
    /// equal things. `Err`: a name that is neither `sorted` nor a format's, and those that are.
    pub(crate) fn all(
        names: &[String],
        plugins: &[Arc<dyn AccessorFormat>],
    ) -> Result<Vec<Self>, (String, Vec<String>)> {
        let known = known(plugins);
        let plugins: Arc<[_]> = plugins.into();
        let mut times: BTreeMap<String, u32> = BTreeMap::new();
        let accessor = |name: &String| {
            if !known.contains(name) {
                return Err((name.clone(), known.clone()));
            }
            let time = times.entry(name.clone()).or_default();
            *time += 1;
            let label = if *time == 1 { name.clone() } else { format!("{name}#{time}") };
            Ok(Self { format: name.clone(), label, plugins: plugins.clone() })
        };
        names.iter().map(accessor).collect()
    }

    /// Its name in reports.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// The name of its format; `None` of the index that every table has.
    pub(super) fn format(&self) -> Option<&str> {
        Some(self.format.as_str()).filter(|name| *name != SORTED)
    }

    /// A store with this accessor and no other, kept there.
    pub(super) fn builder(&self, dir: &Path, residency: Residency) -> kiban::Result<DbBuilder> {
        let rules = self.format().map(|format| Rule::any().build(format).residency(residency));
        let policy = rules.into_iter().fold(IndexPolicy::builder(), |policy, rule| policy.rule(rule));
        let builder = Db::builder(dir).index_policy(policy.build()?);
        Ok(self.plugins.iter().cloned().fold(builder, DbBuilder::register))
    }

    /// What is wrong if some table is read by another index.
    pub(super) fn unready(&self, db: &Db) -> Option<String> {
        let keyspaces = match db.default_keyspace().explain() {
            Ok(tables) => tables,
            Err(error) => return Some(error.to_string()),
        };
        let other = keyspaces.iter().find(|table| table.active != self.format)?;
        let (table, active, reason) = (other.table, &other.active, &other.reason);
        Some(format!("table {table} is read by `{active}`: {reason}"))
    }
}

/// The names that can be measured, `sorted` first.
pub(crate) fn known(plugins: &[Arc<dyn AccessorFormat>]) -> Vec<String> {
    let own = Registry::built_in();
    let formats = own.formats().chain(plugins).map(|format| format.name().to_owned());
    std::iter::once(SORTED.to_owned()).chain(formats).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(names: &[&str]) -> Result<Vec<String>, (String, Vec<String>)> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Ok(Accessor::all(&names, &[])?.into_iter().map(|accessor| accessor.label).collect())
    }

    #[test]
    fn a_name_that_stands_there_twice_is_numbered_and_an_unknown_one_is_told() {
        assert_eq!(labels(&["ph4", "sorted", "ph4"]).unwrap(), ["ph4", "sorted", "ph4#2"]);
        let (name, known) = labels(&["sorted", "x"]).unwrap_err();
        assert_eq!(name, "x");
        assert_eq!(known[..2], ["sorted", "ph4"]);
    }
}
