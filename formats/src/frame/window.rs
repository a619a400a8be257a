//! A moving window over a file, so that reading a long one takes little memory.

use std::io;

/// Where bytes come from. Formats do no I/O of their own.
pub trait Input {
    /// Length in bytes.
    fn len(&self) -> u64;
    /// Whether there is no byte.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Fills `buf` from `offset`; the caller stays inside the length.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;
}

impl Input for [u8] {
    fn len(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let from = usize::try_from(offset).ok().and_then(|start| self.get(start..)?.get(..buf.len()));
        buf.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

impl<I: Input + ?Sized> Input for &I {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        (**self).read_at(buf, offset)
    }
}

/// Bytes read at once.
const WINDOW_BYTES: u64 = 256 << 10;

/// The bytes of an input from some offset on.
#[derive(Debug)]
pub(super) struct Window<I> {
    input: I,
    bytes: Vec<u8>,
    start: u64,
}

impl<I: Input> Window<I> {
    pub(super) fn new(input: I) -> Self {
        Self { input, bytes: Vec::new(), start: 0 }
    }

    /// The bytes `offset..offset + len`, which lie inside the input.
    pub(super) fn get(&mut self, offset: u64, len: u64) -> io::Result<&[u8]> {
        let inside = offset >= self.start && offset + len <= self.start + self.bytes.len() as u64;
        if !inside {
            let wanted = len.max(WINDOW_BYTES).min(self.input.len() - offset);
            let wanted = usize::try_from(wanted).map_err(|_| io::ErrorKind::OutOfMemory)?;
            // A long frame's buffer is not kept for the short ones after it.
            if self.bytes.capacity() > wanted.max(WINDOW_BYTES as usize) {
                self.bytes = Vec::new();
            }
            self.bytes.clear();
            self.bytes.try_reserve_exact(wanted).map_err(|_| io::ErrorKind::OutOfMemory)?;
            self.bytes.resize(wanted, 0);
            self.start = offset;
            if let Err(error) = self.input.read_at(&mut self.bytes, offset) {
                self.bytes.clear();
                return Err(error);
            }
        }
        let start = (offset - self.start) as usize;
        Ok(&self.bytes[start..start + len as usize])
    }
}
