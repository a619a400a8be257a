//! Options of one keyspace.

use kiban_indexes::IndexPolicy;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::settings::Settings;

/// Options of one keyspace, stored with it: what is set wins over the store's [`Settings`].
///
/// ```
/// let options = kiban::KeyspaceOptions::default().table_bytes(8 << 20).filter_bits_per_key(14);
/// assert_eq!(options.table_bytes, Some(8 << 20));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct KeyspaceOptions {
    /// Instead of [`Settings::memtable_bytes`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memtable_bytes: Option<u64>,
    /// Instead of [`Settings::table_bytes`]: of tables that are written from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table_bytes: Option<u64>,
    /// Instead of [`Settings::filter_bits_per_key`]: of tables that are written from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_bits_per_key: Option<u32>,
    /// Which indexes the tables get; unset: the policy that the store was opened with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index_policy: Option<IndexPolicy>,
}

impl KeyspaceOptions {
    /// Sets [`memtable_bytes`](Self::memtable_bytes).
    #[must_use]
    pub fn memtable_bytes(mut self, bytes: u64) -> Self {
        self.memtable_bytes = Some(bytes);
        self
    }

    /// Sets [`table_bytes`](Self::table_bytes).
    #[must_use]
    pub fn table_bytes(mut self, bytes: u64) -> Self {
        self.table_bytes = Some(bytes);
        self
    }

    /// Sets [`filter_bits_per_key`](Self::filter_bits_per_key).
    #[must_use]
    pub fn filter_bits_per_key(mut self, bits: u32) -> Self {
        self.filter_bits_per_key = Some(bits);
        self
    }

    /// Sets [`index_policy`](Self::index_policy).
    #[must_use]
    pub fn index_policy(mut self, policy: IndexPolicy) -> Self {
        self.index_policy = Some(policy);
        self
    }

    /// The store's settings with these in their place.
    ///
    /// # Errors
    /// `InvalidArgument` that names the field, its value and what is allowed.
    pub(crate) fn over(&self, settings: &Settings) -> Result<Settings> {
        let mut own = settings.clone();
        own.memtable_bytes = self.memtable_bytes.unwrap_or(own.memtable_bytes);
        own.table_bytes = self.table_bytes.unwrap_or(own.table_bytes);
        own.filter_bits_per_key = self.filter_bits_per_key.unwrap_or(own.filter_bits_per_key);
        own.validate()?;
        Ok(own)
    }

    /// As the manifest keeps them; nothing for the defaults.
    pub(crate) fn to_text(&self) -> Result<String> {
        if *self == Self::default() {
            return Ok(String::new());
        }
        toml::to_string(self).map_err(|error| Error::invalid(format!("options of a keyspace: {error}")))
    }

    /// Reads what the manifest keeps.
    ///
    /// # Errors
    /// `Unsupported` with the line: a newer version wrote options that this one does not know.
    pub(crate) fn from_text(keyspace: &str, text: &str) -> Result<Self> {
        toml::from_str(text).map_err(|error| {
            // The message for a value of another type does not say which field has it.
            let line = error.span().map_or("", |span| line_at(text, span.start));
            let what = format!("keyspace {keyspace:?}: its stored options: `{line}`: {}", error.message());
            Error::new(ErrorKind::Unsupported, what)
        })
    }
}

/// The line of a text that this offset is in.
fn line_at(text: &str, offset: usize) -> &str {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    text[start..].lines().next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_text_reads_back_the_same() {
        let all = KeyspaceOptions::default()
            .memtable_bytes(64 << 10)
            .table_bytes(8 << 10)
            .filter_bits_per_key(0)
            .index_policy(IndexPolicy::auto());
        for options in [KeyspaceOptions::default(), all] {
            let text = options.to_text().unwrap();
            assert_eq!(KeyspaceOptions::from_text("own", &text).unwrap(), options, "{text}");
        }
        assert_eq!(KeyspaceOptions::default().to_text().unwrap(), "");
    }

    #[test]
    fn stored_text_that_is_not_understood_is_refused_with_keyspace_and_field() {
        let cases = [
            ("table_bytes = 8192\nblock_bytes = 1\n", "`block_bytes = 1`: unknown field `block_bytes`"),
            ("table_bytes = 8192\nfilter_bits_per_key = 9.5\n", "`filter_bits_per_key = 9.5`: "),
            ("memtable_bytes = -1", "`memtable_bytes = -1`: "),
            ("table_bytes = 1\ntable_bytes = 2", "`table_bytes = 2`: "),
            ("table_bytes", "`table_bytes`: "),
        ];
        for (text, expected) in cases {
            let error = KeyspaceOptions::from_text("own", text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{text}");
            let message = error.to_string();
            assert!(message.contains("keyspace \"own\"") && message.contains(expected), "{text}: {message}");
        }
    }
}
