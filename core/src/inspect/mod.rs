//! Files of a store printed field by field: offset, bytes, meaning.
//!
//! No store is opened and no lock is taken: what is printed is what stands in the file now, whole
//! or damaged. The file's first bytes say what it is, of a table the last; where they are damaged,
//! its name.

mod accessor;
mod table;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use kiban_formats::describe::Dump;
use kiban_formats::frame::FileKind;
use kiban_formats::log::describe_log;
use kiban_formats::manifest::describe_manifest;
use kiban_formats::{FormatError, describe_pointer};

use crate::error::Error;
use crate::files::FileName;
use crate::storage::{FsStorage, ReadFile, Storage};

/// What of a table is printed. Of other files everything is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Only the data page that starts at this unit of 4 KiB, in full.
    pub page: Option<u32>,
    /// All data and fence pages in full, instead of a line a page.
    pub entries: bool,
}

impl Options {
    /// Prints a table's sections, and a line for each of its pages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only the data page that starts at this unit of 4 KiB, in full.
    #[must_use]
    pub fn page(mut self, unit: Option<u32>) -> Self {
        self.page = unit;
        self
    }

    /// All data and fence pages in full.
    #[must_use]
    pub fn entries(mut self, entries: bool) -> Self {
        self.entries = entries;
        self
    }
}

/// Why a file could not be printed to its end.
#[derive(Debug)]
pub enum InspectError {
    /// The file: it cannot be read, or is damaged. All that could be read was written before.
    File(Error),
    /// What is printed to.
    Output(io::Error),
}

impl Display for InspectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Output(error) => write!(f, "cannot write what was read: {error}"),
        }
    }
}

impl std::error::Error for InspectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File(error) => error.source(),
            Self::Output(error) => Some(error),
        }
    }
}

impl From<Error> for InspectError {
    fn from(error: Error) -> Self {
        Self::File(error)
    }
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pointer,
    Log,
    Manifest,
    Accessor,
    Table,
}

/// Prints the file at `path` to `out`.
///
/// # Errors
/// `File` with `Corruption` or `Unsupported` that names section and offset, `Io`, or
/// `InvalidArgument` for a page that is not there; `Output` if `out` refuses.
pub fn inspect(path: &Path, options: Options, out: &mut dyn Write) -> Result<(), InspectError> {
    let file = Inspected::open(path)?;
    let Some(kind) = file.kind()? else {
        return Err(Error::corruption(path, "it is no file of a store").into());
    };
    if kind == Kind::Table {
        return table::inspect(&file, options, out);
    }
    if options.page.is_some() {
        return Err(
            Error::invalid(format!("page: {} is no table, only tables have pages", path.display())).into()
        );
    }
    let bytes = file.read(0, file.len)?;
    let mut dump = Dump::new();
    let described = match kind {
        Kind::Pointer => describe_pointer(&bytes, &mut dump),
        Kind::Log => describe_log(&bytes, &mut dump),
        Kind::Manifest => describe_manifest(&bytes, &mut dump),
        Kind::Accessor | Kind::Table => accessor::describe(bytes, &mut dump),
    };
    print(dump, out)?;
    described.map_err(|error| file.damaged(error).into())
}

fn print(dump: Dump, out: &mut dyn Write) -> Result<(), InspectError> {
    out.write_all(dump.finish().as_bytes()).map_err(InspectError::Output)
}

/// A file that is looked at.
struct Inspected<'a> {
    path: &'a Path,
    file: Arc<dyn ReadFile>,
    len: u64,
}

impl<'a> Inspected<'a> {
    fn open(path: &'a Path) -> Result<Self, Error> {
        let file = FsStorage::new().open(path).map_err(|source| Error::io("open", path, source))?;
        let len = file.len().map_err(|source| Error::io("read", path, source))?;
        Ok(Self { path, file, len })
    }

    /// Bytes of the file. They are there, or it is an error.
    fn read(&self, offset: u64, len: u64) -> Result<Vec<u8>, Error> {
        let failed = |source| Error::io("read", self.path, source);
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(failed(io::ErrorKind::UnexpectedEof.into()));
        }
        let mut bytes = Vec::new();
        // A sparse file may be longer than memory.
        let reserved = usize::try_from(len).is_ok_and(|len| bytes.try_reserve_exact(len).is_ok());
        if !reserved {
            return Err(failed(io::ErrorKind::OutOfMemory.into()));
        }
        bytes.resize(len as usize, 0);
        self.file.read_at(&mut bytes, offset).map_err(failed)?;
        Ok(bytes)
    }

    fn kind(&self) -> Result<Option<Kind>, Error> {
        let magic = self.read(0, self.len.min(8))?;
        if let Some(kind) = kind_of_magic(&magic) {
            return Ok(Some(kind));
        }
        if table::has_magic(self)? {
            return Ok(Some(Kind::Table));
        }
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        Ok(kind_of_name(name))
    }

    fn damaged(&self, error: FormatError) -> Error {
        Error::format(self.path, error)
    }
}

fn kind_of_magic(magic: &[u8]) -> Option<Kind> {
    const POINTER: &[u8] = b"KIBANCUR";
    const ACCESSOR: &[u8] = b"KIBANIDX";
    let frames = [(FileKind::Log, Kind::Log), (FileKind::Manifest, Kind::Manifest)];
    match magic {
        POINTER => Some(Kind::Pointer),
        ACCESSOR => Some(Kind::Accessor),
        _ => frames.into_iter().find(|(kind, _)| magic == kind.magic()).map(|(_, kind)| kind),
    }
}

fn kind_of_name(name: &str) -> Option<Kind> {
    match FileName::parse(name) {
        FileName::Current => Some(Kind::Pointer),
        FileName::Manifest(_) => Some(Kind::Manifest),
        FileName::Log(_) => Some(Kind::Log),
        FileName::Table(_) => Some(Kind::Table),
        FileName::Sidecar(..) => Some(Kind::Accessor),
        FileName::Lock | FileName::Temporary(_) | FileName::Other => None,
    }
}

#[cfg(test)]
mod tests;
