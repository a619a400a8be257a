//! Exit codes, and the one sentence a command ends with when it could not do its work.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use kiban::{Error, ErrorKind};
use kiban_benches::ab::AbError;

/// What the process says to its caller. Where several hold, the greatest is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Done.
    #[default]
    Done = 0,
    /// A finding: an absent key, a refused line of input, a wrong answer.
    Finding = 1,
    /// The command line, or an option's value, is wrong.
    Usage = 2,
    /// A store or file is missing, damaged, locked, newer, or cannot be read or written.
    Trouble = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command stopped.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Something went wrong.
    Said {
        /// The exit code.
        exit: Exit,
        /// One sentence that names the file, the option or the line of input.
        message: String,
    },
    /// Nobody reads standard output any more, as under `| head`. Not an error.
    ReaderGone,
}

impl Failure {
    /// A refused line of input, an absent key.
    pub(crate) fn finding(message: impl Into<String>) -> Self {
        Self::Said { exit: Exit::Finding, message: message.into() }
    }

    /// A wrong command line or option.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::Said { exit: Exit::Usage, message: message.into() }
    }

    /// A store or file that cannot be used.
    pub(crate) fn trouble(message: impl Into<String>) -> Self {
        Self::Said { exit: Exit::Trouble, message: message.into() }
    }

    /// The system refused `action` on `path`.
    pub(crate) fn io(action: &str, path: &Path, error: &io::Error) -> Self {
        Self::trouble(format!("cannot {action} {}: {error}", path.display()))
    }

    /// Standard output could not be written.
    pub(crate) fn stdout(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::trouble(format!("cannot write standard output: {error}")),
        }
    }

    /// A store that cannot be opened: what is wrong is the store, whatever the kind.
    pub(crate) fn store(error: &Error) -> Self {
        Self::trouble(error.to_string())
    }
}

impl From<Error> for Failure {
    /// An operation on an open store: an argument that it refuses came from the command line.
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::InvalidArgument => Self::usage(error.to_string()),
            _ => Self::trouble(error.to_string()),
        }
    }
}

impl From<AbError> for Failure {
    fn from(error: AbError) -> Self {
        match error {
            AbError::Usage(message) => Self::usage(message),
            other => Self::trouble(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_of_several_exits_is_told() {
        assert_eq!(Exit::Finding.max(Exit::Trouble), Exit::Trouble);
        assert_eq!(Exit::Done.max(Exit::Finding), Exit::Finding);
        assert_eq!(Exit::Usage as u8, 2);
    }

    #[test]
    fn a_closed_pipe_is_no_trouble() {
        let gone = Failure::stdout(&io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(gone, Failure::ReaderGone);
        let full = Failure::stdout(&io::Error::from(io::ErrorKind::StorageFull));
        assert!(matches!(full, Failure::Said { exit: Exit::Trouble, .. }));
    }
}
