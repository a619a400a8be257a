//! A sidecar's file: opened, and written.

use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiban_formats::accessor_file::{
    ACCESSOR_HEADER_BYTES, ACCESSOR_TRAILER_BYTES, AccessorFile as Directory, AccessorHeader, AccessorWriter,
};
use kiban_formats::{FormatError, Problem, StoreId, TableMeta};
use kiban_indexes::{AccessorFile, AccessorFormat, FileBytes, SectionWriter};

use crate::error::{Error, Result};
use crate::files;
use crate::storage::{Map, ReadFile, Storage, WriteFile};

/// A sidecar that says it is of its table and format. Its sections have not been looked at.
#[derive(Debug)]
pub(super) struct Sidecar {
    path: PathBuf,
    file: Arc<dyn ReadFile>,
    directory: Directory,
    pub(super) bytes: u64,
}

/// Why there is no sidecar to use.
#[derive(Debug)]
pub(super) enum Unusable {
    /// There is none.
    Missing,
    /// It is damaged, or of another table, or of a newer version.
    Refused(FormatError),
}

impl Sidecar {
    /// Opens a sidecar: its header, directory and trailer.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn open(
        storage: &dyn Storage,
        path: &Path,
        format: &dyn AccessorFormat,
        owner: &AccessorHeader,
    ) -> Result<std::result::Result<Self, Unusable>> {
        let found = Self::open_of_anyone(storage, path)?;
        Ok(found.and_then(|sidecar| {
            check_owner(&sidecar.directory.header, format, owner).map_err(Unusable::Refused)?;
            Ok(sidecar)
        }))
    }

    /// The same, whatever format and table it is of.
    pub(super) fn open_of_anyone(
        storage: &dyn Storage,
        path: &Path,
    ) -> Result<std::result::Result<Self, Unusable>> {
        let file = match storage.open(path) {
            Ok(file) => file,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(Err(Unusable::Missing)),
            Err(source) => return Err(Error::io("open", path, source)),
        };
        let read = || -> std::result::Result<Self, Trouble> {
            let bytes = file.len()?;
            let directory = read_directory(&*file, bytes)?;
            Ok(Self { path: path.to_owned(), file: file.clone(), directory, bytes })
        };
        match read() {
            Ok(sidecar) => Ok(Ok(sidecar)),
            Err(Trouble::Format(error)) => Ok(Err(Unusable::Refused(error))),
            Err(Trouble::Io(source)) => Err(Error::io("read", path, source)),
        }
    }

    /// A copy on the heap, every section of which has been checked.
    pub(super) fn resident(&self) -> Result<std::result::Result<AccessorFile, FormatError>> {
        let len = usize::try_from(self.bytes).map_err(|_| Error::corruption(&self.path, "too long"))?;
        let mut bytes = vec![0; len];
        self.file.read_at(&mut bytes, 0).map_err(|source| Error::io("read", &self.path, source))?;
        let file = self.with(Arc::new(bytes.into_boxed_slice()));
        Ok(file.verify().map(|()| file))
    }

    /// In a map, and the bytes of heap that the map takes; nothing but the directory has been checked.
    pub(super) fn mapped(&self, read_ahead: bool) -> io::Result<(AccessorFile, usize)> {
        if !read_ahead {
            self.file.expect_random_reads();
        }
        let map = self.file.map(self.bytes)?;
        let counts = 4 * size_of::<usize>();
        let heap_bytes = size_of::<Mapped>() + size_of_val(&*map) + counts;
        Ok((self.with(Arc::new(Mapped(map))), heap_bytes))
    }

    fn with(&self, bytes: FileBytes) -> AccessorFile {
        AccessorFile::new(self.directory.header, self.directory.sections.clone(), bytes)
    }
}

#[derive(Debug)]
struct Mapped(Arc<dyn Map>);

impl Deref for Mapped {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

enum Trouble {
    Io(io::Error),
    Format(FormatError),
}

impl From<io::Error> for Trouble {
    fn from(source: io::Error) -> Self {
        Self::Io(source)
    }
}

impl From<FormatError> for Trouble {
    fn from(error: FormatError) -> Self {
        Self::Format(error)
    }
}

fn read_directory(file: &dyn ReadFile, bytes: u64) -> std::result::Result<Directory, Trouble> {
    let short = || FormatError::invalid("accessor file", 0, "the file is too short");
    let mut trailer = [0; ACCESSOR_TRAILER_BYTES];
    let at = bytes.checked_sub(ACCESSOR_TRAILER_BYTES as u64).ok_or_else(short)?;
    file.read_at(&mut trailer, at)?;
    let end_bytes = Directory::directory_bytes(&trailer, bytes)?;
    let mut end = vec![0; end_bytes];
    file.read_at(&mut end, bytes.checked_sub(end_bytes as u64).ok_or_else(short)?)?;
    let mut header = [0; ACCESSOR_HEADER_BYTES];
    file.read_at(&mut header, 0)?;
    Ok(Directory::decode(&header, &end, bytes)?)
}

fn check_owner(
    found: &AccessorHeader,
    format: &dyn AccessorFormat,
    owner: &AccessorHeader,
) -> std::result::Result<(), FormatError> {
    if found.format_version > format.version() {
        let (found, newest) = (found.format_version, format.version());
        return Err(FormatError::new("accessor file", 16, Problem::Version { found, oldest: 1, newest }));
    }
    let expected = AccessorHeader { format_version: found.format_version, ..*owner };
    if *found != expected {
        let problem = Problem::Foreign { found: format!("{found:?}"), expected: format!("{expected:?}") };
        return Err(FormatError::new("accessor file", 0, problem));
    }
    Ok(())
}

/// What a sidecar's header says.
pub(super) fn header(format: &dyn AccessorFormat, store_id: StoreId, table: &TableMeta) -> AccessorHeader {
    AccessorHeader {
        format_id: format.id().0,
        format_version: format.version(),
        table_id: table.id,
        store_id,
        keys: table.keys,
    }
}

/// Writes a sidecar to a temporary file; one that is not finished is removed.
#[derive(Debug)]
pub(super) struct Writing<'s> {
    storage: &'s dyn Storage,
    path: PathBuf,
    file: Box<dyn WriteFile>,
    writer: Option<AccessorWriter>,
    /// Appended in one go.
    buffer: Vec<u8>,
    bytes: u64,
}

/// Bytes that are put together before they are appended.
const BUFFER_BYTES: usize = 256 << 10;

impl<'s> Writing<'s> {
    pub(super) fn begin(storage: &'s dyn Storage, path: &Path, header: &AccessorHeader) -> Result<Self> {
        let temporary = files::temporary(path);
        let mut created = storage.create(&temporary);
        if created.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
            // Of a build that could not remove it.
            let _ = storage.remove(&temporary);
            created = storage.create(&temporary);
        }
        let file = created.map_err(|source| Error::io("create", &temporary, source))?;
        let (writer, head) = AccessorWriter::new(header);
        let (path, buffer) = (path.to_owned(), head.to_vec());
        Ok(Self { storage, path, file, writer: Some(writer), buffer, bytes: 0 })
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.append(&[&self.buffer])?;
        self.bytes += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Gives the file its name, once its bytes are durable: a power cut may take a sidecar, and seldom
    /// leaves half of one. No writer waits for this. The bytes of the file.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        if let Some(writer) = self.writer.take() {
            let end = writer.finish();
            self.append(&end)?;
        }
        self.flush()?;
        self.file.sync()?;
        self.storage.rename(&files::temporary(&self.path), &self.path)?;
        let bytes = self.bytes;
        // Nothing is left to remove.
        self.bytes = u64::MAX;
        Ok(bytes)
    }
}

impl SectionWriter for Writing<'_> {
    fn section(&mut self, name: &str) -> io::Result<()> {
        let padding = self.writer.as_mut().map(|writer| writer.begin_section(name));
        self.append(&padding.unwrap_or_default())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(writer) = &mut self.writer {
            writer.push(bytes);
        }
        self.append(bytes)
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        if self.bytes != u64::MAX {
            let _ = self.storage.remove(&files::temporary(&self.path));
        }
    }
}
