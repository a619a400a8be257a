//! Reading a manifest's file, and the pointer to it.

use std::path::Path;

use kiban_formats::frame::{FILE_HEADER_BYTES, FileHeader, FileKind, FrameReader, Input, Next, ReadError};
use kiban_formats::manifest::{EDIT, SNAPSHOT, State, decode_changes};
use kiban_formats::{FormatError, POINTER_BYTES, Pointer, Problem};

use crate::error::{Error, Result};
use crate::files;
use crate::log::FileInput;
use crate::storage::Storage;

/// Reads the pointer file of a store's directory.
pub(crate) fn read_pointer(storage: &dyn Storage, dir: &Path) -> Result<Pointer> {
    let path = dir.join(files::CURRENT);
    let failed = |source| Error::io("read", &path, source);
    let file = FileInput::open(storage, &path).map_err(failed)?;
    let mut bytes = [0; POINTER_BYTES];
    if file.len() != bytes.len() as u64 {
        let problem = Problem::Truncated { needed: bytes.len() as u64, have: file.len() };
        return Err(Error::format(&path, FormatError::new("pointer", 0, problem)));
    }
    file.read_at(&mut bytes, 0).map_err(failed)?;
    Pointer::decode(&bytes).map_err(|error| Error::format(&path, error))
}

pub(super) fn read_state(storage: &dyn Storage, path: &Path, pointer: &Pointer) -> Result<State> {
    let manifest = ManifestFile::open(storage, path).map_err(|error| match error.is_missing_file() {
        true => Error::corruption(path, "the pointer file names it, and it is not there"),
        false => error,
    })?;
    let header = &manifest.header;
    if (header.store_id, header.no) != (pointer.store_id, pointer.manifest) {
        let found = format!("store {}, number {}", header.store_id, header.no);
        let expected = format!("store {}, number {}", pointer.store_id, pointer.manifest);
        let problem = Problem::Foreign { found, expected };
        return Err(Error::format(path, FormatError::new("manifest header", 16, problem)));
    }
    let mut state = State::default();
    manifest.read(&mut state)?;
    Ok(state)
}

/// A manifest's file of which the header was read.
pub(crate) struct ManifestFile<'a> {
    path: &'a Path,
    file: FileInput,
    pub(crate) header: FileHeader,
}

impl<'a> ManifestFile<'a> {
    pub(crate) fn open(storage: &dyn Storage, path: &'a Path) -> Result<Self> {
        let failed = |source| Error::io("read", path, source);
        let file = FileInput::open(storage, path).map_err(failed)?;
        let mut bytes = vec![0; FILE_HEADER_BYTES.min(usize::try_from(file.len()).unwrap_or(usize::MAX))];
        file.read_at(&mut bytes, 0).map_err(failed)?;
        let header = FileHeader::decode(&bytes, FileKind::Manifest);
        Ok(Self { path, file, header: header.map_err(|error| Error::format(path, error))? })
    }

    /// Brings an empty state up to date.
    ///
    /// # Errors
    /// Damage. The state then has what stands before it.
    pub(crate) fn read(&self, state: &mut State) -> Result<()> {
        let bad = |error| Error::format(self.path, error);
        let mut reader = FrameReader::new(&self.file, &self.header, FILE_HEADER_BYTES as u64, u64::MAX);
        let mut is_first = true;
        loop {
            let lost = reader.offset() + 1;
            match reader.next(lost) {
                Ok(Next::Frame(frame)) => {
                    let expected = if is_first { SNAPSHOT } else { EDIT };
                    if frame.kind != expected {
                        let what = "a record of the wrong kind";
                        return Err(bad(FormatError::invalid("manifest", frame.offset, what)));
                    }
                    let moved = |error: FormatError| bad(error.moved_by(frame.offset));
                    let changes = decode_changes(frame.payload).map_err(moved)?;
                    if is_first {
                        *state = State::from_snapshot(&changes).map_err(moved)?;
                    } else {
                        state.apply(&changes).map_err(moved)?;
                    }
                    is_first = false;
                }
                // The first record was synced before the pointer named the file.
                Ok(Next::End(_)) if is_first => {
                    let what = "the first record is not whole";
                    return Err(bad(FormatError::invalid("manifest", lost - 1, what)));
                }
                Ok(Next::End(_)) => return Ok(()),
                Err(ReadError::Io(source)) => return Err(Error::io("read", self.path, source)),
                Err(ReadError::Format(error)) => return Err(bad(error)),
            }
        }
    }
}
