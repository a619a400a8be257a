//! A policy as a tree of plain values. What a rule does not say is left out.

use super::bounds::Bounds;
use super::value::Value;
use super::{Admission, Build, IndexPolicy, Rule, size};
use crate::contract::{ParamValue, Residency};

/// The policy.
pub(super) fn policy(policy: &IndexPolicy) -> Value {
    let Admission { max_fraction_of_cache, hysteresis } = policy.admission;
    let admission = Value::Table(vec![
        ("max_fraction_of_cache".into(), Value::Float(max_fraction_of_cache)),
        ("hysteresis".into(), Value::Float(hysteresis)),
    ]);
    Value::Table(vec![
        ("allow_unknown_formats".into(), Value::Bool(policy.allow_unknown_formats)),
        ("rule".into(), Value::List(policy.rules.iter().map(rule).collect())),
        ("admission".into(), admission),
    ])
}

fn rule(rule: &Rule) -> Value {
    let mut fields = Vec::new();
    match rule.levels {
        Bounds { min: Some(min), max: Some(max) } => {
            fields.push(("levels".into(), Value::Text(format!("{min}-{max}"))));
        }
        open => bounds(&mut fields, "level", open, number),
    }
    bounds(&mut fields, "table_bytes", rule.table_bytes, bytes);
    bounds(&mut fields, "keys", rule.keys, number);
    fields.push(("build".into(), Value::List(rule.builds.iter().map(build).collect())));
    fields.push(("residency".into(), Value::Text(residency_name(rule.residency).into())));
    fields.push(("require".into(), Value::Bool(rule.require)));
    Value::Table(fields)
}

fn bounds(fields: &mut Vec<(String, Value)>, quantity: &str, bounds: Bounds, write: fn(u64) -> Value) {
    for (end, value) in [("min", bounds.min), ("max", bounds.max)] {
        fields.extend(value.map(|value| (format!("{end}_{quantity}"), write(value))));
    }
}

fn number(number: u64) -> Value {
    // The numbers of a policy have been checked to be below 2^57.
    Value::Int(i64::try_from(number).unwrap_or(i64::MAX))
}

fn bytes(bytes: u64) -> Value {
    match size::exact(bytes) {
        (_, "B") => number(bytes),
        (number, unit) => Value::Text(format!("{number}{unit}")),
    }
}

fn build(build: &Build) -> Value {
    let format = Value::Text(build.format.clone());
    if build.params.is_empty() {
        return format;
    }
    let params = build.params.iter().map(|(name, value)| {
        let value = match value {
            ParamValue::Bool(value) => Value::Bool(*value),
            ParamValue::Int(value) => Value::Int(*value),
            ParamValue::Text(value) => Value::Text(value.clone()),
        };
        (name.clone(), value)
    });
    Value::Table(std::iter::once(("format".to_owned(), format)).chain(params).collect())
}

/// The name of a residency in a policy's text.
pub(super) fn residency_name(residency: Residency) -> &'static str {
    match residency {
        Residency::Auto => "auto",
        Residency::Resident => "resident",
        Residency::Mapped => "mapped",
        Residency::Off => "off",
    }
}
