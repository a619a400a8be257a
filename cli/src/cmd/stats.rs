//! `kiban stats`.

use clap::Args;
use kiban::Stats;
use serde_json::Value;

use crate::args::{Global, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::output::{Table, TableFormat, print_report};

/// Print sizes and shapes of a store
///
/// Sizes are in bytes. Without --keyspace all keyspaces are shown. What is counted since the store was opened
/// (pages read, snapshots) is that of this very command.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  kiban stats store --format json")]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: TableFormat,
}

impl StatsArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        let stats = self.read(global)?;
        let json = serde_json::to_value(&stats);
        let json = json.map_err(|error| Failure::trouble(format!("stats: {error}")))?;
        print_report(self.format, &stats, &table(&json))?;
        Ok(Exit::Done)
    }

    fn read(&self, global: Global<'_>) -> Result<Stats, Failure> {
        // Refuses a keyspace that is not there.
        let (db, _keyspace) = self.store.open_for_reading(global)?;
        let mut stats = db.stats();
        if let Some(name) = &self.store.keyspace {
            stats.keyspaces.retain(|keyspace| keyspace.name == *name);
        }
        Ok(stats)
    }
}

/// A row for each number, named by its place in the JSON: whatever the engine counts is shown.
fn table(json: &Value) -> Table {
    let mut rows = Vec::new();
    push_rows("", json, &mut rows);
    Table { columns: &["what", "value"], rows }
}

fn push_rows(place: &str, value: &Value, rows: &mut Vec<Vec<String>>) {
    let below = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| push_rows(&below(name), value, rows)),
        Value::Array(elements) => elements.iter().enumerate().for_each(|(at, element)| {
            // A name says more than the ordinal, and stays when others come and go.
            let mut element = element.clone();
            let name = element.as_object_mut().and_then(|fields| fields.remove("name"));
            let name = name.as_ref().and_then(Value::as_str).map_or(at.to_string(), str::to_owned);
            push_rows(&below(&name), &element, rows);
        }),
        Value::String(text) => rows.push(vec![place.to_owned(), text.clone()]),
        other => rows.push(vec![place.to_owned(), other.to_string()]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_number_has_a_row_named_by_its_place() {
        let json = json!({
            "keyspaces": [{ "name": "default", "levels": [{ "bytes": 5 }] }],
            "log_bytes": 7,
        });
        let rows = table(&json).rows;
        let row = |what: &str, value: &str| vec![what.to_owned(), value.to_owned()];
        assert_eq!(rows, [row("keyspaces.default.levels.0.bytes", "5"), row("log_bytes", "7"),]);
    }
}
