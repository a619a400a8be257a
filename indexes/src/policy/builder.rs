//! A policy put together by a program.

use super::error::Place;
use super::{Admission, IndexPolicy, PolicyError, Rule};

/// Puts a policy together, rule by rule.
#[derive(Clone, Debug, Default)]
pub struct IndexPolicyBuilder {
    rules: Vec<Rule>,
    admission: Admission,
    allow_unknown_formats: bool,
}

impl IndexPolicyBuilder {
    /// Adds a rule, after those that are there.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// What resident indexes may take.
    pub fn admission(mut self, admission: Admission) -> Self {
        self.admission = admission;
        self
    }

    /// Whether rules may name formats that are not registered: nothing is built for them.
    pub fn allow_unknown_formats(mut self, allow: bool) -> Self {
        self.allow_unknown_formats = allow;
        self
    }

    /// The policy.
    ///
    /// # Errors
    /// A range that no table is in, a number out of range, or a format twice in a rule; the error
    /// names the rule and the field.
    pub fn build(self) -> Result<IndexPolicy, PolicyError> {
        let Self { rules, admission, allow_unknown_formats } = self;
        for (at, rule) in rules.iter().enumerate() {
            rule.validate(&Place::rule(at))?;
        }
        admission.validate()?;
        Ok(IndexPolicy { rules, admission, allow_unknown_formats })
    }
}
