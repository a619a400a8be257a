//! One error type: a coarse kind that says what a caller can do, one sentence that names
//! file, section, offset or field, and the cause.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::Path;

use kiban_formats::{FormatError, Problem};
use kiban_indexes::PolicyError;

/// Result with [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong. Pointer-sized; [`Error::kind`] says what a caller can do about it.
#[derive(Clone)]
pub struct Error(std::sync::Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    /// The file whose bytes are wrong.
    file: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What a caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The store or keyspace does not exist and was not to be created.
    NotFound,
    /// A limit, an option, a foreign handle, a directory that is no store. Names the field and what is allowed.
    InvalidArgument,
    /// Another opener holds the directory.
    Locked,
    /// A newer format, a codec that is not compiled in, a platform.
    Unsupported,
    /// Bytes fail a check, or a live file is missing. Names file, section and offset.
    Corruption,
    /// The system said no; `source()` has it.
    Io,
    /// A log write or sync failed before; reads go on. `source()` has the first cause; reopen the store.
    WritesHalted,
    /// An expectation of a batch did not hold; nothing was written.
    Conflict,
    /// The store is open for reading only.
    ReadOnly,
    /// The store or keyspace is closed.
    Closed,
}

impl Error {
    /// An error of this kind that says `message`.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::whole(Inner { kind, message: message.into(), file: None, source: None })
    }

    /// The same with a cause.
    pub(crate) fn caused(
        kind: ErrorKind,
        message: impl Into<String>,
        source: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self::whole(Inner { kind, message: message.into(), file: None, source: Some(source.into()) })
    }

    fn whole(inner: Inner) -> Self {
        Self(std::sync::Arc::new(inner))
    }

    /// A bad argument or option.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument, message)
    }

    /// The system refused `action` on `path`.
    pub(crate) fn io(action: &str, path: &Path, source: io::Error) -> Self {
        Self::caused(ErrorKind::Io, format!("cannot {action} {}: {source}", path.display()), source)
    }

    /// Bytes of `path` are not what they should be.
    pub(crate) fn format(path: &Path, source: FormatError) -> Self {
        let kind = match source.problem {
            Problem::Version { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::Corruption,
        };
        let message = format!("{}: {source}", path.display());
        Self::whole(Inner { kind, message, file: file_name(path), source: Some(Box::new(source)) })
    }

    /// A file's content contradicts the store around it.
    pub(crate) fn corruption(path: &Path, what: impl fmt::Display) -> Self {
        let (kind, message) = (ErrorKind::Corruption, format!("{}: {what}", path.display()));
        Self::whole(Inner { kind, message, file: file_name(path), source: None })
    }

    /// The name of the file whose bytes are wrong, if that is known.
    pub(crate) fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// Section and offset of the bytes that are wrong, if that is known.
    pub(crate) fn place(&self) -> Option<(&'static str, u64)> {
        let error = self.0.source.as_deref()?.downcast_ref::<FormatError>()?;
        Some((error.section, error.offset))
    }

    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The system knows no such file.
    pub(crate) fn is_missing_file(&self) -> bool {
        let source = self.0.source.as_deref().and_then(|source| source.downcast_ref::<io::Error>());
        source.is_some_and(|source| source.kind() == io::ErrorKind::NotFound)
    }

    /// The disk, or the quota, is full.
    pub fn is_disk_full(&self) -> bool {
        let mut cause: Option<&(dyn StdError + 'static)> = Some(self);
        while let Some(error) = cause {
            if let Some(io) = error.downcast_ref::<io::Error>() {
                return matches!(io.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
            }
            cause = error.source();
        }
        false
    }
}

fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// A policy that cannot be used is an argument that cannot.
impl From<PolicyError> for Error {
    fn from(source: PolicyError) -> Self {
        Self::caused(ErrorKind::InvalidArgument, source.to_string(), source)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.kind, self.0.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

const _: () = assert!(size_of::<Error>() == size_of::<usize>());
