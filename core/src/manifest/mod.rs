//! The manifest on disk: a file of edits, and the pointer to it.
//!
//! An open store writes a new manifest at its first change, and again when the file has grown or
//! an append has failed: a broken record is never followed by another. The switch is: new
//! manifest written and synced, directory synced, pointer written beside, synced, renamed,
//! directory synced. Until the last step the old one is the store's.

mod read;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiban_formats::frame::{FILE_HEADER_BYTES, FileHeader, FileKind, FrameHeader, frame_tail};
use kiban_formats::manifest::{Change, EDIT, SNAPSHOT, State, encode_changes};
use kiban_formats::{FileNo, Pointer, SeqNo, StoreId};

use crate::error::{Error, Result};
use crate::files;
use crate::storage::{Storage, WriteFile};

use read::read_state;
pub(crate) use read::{ManifestFile, read_pointer};

/// A manifest this long is rewritten, unless its snapshot alone is a quarter of it.
const REWRITE_BYTES: u64 = 1 << 20;

/// The manifest of an open store.
#[derive(Debug)]
pub(crate) struct ManifestStore {
    storage: Arc<dyn Storage>,
    dir: PathBuf,
    store_id: StoreId,
    state: State,
    /// The manifest that the pointer names.
    current: FileNo,
    /// Open for appending: written by this process, and not broken.
    writer: Option<Writer>,
    footing: Footing,
    /// Tables that an append which failed may have named.
    abandoned: Vec<PathBuf>,
}

/// Whether the state may be relied on: after the death of a process the next one reads edits
/// and names that a power cut may still take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Footing {
    /// It was read, and nothing says that it is durable.
    Read,
    /// Making it durable failed, or an append did, whose record may be there all the same. A second
    /// sync would prove nothing: the first may have dropped what it had to write.
    Doubtful,
    Durable,
}

#[derive(Debug)]
struct Writer {
    file: Box<dyn WriteFile>,
    path: PathBuf,
    salt: u32,
    len: u64,
    snapshot_len: u64,
}

impl ManifestStore {
    /// A store that is not on disk yet: the first append makes it.
    pub(crate) fn create(storage: Arc<dyn Storage>, dir: &Path, store_id: StoreId) -> Self {
        let (dir, state) = (dir.to_owned(), State::default());
        let (footing, abandoned) = (Footing::Durable, Vec::new());
        Self { storage, dir, store_id, state, current: FileNo(0), writer: None, footing, abandoned }
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.state.memory_bytes()
    }

    /// Reads the pointer file and the manifest it names.
    pub(crate) fn open(storage: Arc<dyn Storage>, dir: &Path) -> Result<Self> {
        let pointer = read_pointer(&*storage, dir)?;
        let path = dir.join(files::manifest(pointer.manifest));
        let state = read_state(&*storage, &path, &pointer)?;
        let (dir, store_id, current) = (dir.to_owned(), pointer.store_id, pointer.manifest);
        let (footing, abandoned) = (Footing::Read, Vec::new());
        Ok(Self { storage, dir, store_id, state, current, writer: None, footing, abandoned })
    }

    pub(crate) fn store_id(&self) -> StoreId {
        self.store_id
    }

    /// The state, all appended changes included.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// The manifest that the pointer names.
    pub(crate) fn current(&self) -> FileNo {
        self.current
    }

    /// Makes the changes durable, all or nothing. `new_no` gives a file number that was never
    /// used.
    ///
    /// # Errors
    /// The changes may or may not be there after a crash, and are not in the state; the next
    /// append begins a new manifest.
    pub(crate) fn append(&mut self, changes: &[Change], new_no: impl FnOnce() -> FileNo) -> Result<()> {
        let mut state = self.state.clone();
        let contradiction = |error| Error::format(&self.dir.join(files::manifest(self.current)), error);
        state.apply(changes).map_err(contradiction)?;
        let grown = self
            .writer
            .as_ref()
            .is_none_or(|writer| writer.len >= REWRITE_BYTES && writer.len >= 4 * writer.snapshot_len);
        self.footing = Footing::Doubtful;
        if grown {
            self.switch(&mut state, new_no())?;
        } else if let Some(mut writer) = self.writer.take() {
            // The writer is put back only if it is still good.
            writer.append(EDIT, &encode_changes(changes))?;
            self.writer = Some(writer);
            self.footing = Footing::Durable;
        }
        self.state = state;
        Ok(())
    }

    /// The append that was to name these tables failed. They must stay until a manifest without
    /// them holds: the one that the append broke may have got its record.
    pub(crate) fn abandon(&mut self, tables: impl IntoIterator<Item = PathBuf>) {
        self.abandoned.extend(tables);
    }

    /// Removes abandoned tables. To be called before another one is written: where the manifest
    /// fails again and again, tables must not pile up.
    pub(crate) fn mend(&mut self, new_no: impl FnOnce() -> FileNo) -> Result<()> {
        if self.abandoned.is_empty() {
            return Ok(());
        }
        let mut state = self.state.clone();
        self.switch(&mut state, new_no())?;
        self.state = state;
        Ok(())
    }

    /// Makes durable what was read at open. To be called before anything rests on it: a log
    /// record that names a keyspace, the removal of a file that it does not name.
    ///
    /// # Errors
    /// The next call writes a new manifest instead.
    pub(crate) fn make_durable(&mut self, new_no: impl FnOnce() -> FileNo) -> Result<()> {
        match std::mem::replace(&mut self.footing, Footing::Doubtful) {
            Footing::Durable => {}
            Footing::Read => {
                let path = self.dir.join(files::manifest(self.current));
                let synced = self.storage.open_sync(&path).and_then(|file| file.sync());
                synced.map_err(|source| Error::io("sync", &path, source))?;
                self.sync_dir()?;
            }
            Footing::Doubtful => {
                let mut state = self.state.clone();
                self.switch(&mut state, new_no())?;
                self.state = state;
            }
        }
        self.footing = Footing::Durable;
        Ok(())
    }

    /// Writes a new manifest with all of `state` and points to it.
    fn switch(&mut self, state: &mut State, no: FileNo) -> Result<()> {
        self.writer = None;
        state.next_file = state.next_file.max(FileNo(no.0 + 1));
        let path = self.dir.join(files::manifest(no));
        let written = self.write_new(&path, no, state).and_then(|writer| {
            self.write_pointer(no)?;
            Ok(writer)
        });
        if written.is_err() {
            // Nothing names it yet, and on a full disk it must go now.
            let _ = self.storage.remove(&path);
        }
        let writer = written?;
        self.publish_pointer()?;
        self.writer = Some(writer);
        self.footing = Footing::Durable;
        let old = std::mem::replace(&mut self.current, no);
        if old.0 != 0 {
            // Garbage from now on; what stays is removed by the next open.
            let _ = self.storage.remove(&self.dir.join(files::manifest(old)));
        }
        for table in std::mem::take(&mut self.abandoned) {
            let _ = self.storage.remove(&table);
        }
        Ok(())
    }

    fn write_new(&self, path: &Path, no: FileNo, state: &State) -> Result<Writer> {
        let header = FileHeader {
            kind: FileKind::Manifest,
            store_id: self.store_id,
            no,
            previous: FileNo(0),
            previous_len: 0,
            first_seq: SeqNo(0),
            durable_seq: SeqNo(0),
        };
        let failed = |source| Error::io("write", path, source);
        let mut file = self.storage.create(path).map_err(failed)?;
        file.append(&[&header.encode()]).map_err(failed)?;
        let (path, len) = (path.to_owned(), FILE_HEADER_BYTES as u64);
        let mut writer = Writer { file, path, salt: header.salt(), len, snapshot_len: 0 };
        writer.append(SNAPSHOT, &encode_changes(&state.snapshot()))?;
        writer.snapshot_len = writer.len;
        self.sync_dir()?;
        Ok(writer)
    }

    /// Writes the new pointer beside the one that holds.
    fn write_pointer(&self, manifest: FileNo) -> Result<()> {
        let temporary = files::temporary(&self.dir.join(files::CURRENT));
        let pointer = Pointer { store_id: self.store_id, manifest };
        let failed = |source| Error::io("write", &temporary, source);
        match self.storage.remove(&temporary) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => return Err(failed(source)),
            _ => {}
        }
        let mut file = self.storage.create(&temporary).map_err(failed)?;
        file.append(&[&pointer.encode()]).and_then(|()| file.sync()).map_err(failed)
    }

    /// Puts the new pointer in the place of the old one. After an error either may hold.
    fn publish_pointer(&self) -> Result<()> {
        let path = self.dir.join(files::CURRENT);
        let temporary = files::temporary(&path);
        self.storage.rename(&temporary, &path).map_err(|source| Error::io("rename", &temporary, source))?;
        self.sync_dir()
    }

    fn sync_dir(&self) -> Result<()> {
        self.storage.sync_dir(&self.dir).map_err(|source| Error::io("sync", &self.dir, source))
    }
}

impl Writer {
    /// Appends a frame and syncs it.
    fn append(&mut self, kind: u8, payload: &[u8]) -> Result<()> {
        // All before it is durable: each frame is synced before the next is written.
        let header = FrameHeader::new(kind, self.len, self.len, &[payload]);
        let tail = frame_tail(header.payload_len);
        let header = header.encode(self.salt);
        let appended = self.file.append(&[&header, payload, tail]).and_then(|()| self.file.sync());
        appended.map_err(|source| Error::io("append to", &self.path, source))?;
        self.len += (header.len() + payload.len() + tail.len()) as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
