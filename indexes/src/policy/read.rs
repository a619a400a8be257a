//! A policy from a tree of plain values. Every error names its place and what is allowed there.

use super::bounds::Bounds;
use super::error::Place;
use super::rule::{BYTES_MAX, KEYS_MAX, LEVEL_MAX};
use super::value::Value;
use super::write::residency_name;
use super::{Admission, Build, IndexPolicy, PolicyError, Rule, size};
use crate::contract::{ParamValue, Residency};

type Result<T> = std::result::Result<T, PolicyError>;

/// The policy, checked.
///
/// # Errors
/// The first field that is unknown or has a value it does not take.
pub(super) fn policy(tree: &Value) -> Result<IndexPolicy> {
    let top = Place::top();
    let mut policy = IndexPolicy::builder();
    for (name, value) in table(tree, &top)? {
        let place = top.field(name);
        policy = match name.as_str() {
            "allow_unknown_formats" => policy.allow_unknown_formats(bool(value, &place)?),
            "admission" => policy.admission(admission(value, &place)?),
            "rule" => list(value, &place)?
                .iter()
                .enumerate()
                .try_fold(policy, |policy, (at, value)| Ok(policy.rule(rule(value, &Place::rule(at))?)))?,
            _ => return Err(unknown(&place, "`allow_unknown_formats`, `rule` and `admission`")),
        };
    }
    policy.build()
}

fn admission(value: &Value, place: &Place) -> Result<Admission> {
    let mut admission = Admission::default();
    for (name, value) in table(value, place)? {
        let place = place.field(name);
        match name.as_str() {
            "max_fraction_of_cache" => admission.max_fraction_of_cache = fraction(value, &place)?,
            "hysteresis" => admission.hysteresis = fraction(value, &place)?,
            _ => return Err(unknown(&place, "`max_fraction_of_cache` and `hysteresis`")),
        }
    }
    Ok(admission)
}

fn rule(value: &Value, rule_place: &Place) -> Result<Rule> {
    let mut rule = Rule::any();
    let mut built = false;
    let mut levels_at_once = None;
    for (name, value) in table(value, rule_place)? {
        let place = &rule_place.field(name);
        match name.as_str() {
            "levels" => levels_at_once = Some(levels(value, place)?),
            "min_level" => rule.levels.min = Some(level(value, place)?),
            "max_level" => rule.levels.max = Some(level(value, place)?),
            "min_table_bytes" => rule.table_bytes.min = Some(bytes(value, place)?),
            "max_table_bytes" => rule.table_bytes.max = Some(bytes(value, place)?),
            "min_keys" => rule.keys.min = Some(number(value, place, "count of keys", KEYS_MAX)?),
            "max_keys" => rule.keys.max = Some(number(value, place, "count of keys", KEYS_MAX)?),
            "build" => {
                built = true;
                rule.builds = builds(value, place)?;
            }
            "residency" => rule.residency = residency(value, place)?,
            "require" => rule.require = bool(value, place)?,
            _ => return Err(unknown(place, RULE_FIELDS)),
        }
    }
    if let Some(levels) = levels_at_once {
        if rule.levels != Bounds::default() {
            let both = "it is there beside `min_level` or `max_level`; allowed is one or the other";
            return Err(rule_place.field("levels").error(both));
        }
        rule.levels = levels;
    }
    if !built {
        let missing = "it is missing; allowed is a list of formats, [] for none";
        return Err(rule_place.field("build").error(missing));
    }
    Ok(rule)
}

const RULE_FIELDS: &str = "`levels`, `min_level`, `max_level`, `min_table_bytes`, `max_table_bytes`, \
    `min_keys`, `max_keys`, `build`, `residency` and `require`";

/// `"0-1"`, `"2"` or `2`.
fn levels(value: &Value, place: &Place) -> Result<Bounds> {
    let parsed = match value {
        Value::Text(text) => {
            let (min, max) = text.split_once('-').unwrap_or((text, text));
            let number = |text: &str| text.trim().parse::<u64>().ok().filter(|&level| level <= LEVEL_MAX);
            number(min).zip(number(max))
        }
        Value::Int(_) => level(value, place).ok().map(|level| (level, level)),
        _ => None,
    };
    match parsed {
        Some((min, max)) if min <= max => Ok(Bounds { min: Some(min), max: Some(max) }),
        _ => Err(place.error(format!(
            "{value} is no range of levels; allowed are ranges like \"0-1\", the lower one first, and \
             single levels, of 0 to {LEVEL_MAX}"
        ))),
    }
}

fn level(value: &Value, place: &Place) -> Result<u64> {
    number(value, place, "level", LEVEL_MAX)
}

fn bytes(value: &Value, place: &Place) -> Result<u64> {
    let bytes = match value {
        Value::Text(text) => size::parse(text),
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    };
    bytes.filter(|&bytes| bytes <= BYTES_MAX).ok_or_else(|| {
        place.error(format!(
            "{value} is no size; allowed are bytes, and texts like \"64MiB\" with B, KiB, MiB, GiB or TiB, \
             from 0 to 1024TiB"
        ))
    })
}

fn builds(value: &Value, place: &Place) -> Result<Vec<Build>> {
    let elements = list(value, place)?.iter().enumerate();
    elements.map(|(at, element)| build(element, &place.element(at))).collect()
}

/// `"ph4"` or `{ format = "btree", interpolation = "auto" }`.
fn build(value: &Value, place: &Place) -> Result<Build> {
    let fields = match value {
        Value::Text(format) => return Ok(Build::new(format)),
        Value::Table(fields) => fields,
        other => {
            let allowed = "a format's name, or a table with `format` and the format's parameters";
            return Err(place.error(format!("{other} is no format; allowed are {allowed}")));
        }
    };
    let (mut format, mut build) = (None, Build::new(""));
    for (name, value) in fields {
        let place = place.field(name);
        match (name.as_str(), value) {
            ("format", Value::Text(name)) => format = Some(name.clone()),
            ("format", other) => {
                return Err(place.error(format!("{other} is no name; allowed is a format's name in quotes")));
            }
            (_, value) => build = build.param(name, param(value, &place)?),
        }
    }
    build.format =
        format.ok_or_else(|| place.field("format").error("it is missing; allowed is a format's name"))?;
    Ok(build)
}

fn param(value: &Value, place: &Place) -> Result<ParamValue> {
    match value {
        Value::Bool(value) => Ok(ParamValue::Bool(*value)),
        Value::Int(value) => Ok(ParamValue::Int(*value)),
        Value::Text(value) => Ok(ParamValue::Text(value.clone())),
        other => {
            Err(place
                .error(format!("{other} is no parameter; allowed are true, false, whole numbers and texts")))
        }
    }
}

fn residency(value: &Value, place: &Place) -> Result<Residency> {
    let all = [Residency::Auto, Residency::Resident, Residency::Mapped, Residency::Off];
    let found = all.into_iter().find(|&residency| match value {
        Value::Text(text) => text == residency_name(residency),
        _ => false,
    });
    found.ok_or_else(|| {
        place.error(format!(
            "{value} is no residency; allowed are \"auto\", \"resident\", \"mapped\", \"off\""
        ))
    })
}

fn unknown(place: &Place, allowed: &str) -> PolicyError {
    place.error(format!("there is no such field; allowed are {allowed}"))
}

fn table<'v>(value: &'v Value, place: &Place) -> Result<&'v [(String, Value)]> {
    match value {
        Value::Table(fields) => Ok(fields),
        other => Err(place.error(format!("{other} is no table of fields; allowed is one"))),
    }
}

fn list<'v>(value: &'v Value, place: &Place) -> Result<&'v [Value]> {
    match value {
        Value::List(elements) => Ok(elements),
        other => Err(place.error(format!("{other} is no list; allowed is one"))),
    }
}

fn bool(value: &Value, place: &Place) -> Result<bool> {
    match value {
        Value::Bool(value) => Ok(*value),
        other => Err(place.error(format!("{other} is neither; allowed are true and false"))),
    }
}

fn number(value: &Value, place: &Place, what: &str, most: u64) -> Result<u64> {
    let number = match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    };
    number.filter(|&number| number <= most).ok_or_else(|| {
        place.error(format!("{value} is no {what}; allowed are whole numbers from 0 to {most}"))
    })
}

/// A number; that it is between 0 and 1 is checked with the rest of the policy.
fn fraction(value: &Value, place: &Place) -> Result<f64> {
    match value {
        Value::Float(fraction) => Ok(*fraction),
        Value::Int(whole) => Ok(*whole as f64),
        other => Err(place.error(format!("{other} is no fraction; allowed are 0 to 1"))),
    }
}
