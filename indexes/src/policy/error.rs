//! What is wrong with a policy, and where.

use std::fmt;

/// A policy that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    place: Place,
    what: String,
}

impl PolicyError {
    /// The rule it is about, counted from 1; `None`: not about one rule.
    pub fn rule(&self) -> Option<usize> {
        self.place.rule
    }

    /// The field it is about, as `build[0]` or `admission.hysteresis`; empty: the whole text or rule.
    pub fn field(&self) -> &str {
        &self.place.field
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place: Place { rule, field }, what } = self;
        match (rule, field.as_str()) {
            (Some(rule), "") => write!(f, "rule {rule}: {what}"),
            (Some(rule), field) => write!(f, "rule {rule}, {field}: {what}"),
            (None, "") => f.write_str(what),
            (None, field) => write!(f, "{field}: {what}"),
        }
    }
}

impl std::error::Error for PolicyError {}

/// Where in a policy something stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    rule: Option<usize>,
    field: String,
}

impl Place {
    /// The whole text.
    pub(super) fn top() -> Self {
        Self::default()
    }

    /// A rule, by its index.
    pub(super) fn rule(index: usize) -> Self {
        Self { rule: Some(index + 1), field: String::new() }
    }

    /// A field of the place.
    pub(super) fn field(&self, name: &str) -> Self {
        let field = if self.field.is_empty() { name.to_owned() } else { format!("{}.{name}", self.field) };
        Self { rule: self.rule, field }
    }

    /// An element of the list that is here.
    pub(super) fn element(&self, index: usize) -> Self {
        Self { rule: self.rule, field: format!("{}[{index}]", self.field) }
    }

    /// This is wrong here.
    pub(super) fn error(&self, what: impl Into<String>) -> PolicyError {
        PolicyError { place: self.clone(), what: what.into() }
    }
}
