//! What a policy wants for one table.

use crate::contract::{Params, Residency};

/// What a policy wants for a table.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Wanted {
    /// The rule that matched, counted from 1; `None`: no rule did.
    pub rule: Option<usize>,
    /// That rule in a line of words, for `explain`.
    pub rule_text: String,
    /// The formats to build, by name, with their parameters, in the order of the rule. The table's
    /// own sorted index is always there and is not named.
    pub formats: Vec<(String, Params)>,
    /// Where their bytes are.
    pub residency: Residency,
    /// Whether the table is published, and opened, only with them.
    pub require: bool,
}
