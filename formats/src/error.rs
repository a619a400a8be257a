//! Small plain facts. The engine adds path and kind.

use std::borrow::Cow;

/// Bytes that are not what they should be: where, and what is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{section} at offset {offset}: {problem}")]
pub struct FormatError {
    /// The part of the file, e.g. `footer` or `data page`.
    pub section: &'static str,
    /// Byte offset: in the file where the decoder knows it, else in the part it was given.
    pub offset: u64,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with some bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The bytes end too early.
    #[error("{needed} bytes needed, {have} there")]
    Truncated {
        /// Bytes needed.
        needed: u64,
        /// Bytes there.
        have: u64,
    },
    /// Another format, or no format of ours.
    #[error("not a {0}: the magic number is wrong")]
    Magic(&'static str),
    /// A newer format: refused, not guessed at.
    #[error("version: found {found}, this build reads {oldest}-{newest}")]
    Version {
        /// The version found.
        found: u16,
        /// The oldest version this build reads.
        oldest: u16,
        /// The newest version this build reads.
        newest: u16,
    },
    /// A checksum does not match.
    #[error("checksum: stored {stored:08x}, computed {computed:08x}")]
    Checksum {
        /// The checksum stored.
        stored: u32,
        /// The checksum computed.
        computed: u32,
    },
    /// Belongs to another store or table.
    #[error("belongs to {found}, expected {expected}")]
    Foreign {
        /// The owner found.
        found: String,
        /// The owner expected.
        expected: String,
    },
    /// Well-formed checksum, senseless content.
    #[error("{0}")]
    Invalid(Cow<'static, str>),
}

impl FormatError {
    /// An error of this part, at this offset.
    pub fn new(section: &'static str, offset: u64, problem: Problem) -> Self {
        Self { section, offset, problem }
    }

    /// Senseless content.
    pub fn invalid(section: &'static str, offset: u64, what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(section, offset, Problem::Invalid(what.into()))
    }

    /// The same error with its offset moved: a part's decoder counts from the part's start.
    #[must_use]
    pub fn moved_by(mut self, bytes: u64) -> Self {
        self.offset = self.offset.saturating_add(bytes);
        self
    }
}
