//! `kiban reindex`.

use std::path::PathBuf;

use clap::Args;
use kiban::policy::Build;
use kiban::{IndexPolicy, Keyspace, ReindexReport, Rule};
use serde::Serialize;

use crate::args::{Global, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::output::{Table, TableFormat, print_report};
use crate::policy;

/// Swap the indexes of tables that are there, their data untouched
///
/// With --build every table gets these indexes, the first one preferred, and keeps those that it has; --drop removes
/// some. With --policy the tables get what its rules say, and no other. What was asked for is stored as the policy
/// of the keyspace and holds for later tables too. Without --keyspace it is done for all keyspaces.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kiban reindex store --build ph4
  kiban reindex store --drop ph4
  kiban reindex store --policy policy.toml --keyspace places")]
pub(crate) struct ReindexArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Indexes that every table gets
    #[arg(long, value_name = "NAME", value_delimiter = ',', required_unless_present_any = ["drop", "policy"])]
    build: Vec<String>,
    /// Indexes that no table keeps
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    drop: Vec<String>,
    /// The policy in this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["build", "drop"])]
    policy: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: TableFormat,
}

/// What was done in a keyspace.
#[derive(Debug, Serialize)]
struct Done {
    keyspace: String,
    #[serde(flatten)]
    report: ReindexReport,
}

impl ReindexArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        let asked = self.policy.as_ref().map(|file| policy::read(file, global)).transpose()?;
        self.check_names(global)?;
        // By no policy but a stored one: nothing is built that is not asked for.
        let builder = self.store.builder(global).index_policy(IndexPolicy::sorted_only());
        let (db, _) = self.store.open_what_is_there(builder)?;
        let mut done = Vec::new();
        for keyspace in self.store.keyspaces(&db)? {
            let policy = match &asked {
                Some(policy) => policy.clone(),
                None => self.policy_of(&keyspace)?,
            };
            let report = keyspace.reindex(policy)?;
            done.push(Done { keyspace: keyspace.name().to_owned(), report });
        }
        db.wait_idle()?;
        db.close()?;
        print_report(self.format, &done, &table(&done))?;
        Ok(Exit::Done)
    }

    fn check_names(&self, global: Global<'_>) -> Result<(), Failure> {
        for (option, names) in [("--build", &self.build), ("--drop", &self.drop)] {
            names.iter().try_for_each(|name| policy::check_format(option, name, global))?;
        }
        match self.build.iter().find(|name| self.drop.contains(name)) {
            Some(name) => Err(Failure::usage(format!("--drop: `{name}` is also to be built"))),
            None => Ok(()),
        }
    }

    /// For every table: what is asked for, then what the stored policy names and what some tables have.
    fn policy_of(&self, keyspace: &Keyspace) -> Result<IndexPolicy, Failure> {
        let stored = keyspace.options().index_policy;
        let builds: Vec<&Build> = stored.iter().flat_map(IndexPolicy::rules).flat_map(Rule::builds).collect();
        let mut names = self.build.clone();
        names.extend(builds.iter().map(|build| build.format().to_owned()));
        let tables = keyspace.explain()?;
        let sidecars = tables.into_iter().flat_map(|table| table.sidecars);
        names.extend(sidecars.filter(|one| one.state != "unknown").map(|one| one.format));
        let mut rule = Rule::any();
        for (at, name) in names.iter().enumerate() {
            if !names[..at].contains(name) && !self.drop.contains(name) {
                let known = builds.iter().find(|build| build.format() == name);
                rule = rule.build(known.map_or_else(|| Build::new(name), |build| (*build).clone()));
            }
        }
        let policy = match rule.builds() {
            [] => IndexPolicy::builder(),
            _ => IndexPolicy::builder().rule(rule),
        };
        policy.build().map_err(|error| Failure::usage(error.to_string()))
    }
}

fn table(done: &[Done]) -> Table {
    let row = |Done { keyspace, report }: &Done| {
        let ReindexReport { built, kept, dropped, declined, .. } = report;
        let counts = [built, kept, dropped, declined].map(u64::to_string);
        [keyspace.clone()].into_iter().chain(counts).collect()
    };
    Table {
        columns: &["keyspace", "built", "kept", "dropped", "declined"],
        rows: done.iter().map(row).collect(),
    }
}
