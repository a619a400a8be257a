//! Why a comparison could not be made. A wrong answer is no error: it is a finding of the report.

use std::io;
use std::path::{Path, PathBuf};

/// Why `kiban ab` could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AbError {
    /// An option is wrong, or not built into this version; the text names it.
    #[error("{0}")]
    Usage(String),
    /// A store could not be built or opened.
    #[error(transparent)]
    Store(#[from] kiban::Error),
    /// A store that is measured could not be built, opened or closed.
    #[error("{name}: {problem}")]
    Engine {
        /// Its name in reports.
        name: String,
        /// What it said.
        problem: String,
    },
    /// A file or directory that is no store could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl AbError {
    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), source }
    }
}
