//! The JSON Schema of a report, kept by hand; the tests hold it to what is written.

/// JSON Schema (draft 2020-12) of `ab.json`.
pub const SCHEMA: &str = include_str!("../../schema/ab.schema.json");

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::SCHEMA;
    use crate::report::{Report, SCHEMA_VERSION, Status, Verdict, sample};

    /// Every way in which a value departs from a schema, as far as our schema's words go.
    fn departures(value: &Value, schema: &Value, root: &Value, at: &str) -> Vec<String> {
        if let Some(name) = schema["$ref"].as_str() {
            let target = root.pointer(name.trim_start_matches('#')).unwrap_or_else(|| panic!("no {name}"));
            return departures(value, target, root, at);
        }
        if let Some(any) = schema["anyOf"].as_array() {
            let fits = any.iter().any(|one| departures(value, one, root, at).is_empty());
            return if fits { Vec::new() } else { vec![format!("{at}: fits none")] };
        }
        let mut found = Vec::new();
        if !schema["const"].is_null() && schema["const"] != *value {
            found.push(format!("{at}: is {value}"));
        }
        if schema["enum"].as_array().is_some_and(|words| !words.contains(value)) {
            found.push(format!("{at}: {value} is no word of it"));
        }
        if !schema["type"].is_null() && !types(&schema["type"]).iter().any(|kind| is_of(value, kind)) {
            found.push(format!("{at}: {value} is not of type {}", schema["type"]));
        }
        for (no, item) in value.as_array().into_iter().flatten().enumerate() {
            let item_schema = schema["prefixItems"].get(no).unwrap_or(&schema["items"]);
            found.extend(departures(item, item_schema, root, &format!("{at}/{no}")));
        }
        found.extend(field_departures(value, schema, root, at));
        found
    }

    fn field_departures(value: &Value, schema: &Value, root: &Value, at: &str) -> Vec<String> {
        let mut found = Vec::new();
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        found
            .extend(required.filter(|name| value.get(name).is_none()).map(|name| format!("{at}: no {name}")));
        for (name, field) in value.as_object().into_iter().flatten() {
            let below = format!("{at}/{name}");
            match schema["properties"].get(name).or(schema.get("additionalProperties")) {
                Some(of_field) => found.extend(departures(field, of_field, root, &below)),
                // An object without listed fields may have any.
                None if schema["properties"].is_null() => {}
                None => found.push(format!("{below}: the schema has no such field")),
            }
        }
        found
    }

    fn types(kinds: &Value) -> Vec<&str> {
        kinds.as_array().map_or_else(
            || kinds.as_str().into_iter().collect(),
            |all| all.iter().filter_map(Value::as_str).collect(),
        )
    }

    fn is_of(value: &Value, kind: &str) -> bool {
        match kind {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "string" => value.is_string(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            "integer" => value.is_u64(),
            "number" => value.is_number(),
            other => panic!("type {other}"),
        }
    }

    fn all_departures(report: &Report) -> Vec<String> {
        let schema: Value = serde_json::from_str(SCHEMA).unwrap();
        departures(&serde_json::to_value(report).unwrap(), &schema, &schema, "")
    }

    #[test]
    fn a_report_with_every_field_fits_the_schema() {
        assert_eq!(all_departures(&sample::report()), Vec::<String>::new());
        assert_eq!(all_departures(&sample::upkeep()), Vec::<String>::new());
    }

    #[test]
    fn each_word_of_a_status_and_a_verdict_fits() {
        let mut report = sample::report();
        for status in [Status::Ok, Status::Partial, Status::Failed] {
            for verdict in [Verdict::Faster, Verdict::Slower, Verdict::Same, Verdict::None] {
                (report.cells[0].status, report.cells[0].verdict) = (status, verdict);
                assert_eq!(all_departures(&report), Vec::<String>::new());
            }
        }
    }

    #[test]
    fn another_version_departs() {
        let report = Report { schema_version: SCHEMA_VERSION + 1, ..sample::report() };
        assert_eq!(all_departures(&report), ["/schema_version: is 2"]);
    }
}
