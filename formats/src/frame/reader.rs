//! Reading frames, and judging the first one that cannot be read.
//!
//! The rules, in their order, for what stands at offset `o`:
//!
//! 1. Nothing: a clean end.
//! 2. Zeros to the end of the file: space that was reserved, or an append of which nothing
//!    reached the disk. The end.
//!
//! From here on the file is taken to end behind its last byte that is no zero: behind that stands
//! reserved space, into which an append was cut short or not begun. The end byte of a frame is no
//! zero, so that cuts no whole frame.
//!
//! 3. A later frame header of this file has a durable mark that covers `o`: damage. The header
//!    has a checksum of its own, so it counts even if its frame is not whole.
//! 4. The header has the file's salt, or would be valid with it: damage, unless its part of some
//!    512-byte sector is all zeros, that is, was never written. A power cut changes no bytes, and
//!    bytes that are not ours do not begin with the salt.
//! 5. The header is valid and the frame's end byte is past the end of the file: a torn tail.
//! 6. The header is valid and payload or end are wrong: a torn tail if more sectors of the frame
//!    are zeros than the header says; else damage.
//! 7. Anything else (too few bytes for a header, or no header of ours): a torn tail.
//!
//! So one changed byte anywhere in a whole frame is found, bytes that somebody appended behind
//! the last frame are ignored, and a power cut never makes a store refuse to open. What the rules
//! cannot tell from a torn tail is damage that looks like one in the last frames of a file of
//! which no later mark says that they were durable: a whole header lost, a sector turned into
//! zeros. A log that was closed in order ends in such a mark.

use std::io;

use super::sectors::{self, SECTOR_BYTES};
use super::window::{Input, Window};
use super::{FRAME_ALIGN, FRAME_HEADER_BYTES, FileHeader, FrameHeader, SALT, frame_tail, u32_at};
use crate::crc::crc32;
use crate::{FormatError, Problem};

/// A frame that was read and whose checksums hold.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Where it begins in the file.
    pub offset: u64,
    /// Where it ends.
    pub end: u64,
    /// What the payload is.
    pub kind: u8,
    /// What was durable when it was written.
    pub durable: u64,
    /// The payload.
    pub payload: &'a [u8],
}

/// What is at the reader's place.
#[derive(Clone, Copy, Debug)]
pub enum Next<'a> {
    /// A frame.
    Frame(Frame<'a>),
    /// No more frames.
    End(Tail),
}

/// How a file of frames ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// With its last frame.
    Clean,
    /// With zeros.
    Zeros,
    /// With bytes that are no whole frame and of which nothing says that they ever were.
    Torn,
}

/// Why reading stopped.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The input failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Bytes that were once right are wrong.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// Reads the frames of a file one after the other.
#[derive(Debug)]
pub struct FrameReader<I> {
    window: Window<I>,
    section: &'static str,
    salt: u32,
    offset: u64,
    end: u64,
    torn: u64,
}

impl<I: Input> FrameReader<I> {
    /// Reads the frames of `input`, whose header was read, from `offset` up to `end`, or to the
    /// end of the input if that is less.
    pub fn new(input: I, header: &FileHeader, offset: u64, end: u64) -> Self {
        let end = end.min(input.len());
        Self {
            window: Window::new(input),
            section: header.kind.name(),
            salt: header.salt(),
            offset,
            end,
            torn: 0,
        }
    }

    /// Where the next frame begins: the end of the frames read so far.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes from this place to the last that is no zero, once this was found to be a
    /// [torn](Tail::Torn) tail.
    pub fn torn_bytes(&self) -> u64 {
        self.torn
    }

    /// The next frame. `lost` is the least durable mark that covers the frame at this place: in a
    /// log the sequence it should begin with, in a manifest its offset + 1.
    ///
    /// # Errors
    /// Damage, or the input's failure. The place does not move.
    pub fn next(&mut self, lost: u64) -> Result<Next<'_>, ReadError> {
        let start = self.offset;
        let Some(header) = self.header_at(start)? else {
            return self.judge(lost).map(Next::End);
        };
        let whole = match self.end_of(start, &header) {
            Some(end) if self.is_whole(start, &header)? => Some(end),
            _ => None,
        };
        let Some(end) = whole else {
            return self.judge(lost).map(Next::End);
        };
        self.offset = end;
        let payload = self.window.get(start + FRAME_HEADER_BYTES as u64, header.payload_len)?;
        Ok(Next::Frame(Frame { offset: start, end, kind: header.kind, durable: header.durable, payload }))
    }

    /// Whether some frame at or after this place says that `lost` was durable.
    ///
    /// # Errors
    /// The input's failure.
    pub fn proves(&mut self, lost: u64) -> Result<bool, ReadError> {
        let mut at = self.offset;
        while at + FRAME_HEADER_BYTES as u64 <= self.end {
            let Some(header) = self.header_at(at)? else {
                at += FRAME_ALIGN;
                continue;
            };
            if header.durable >= lost {
                return Ok(true);
            }
            // What looks like a frame inside a payload is none.
            at = self.end_of(at, &header).unwrap_or(at + FRAME_ALIGN);
        }
        Ok(false)
    }

    fn judge(&mut self, lost: u64) -> Result<Tail, ReadError> {
        let start = self.offset;
        if start >= self.end {
            return Ok(Tail::Clean);
        }
        let Some(last) = self.last_nonzero(start, self.end)? else {
            return Ok(Tail::Zeros);
        };
        let written = last + 1;
        self.torn = written - start;
        if self.proves(lost)? {
            return Err(self.damage("a later frame says that this one was durable"));
        }
        let Some(header) = self.header_at(start)? else {
            let is_cut = written < start + FRAME_HEADER_BYTES as u64;
            return if !is_cut && self.is_damaged_header(start)? {
                Err(self.damage("a frame's header was changed"))
            } else {
                Ok(Tail::Torn)
            };
        };
        // A header may give any length.
        let end_byte = (start + FRAME_HEADER_BYTES as u64).saturating_add(header.payload_len);
        match self.end_of(start, &header).filter(|_| end_byte < written) {
            None => Ok(Tail::Torn),
            Some(end) if sectors::some_were_dropped(self.zero_sectors(start, end)?, header.zero_sectors) => {
                Ok(Tail::Torn)
            }
            Some(_) => {
                let payload = self.window.get(start + FRAME_HEADER_BYTES as u64, header.payload_len)?;
                let (stored, computed) = (header.payload_crc, crc32(payload));
                let problem = if stored == computed {
                    Problem::Invalid("a frame's end has a changed byte".into())
                } else {
                    Problem::Checksum { stored, computed }
                };
                Err(FormatError::new(self.section, start, problem).into())
            }
        }
    }

    fn damage(&self, what: &'static str) -> ReadError {
        FormatError::invalid(self.section, self.offset, what).into()
    }

    fn header_bytes(&mut self, at: u64) -> io::Result<Option<[u8; FRAME_HEADER_BYTES]>> {
        if at + FRAME_HEADER_BYTES as u64 > self.end {
            return Ok(None);
        }
        let mut bytes = [0; FRAME_HEADER_BYTES];
        bytes.copy_from_slice(self.window.get(at, FRAME_HEADER_BYTES as u64)?);
        Ok(Some(bytes))
    }

    fn header_at(&mut self, at: u64) -> io::Result<Option<FrameHeader>> {
        Ok(self.header_bytes(at)?.and_then(|bytes| FrameHeader::decode(&bytes, self.salt)))
    }

    /// Where the frame ends, if that is inside the file.
    fn end_of(&self, start: u64, header: &FrameHeader) -> Option<u64> {
        let end = start.checked_add(header.frame_len()?)?;
        (end <= self.end).then_some(end)
    }

    /// Whether payload and end are right. The frame lies inside the file.
    fn is_whole(&mut self, start: u64, header: &FrameHeader) -> io::Result<bool> {
        let tail = frame_tail(header.payload_len);
        let body =
            self.window.get(start + FRAME_HEADER_BYTES as u64, header.payload_len + tail.len() as u64)?;
        let (payload, end) = body.split_at(body.len() - tail.len());
        Ok(end == tail && crc32(payload) == header.payload_crc)
    }

    /// Where the last byte of `from..to` stands that is no zero.
    fn last_nonzero(&mut self, mut from: u64, to: u64) -> io::Result<Option<u64>> {
        let mut last = None;
        while from < to {
            let len = (to - from).min(SECTOR_BYTES * 8);
            let place = self.window.get(from, len)?.iter().rposition(|byte| *byte != 0);
            last = place.map(|place| from + place as u64).or(last);
            from += len;
        }
        Ok(last)
    }

    /// In how many sectors the bytes `from..to` have only zeros.
    fn zero_sectors(&mut self, mut from: u64, to: u64) -> io::Result<u64> {
        let mut count = 0;
        while from < to {
            let end = (from / SECTOR_BYTES + 1).saturating_mul(SECTOR_BYTES).min(to);
            count += u64::from(self.last_nonzero(from, end)?.is_none());
            from = end;
        }
        Ok(count)
    }

    /// Whether what is no valid header at this place was one.
    fn is_damaged_header(&mut self, at: u64) -> io::Result<bool> {
        let Some(mut bytes) = self.header_bytes(at)? else { return Ok(false) };
        let is_ours = u32_at(&bytes, SALT) == self.salt || {
            bytes[..size_of::<u32>()].copy_from_slice(&self.salt.to_le_bytes());
            FrameHeader::decode(&bytes, self.salt).is_some()
        };
        Ok(is_ours && self.zero_sectors(at, at + FRAME_HEADER_BYTES as u64)? == 0)
    }
}
