//! The names of a store's files.

use std::path::{Path, PathBuf};

use kiban_formats::FileNo;

/// The lock file.
pub(crate) const LOCK: &str = "LOCK";
/// The pointer to the manifest.
pub(crate) const CURRENT: &str = "CURRENT";

pub(crate) fn table(no: FileNo) -> String {
    format!("{:08}.sst", no.0)
}

pub(crate) fn log(no: FileNo) -> String {
    format!("{:08}.log", no.0)
}

pub(crate) fn manifest(no: FileNo) -> String {
    format!("MANIFEST-{:08}", no.0)
}

/// The name a file has while it is written.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

/// What a name in a store's directory stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileName<'a> {
    Lock,
    Current,
    Manifest(FileNo),
    Log(FileNo),
    Table(FileNo),
    /// A file beside a table, made by an index of that name.
    Sidecar(FileNo, &'a str),
    /// Any of these, unfinished; with its number, if that kind has one.
    Temporary(Option<FileNo>),
    /// Not ours: left alone.
    Other,
}

impl<'a> FileName<'a> {
    /// Reads a name.
    pub(crate) fn parse(name: &'a str) -> Self {
        if let Some(stem) = name.strip_suffix(".tmp") {
            return match Self::parse(stem) {
                Self::Other | Self::Temporary(_) => Self::Other,
                whole => Self::Temporary(whole.no()),
            };
        }
        match name {
            LOCK => return Self::Lock,
            CURRENT => return Self::Current,
            _ => {}
        }
        if let Some(no) = name.strip_prefix("MANIFEST-").and_then(number) {
            return Self::Manifest(no);
        }
        match name.split_once('.').map(|(stem, extension)| (number(stem), extension)) {
            Some((Some(no), "log")) => Self::Log(no),
            Some((Some(no), "sst")) => Self::Table(no),
            Some((Some(no), format)) if is_format_name(format) => Self::Sidecar(no, format),
            _ => Self::Other,
        }
    }

    /// The number in the name.
    pub(crate) fn no(self) -> Option<FileNo> {
        match self {
            Self::Manifest(no) | Self::Log(no) | Self::Table(no) | Self::Sidecar(no, _) => Some(no),
            Self::Temporary(no) => no,
            Self::Lock | Self::Current | Self::Other => None,
        }
    }
}

/// Digits just as we write them: another spelling of a number is another file.
fn number(digits: &str) -> Option<FileNo> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let no = digits.parse().ok().map(FileNo).filter(|no| *no <= FileNo::MAX);
    no.filter(|no| format!("{:08}", no.0) == digits)
}

/// `[a-z][a-z0-9_]{1,15}`.
fn is_format_name(name: &str) -> bool {
    (2..=16).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let no = FileNo(12);
        assert_eq!(FileName::parse(&table(no)), FileName::Table(no));
        assert_eq!(FileName::parse(&log(no)), FileName::Log(no));
        assert_eq!(FileName::parse(&manifest(no)), FileName::Manifest(no));
        assert_eq!(FileName::parse("00000012.ph4"), FileName::Sidecar(no, "ph4"));
        assert_eq!(FileName::parse("123456789.sst"), FileName::Table(FileNo(123_456_789)));
        assert_eq!(FileName::parse("CURRENT.tmp"), FileName::Temporary(None));
        for name in ["00000012.sst.tmp", "00000012.ph4.tmp", "MANIFEST-00000012.tmp"] {
            assert_eq!(FileName::parse(name), FileName::Temporary(Some(no)), "{name}");
            assert_eq!(FileName::parse(name).no(), Some(no), "{name}: its number is taken");
        }
    }

    #[test]
    fn foreign_names_are_not_ours() {
        for name in [
            "notes.txt",
            "12.sst",
            "000000012.sst",
            "+0000012.sst",
            "0000001x.sst",
            "00000012.SST",
            "00000012.",
            "a.tmp",
            "18446744073709551615.log",
            ".tmp",
            "x.tmp.tmp",
        ] {
            assert_eq!(FileName::parse(name), FileName::Other, "{name}");
        }
    }
}
