//! One rule: the tables that it is for, and what is built for them.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeBounds;

use super::bounds::Bounds;
use super::error::Place;
use super::{PolicyError, size};
use crate::contract::{ParamValue, Params, Residency, TableShape};

/// The deepest level that a rule can name.
pub(super) const LEVEL_MAX: u64 = 255;
/// The most bytes that a rule can name: 1 PiB.
pub(super) const BYTES_MAX: u64 = 1 << 50;
/// The most keys that a rule can name: 2^56, as many as there are sequences.
pub(super) const KEYS_MAX: u64 = 1 << 56;

/// A format to build, with its parameters. A name alone has none:
///
/// ```
/// use kiban_indexes::{Build, Rule};
/// let rule = Rule::any().build("ph4").build(Build::new("btree").param("interpolation", "auto"));
/// assert_eq!(rule.builds()[1].format(), "btree");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Build {
    pub(super) format: String,
    pub(super) params: Params,
}

impl Build {
    /// A format by its name.
    pub fn new(format: impl Into<String>) -> Self {
        Self { format: format.into(), params: Params::new() }
    }

    /// Sets a parameter. Its name and value are checked against the format when a store uses the policy.
    pub fn param(mut self, name: impl Into<String>, value: impl Into<ParamValue>) -> Self {
        self.params.insert(name.into(), value.into());
        self
    }

    /// The format's name.
    pub fn format(&self) -> &str {
        &self.format
    }

    /// Its parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }
}

impl<T: Into<String>> From<T> for Build {
    fn from(format: T) -> Self {
        Self::new(format)
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.format)?;
        for (at, (name, value)) in self.params.iter().enumerate() {
            write!(f, "{}{name} = {value}", if at == 0 { " { " } else { ", " })?;
        }
        f.write_str(if self.params.is_empty() { "" } else { " }" })
    }
}

/// The tables that it is for, and what is built for them. A policy's first rule that matches wins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule {
    pub(super) levels: Bounds,
    pub(super) table_bytes: Bounds,
    pub(super) keys: Bounds,
    pub(super) builds: Vec<Build>,
    pub(super) residency: Residency,
    pub(super) require: bool,
}

impl Rule {
    /// For every table, until a condition is added; builds nothing, until a format is added.
    pub fn any() -> Self {
        Self::default()
    }

    /// For tables of these levels.
    pub fn levels(levels: impl RangeBounds<u32>) -> Self {
        Self { levels: Bounds::of_levels(&levels), ..Self::default() }
    }

    /// Only for tables of at least so many bytes.
    pub fn min_table_bytes(mut self, bytes: u64) -> Self {
        self.table_bytes.min = Some(bytes);
        self
    }

    /// Only for tables of at most so many bytes.
    pub fn max_table_bytes(mut self, bytes: u64) -> Self {
        self.table_bytes.max = Some(bytes);
        self
    }

    /// Only for tables of at least so many distinct keys.
    pub fn min_keys(mut self, keys: u64) -> Self {
        self.keys.min = Some(keys);
        self
    }

    /// Only for tables of at most so many distinct keys.
    pub fn max_keys(mut self, keys: u64) -> Self {
        self.keys.max = Some(keys);
        self
    }

    /// Builds this format, too.
    pub fn build(mut self, format: impl Into<Build>) -> Self {
        self.builds.push(format.into());
        self
    }

    /// Where the bytes of its indexes are; [`Residency::Auto`] if nothing is said.
    pub fn residency(mut self, residency: Residency) -> Self {
        self.residency = residency;
        self
    }

    /// Whether a table is published only with its indexes, and its store opened only with them: those that
    /// a format does not decline. Flushes and compactions then wait for their builds.
    pub fn require(mut self, require: bool) -> Self {
        self.require = require;
        self
    }

    /// What it builds, in order.
    pub fn builds(&self) -> &[Build] {
        &self.builds
    }

    /// Whether it is for a table of this shape.
    pub fn matches(&self, shape: &TableShape) -> bool {
        self.levels.contains(u64::from(shape.level.0))
            && self.table_bytes.contains(shape.table_bytes)
            && self.keys.contains(shape.keys)
    }

    /// Refuses ranges that no table is in, and builds that cannot stand beside each other.
    ///
    /// # Errors
    /// The first such field of the rule.
    pub(super) fn validate(&self, place: &Place) -> Result<(), PolicyError> {
        self.levels.validate(place, "level", LEVEL_MAX)?;
        self.table_bytes.validate(place, "table_bytes", BYTES_MAX)?;
        self.keys.validate(place, "keys", KEYS_MAX)?;
        let mut formats = BTreeSet::new();
        for (at, build) in self.builds.iter().enumerate() {
            let place = place.field("build").element(at);
            if !formats.insert(build.format()) {
                return Err(place.error(format!("format `{}` is there twice; allowed is once", build.format)));
            }
            if build.params.contains_key("format") {
                return Err(place.error("`format` is the format's name and cannot be a parameter"));
            }
        }
        Ok(())
    }
}

impl fmt::Display for Rule {
    /// In a line: `levels 0-1, tables up to 64 MiB: build ph4, residency auto`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |number: u64| number.to_string();
        let bytes = |bytes: u64| {
            let (number, unit) = size::exact(bytes);
            format!("{number} {unit}")
        };
        let conditions = [
            condition("levels", self.levels, plain),
            condition("tables", self.table_bytes, bytes),
            condition("keys", self.keys, plain),
        ];
        let conditions: Vec<_> = conditions.into_iter().flatten().collect();
        f.write_str(if conditions.is_empty() { "any table" } else { "" })?;
        write!(f, "{}: ", conditions.join(", "))?;
        if self.builds.is_empty() {
            return f.write_str("build nothing");
        }
        let builds: Vec<_> = self.builds.iter().map(Build::to_string).collect();
        let residency = super::write::residency_name(self.residency);
        let required = if self.require { ", required" } else { "" };
        write!(f, "build {}, residency {residency}{required}", builds.join(" + "))
    }
}

/// A condition in words, if there is one.
fn condition(of: &str, bounds: Bounds, number: impl Fn(u64) -> String) -> Option<String> {
    match (bounds.min, bounds.max) {
        (None, None) => None,
        (Some(min), None) => Some(format!("{of} from {}", number(min))),
        (None, Some(max)) => Some(format!("{of} up to {}", number(max))),
        (Some(min), Some(max)) => Some(format!("{of} {}-{}", number(min), number(max))),
    }
}
