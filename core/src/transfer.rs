//! A store's files in a second directory: the same ones where the storage can link them.

use std::io;
use std::path::Path;

use crate::error::{Error, Result};
use crate::storage::Storage;

/// Bytes that are copied at once.
const COPY_BYTES: usize = 1 << 20;

/// Links or copies files, and counts.
#[derive(Debug)]
pub(crate) struct Transfer<'a> {
    storage: &'a dyn Storage,
    from: &'a Path,
    to: &'a Path,
    pub(crate) counts: Counts,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) files: u64,
    pub(crate) linked_bytes: u64,
    pub(crate) copied_bytes: u64,
}

impl<'a> Transfer<'a> {
    /// Of files of the directory `from` into `to`.
    pub(crate) fn new(storage: &'a dyn Storage, from: &'a Path, to: &'a Path) -> Self {
        Self { storage, from, to, counts: Counts::default() }
    }

    /// A file that never changes. `sync`: nothing says that it is durable.
    pub(crate) fn whole(&mut self, name: &str, sync: bool) -> Result<()> {
        self.whole_as(name, name, sync)
    }

    /// The same under another name.
    pub(crate) fn whole_as(&mut self, name: &str, new_name: &str, sync: bool) -> Result<()> {
        self.put((name, new_name), u64::MAX, sync)
    }

    /// The first `bytes` bytes of such a file, or all if it is shorter.
    pub(crate) fn start_of(&mut self, name: &str, bytes: u64, sync: bool) -> Result<()> {
        self.put((name, name), bytes, sync)
    }

    fn put(&mut self, (name, new_name): (&str, &str), bytes: u64, sync: bool) -> Result<()> {
        let (from, to) = (self.from.join(name), self.to.join(new_name));
        let len = self.storage.open(&from).and_then(|file| file.len());
        let len = len.map_err(|source| Error::io("open", &from, source))?;
        self.counts.files += 1;
        if len <= bytes && self.link(&from, &to, sync)? {
            self.counts.linked_bytes += len;
            return Ok(());
        }
        self.counts.copied_bytes += len.min(bytes);
        self.copy(&from, &to, len.min(bytes))
    }

    /// Whether the storage could.
    fn link(&self, from: &Path, to: &Path, sync: bool) -> Result<bool> {
        match self.storage.link(from, to) {
            Ok(()) if sync => {
                let synced = self.storage.open_sync(to).and_then(|file| file.sync());
                synced.map(|()| true).map_err(|source| Error::io("sync", to, source))
            }
            Ok(()) => Ok(true),
            Err(source) if cannot_link(&source) => Ok(false),
            Err(source) => Err(Error::io("link", from, source)),
        }
    }

    fn copy(&self, from: &Path, to: &Path, bytes: u64) -> Result<()> {
        let file = self.storage.open(from).map_err(|source| Error::io("open", from, source))?;
        let failed = |source| Error::io("write", to, source);
        let mut copy = self.storage.create(to).map_err(failed)?;
        let mut buffer = vec![0; COPY_BYTES.min(usize::try_from(bytes).unwrap_or(COPY_BYTES))];
        let mut offset = 0;
        while offset < bytes {
            let count = buffer.len().min(usize::try_from(bytes - offset).unwrap_or(usize::MAX));
            let part = &mut buffer[..count];
            file.read_at(part, offset).map_err(|source| Error::io("read", from, source))?;
            copy.append(&[part]).map_err(failed)?;
            offset += count as u64;
        }
        copy.sync().map_err(failed)
    }
}

/// Another file system, one without links, or one that allows no more of them.
fn cannot_link(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported
            | io::ErrorKind::CrossesDevices
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::TooManyLinks
    )
}
