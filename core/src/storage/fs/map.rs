//! A file in the address space.
//!
//! The only unsafe code of the storage seam is the one call below that maps a file.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::Arc;

use memmap2::{Advice, Mmap, MmapOptions};

use crate::storage::Map;

/// The first bytes of a file, mapped read-only.
pub(crate) struct FileMap(Mmap);

impl FileMap {
    /// Maps the first `len` bytes of `file`; `UnexpectedEof` if it is shorter. Touching a page
    /// that lies past the end of a file is a signal, so the length is checked here, once. Read at
    /// random: a page fault reads one page.
    pub(crate) fn map(file: &File, len: u64, is_read_at_random: bool) -> io::Result<Arc<dyn Map>> {
        if len > file.metadata()?.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let map_bytes = usize::try_from(len).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        // SAFETY: The slice that comes of this must not change while it is borrowed. Files of a
        // store are append-only while they are written and never written again after; the
        // directory lock keeps other stores out; `len` was checked to lie inside the file, and
        // nobody of ours shortens one. Somebody else who does so behind our back is the limit
        // that `mmap_max_level` documents (SIGBUS); damaged bytes are caught by checksums and
        // are plain `u8`, of which every bit pattern is valid.
        let map = unsafe { MmapOptions::new().len(map_bytes).map(file) }?;
        if is_read_at_random {
            // Without it page faults read more than they need.
            let _ = map.advise(Advice::Random);
        }
        Ok(Arc::new(Self(map)))
    }
}

impl Deref for FileMap {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for FileMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileMap({} bytes)", self.0.len())
    }
}

impl Map for FileMap {}
