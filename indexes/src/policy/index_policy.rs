//! The rules of a keyspace, in order.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::Place;
use super::value::Value;
use super::{Admission, Build, IndexPolicyBuilder, PolicyError, Rule, Wanted};
use crate::contract::{Residency, TableShape};
use crate::registry::Registry;

/// The largest table for which [`IndexPolicy::auto`] builds a perfect hash: 80 MiB.
///
/// A table of the default size, 64 MiB, ends with the page that passes it, and has fences and a
/// filter besides; it counts as small whatever its keys are. Larger tables exist only where somebody
/// asked for them; they are deep and cold, and there fences cost a tenth of a hash's bytes and
/// read as few pages.
const AUTO_TABLE_BYTES_MAX: u64 = 80 << 20;

/// Which indexes each table of a keyspace gets.
///
/// ```
/// use kiban_indexes::{IndexPolicy, Residency, Rule};
///
/// let policy = IndexPolicy::from_toml(
///     r#"
///     [[rule]]                      # the first rule that matches wins
///     levels = "0-1"                # or min_level, max_level
///     max_table_bytes = "64MiB"     # also min_table_bytes, min_keys, max_keys
///     build = ["ph4", { format = "btree", interpolation = "auto" }]
///     residency = "auto"            # auto, resident, mapped, off
///     require = false               # true: a table is published and opened only with its indexes
///
///     [[rule]]
///     build = ["btree"]
///
///     [admission]
///     max_fraction_of_cache = 0.5   # what resident indexes may take of the memory budget
///     hysteresis = 0.2
///     "#,
/// )?;
/// assert_eq!(policy.rules().len(), 2);
/// assert_eq!(IndexPolicy::from_toml(&policy.to_toml())?, policy);
///
/// let wrong = IndexPolicy::from_toml("[[rule]]\nbuild = []\n[[rule]]\nbuild = []\nmax_keys = -1");
/// assert_eq!(
///     wrong.unwrap_err().to_string(),
///     "rule 2, max_keys: -1 is no count of keys; allowed are whole numbers from 0 to 72057594037927936",
/// );
///
/// let small = Rule::levels(0..=1).max_table_bytes(64 << 20).build("ph4").residency(Residency::Auto);
/// IndexPolicy::builder().rule(small).build()?;
/// # Ok::<(), kiban_indexes::PolicyError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct IndexPolicy {
    pub(super) rules: Vec<Rule>,
    pub(super) admission: Admission,
    pub(super) allow_unknown_formats: bool,
}

impl Default for IndexPolicy {
    /// [`IndexPolicy::auto`].
    fn default() -> Self {
        Self::auto()
    }
}

impl IndexPolicy {
    /// Needs no tuning: tables up to 80 MiB, which are all of the default size, get `ph4`; every
    /// table has its own fences.
    pub fn auto() -> Self {
        Self::of(vec![Rule::any().max_table_bytes(AUTO_TABLE_BYTES_MAX).build("ph4")])
    }

    /// Builds nothing: every table is read through its own sorted index.
    pub fn sorted_only() -> Self {
        Self::of(Vec::new())
    }

    /// Builds this format for every table.
    pub fn always(format: impl Into<String>) -> Self {
        Self::of(vec![Rule::any().build(format.into())])
    }

    fn of(rules: Vec<Rule>) -> Self {
        Self { rules, admission: Admission::default(), allow_unknown_formats: false }
    }

    /// A policy without rules, to which rules are added.
    pub fn builder() -> IndexPolicyBuilder {
        IndexPolicyBuilder::default()
    }

    /// Reads a policy. Formats and their parameters are not looked up: see [`check`](Self::check).
    ///
    /// # Errors
    /// Text that is no TOML, an unknown field, a value that its field does not take, a range that
    /// no table is in. The error names the rule, counted from 1, and the field.
    pub fn from_toml(text: &str) -> Result<Self, PolicyError> {
        let tree: Value = toml::from_str(text).map_err(|error| {
            let line =
                error.span().map(|span| 1 + text.bytes().take(span.start).filter(|&b| b == b'\n').count());
            let line = line.map_or(String::new(), |line| format!(", line {line}"));
            Place::top().error(format!("the text is no TOML{line}: {}", error.message()))
        })?;
        super::read::policy(&tree)
    }

    /// The policy as text that [`from_toml`](Self::from_toml) reads.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a tree of plain values is TOML")
    }

    /// The rules, in order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What resident indexes may take.
    pub fn admission(&self) -> Admission {
        self.admission
    }

    /// Whether formats that are not registered are passed over, not refused.
    pub fn allows_unknown_formats(&self) -> bool {
        self.allow_unknown_formats
    }

    /// Looks up the formats and lets each check its parameters.
    ///
    /// # Errors
    /// A format that is not registered, unless the policy allows that, or parameters that it does
    /// not take. As in the text `rule 2, build[0]: no format ph5 is registered`.
    pub fn check(&self, registry: &Registry) -> Result<(), PolicyError> {
        let numbered = self.rules.iter().enumerate();
        let builds = numbered.flat_map(|(at, rule)| {
            let builds = Place::rule(at).field("build");
            rule.builds.iter().enumerate().map(move |(nth, build)| (builds.element(nth), build))
        });
        for (place, Build { format: name, params }) in builds {
            match registry.by_name(name) {
                Some(format) => format.check_params(params).map_err(|what| place.error(what))?,
                None if self.allow_unknown_formats => {}
                None => return Err(place.error(format!("no format `{name}` is registered"))),
            }
        }
        Ok(())
    }

    /// What a table of this shape gets: what the first rule that matches says.
    pub fn wanted(&self, shape: &TableShape) -> Wanted {
        let Some(at) = self.rules.iter().position(|rule| rule.matches(shape)) else {
            return Wanted {
                rule: None,
                rule_text: "no rule matches: build nothing".into(),
                formats: Vec::new(),
                residency: Residency::Auto,
                require: false,
            };
        };
        let rule = &self.rules[at];
        let formats = rule.builds.iter().map(|build| (build.format.clone(), build.params.clone()));
        Wanted {
            rule: Some(at + 1),
            rule_text: rule.to_string(),
            formats: formats.collect(),
            residency: rule.residency,
            require: rule.require,
        }
    }
}

impl Serialize for IndexPolicy {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        super::write::policy(self).serialize(to)
    }
}

impl<'de> Deserialize<'de> for IndexPolicy {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        super::read::policy(&Value::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}
