//! The one record framing, shared by log and manifest, and how its end is judged.
//!
//! A file is a header, then frames, each at a multiple of 8 bytes:
//!
//! | header offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic: `KIBANLOG` or `KIBANMAN` |
//! | 8 | 2 | major version |
//! | 10 | 2 | minor version |
//! | 12 | 4 | flags, none known: others are refused |
//! | 16 | 16 | store id |
//! | 32 | 8 | this file's number |
//! | 40 | 8 | number of the log before, 0: none |
//! | 48 | 8 | bytes of the log before that hold frames; what follows there is never read again |
//! | 56 | 8 | sequence of the first operation |
//! | 64 | 8 | greatest sequence that was durable when the file was made |
//! | 72 | 4 | zero |
//! | 76 | 4 | CRC-32 of the 76 bytes before; also the salt of the file's frames |
//!
//! | frame offset | bytes | what |
//! |---|---|---|
//! | 0 | 4 | salt: a frame of another file is never taken for one of this |
//! | 4 | 1 | kind |
//! | 5 | 3 | how many 512-byte sectors of the file the payload fills with zeros, at most 2^24 - 1 |
//! | 8 | 8 | payload length n |
//! | 16 | 8 | durable mark |
//! | 24 | 4 | CRC-32 of the payload |
//! | 28 | 4 | CRC-32 of the 28 bytes before |
//! | 32 | n | payload |
//! | 32 + n | 1 | end byte `A5` |
//! | 33 + n | 0-7 | zero, up to a multiple of 8 |
//!
//! # Durable marks
//!
//! A frame says what was known to be durable when it was written: in a log the greatest
//! sequence, in a manifest the file length. A mark proves that what stands before it was once
//! whole on the disk. So a bad frame is *damage* if a later mark covers it; without such a mark
//! it may be what a power cut leaves of an append that was never synced, and then it is a *torn
//! tail*: history ends there. The rules stand in `reader.rs`.

mod describe;
mod header;
mod reader;
mod sectors;
mod window;

pub(crate) use describe::describe_frames;
pub use header::{FileHeader, FileKind};
pub use reader::{Frame, FrameReader, Next, ReadError, Tail};
pub use window::Input;

use crate::crc::{crc32, crc32_parts};

/// Bytes of a file's header.
pub const FILE_HEADER_BYTES: usize = 80;
/// Bytes of a frame's header.
pub const FRAME_HEADER_BYTES: usize = 32;
/// Frames begin at multiples of this.
pub const FRAME_ALIGN: u64 = 8;

const SALT: usize = 0;
const KIND: usize = SALT + 4;
const ZERO_SECTORS: usize = KIND + 1;
const PAYLOAD_LEN: usize = ZERO_SECTORS + 3;
const DURABLE: usize = PAYLOAD_LEN + 8;
const PAYLOAD_CRC: usize = DURABLE + 8;
const HEADER_CRC: usize = PAYLOAD_CRC + 4;
const _: () = assert!(HEADER_CRC + 4 == FRAME_HEADER_BYTES);
const _: () = assert!((FILE_HEADER_BYTES as u64).is_multiple_of(FRAME_ALIGN));

/// The most zero sectors that a header can tell.
const ZERO_SECTORS_MAX: u64 = (1 << 24) - 1;

/// The end byte and the padding: as much of it as makes the frame a multiple of 8.
const TAIL: [u8; 8] = [0xA5, 0, 0, 0, 0, 0, 0, 0];

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// What the payload is; the file's format gives the meaning.
    pub kind: u8,
    /// Bytes of the payload.
    pub payload_len: u64,
    /// What was durable when the frame was written.
    pub durable: u64,
    /// CRC-32 of the payload.
    pub payload_crc: u32,
    /// Sectors of the file that the payload fills with zeros, at most 2^24 - 1.
    pub zero_sectors: u32,
}

impl FrameHeader {
    /// The header of a frame that will begin at `offset`, with a payload in parts.
    pub fn new(kind: u8, durable: u64, offset: u64, payload: &[&[u8]]) -> Self {
        let payload_len = payload.iter().copied().map(<[u8]>::len).sum::<usize>() as u64;
        let zero_sectors = sectors::zero_in_payload(offset + FRAME_HEADER_BYTES as u64, payload);
        let zero_sectors = zero_sectors.min(ZERO_SECTORS_MAX) as u32;
        Self { kind, payload_len, durable, payload_crc: crc32_parts(payload), zero_sectors }
    }

    /// The header's bytes in a file with this salt.
    pub fn encode(&self, salt: u32) -> [u8; FRAME_HEADER_BYTES] {
        let mut bytes = [0; FRAME_HEADER_BYTES];
        bytes[SALT..KIND].copy_from_slice(&salt.to_le_bytes());
        bytes[KIND] = self.kind;
        bytes[ZERO_SECTORS..PAYLOAD_LEN].copy_from_slice(&self.zero_sectors.to_le_bytes()[..3]);
        bytes[PAYLOAD_LEN..DURABLE].copy_from_slice(&self.payload_len.to_le_bytes());
        bytes[DURABLE..PAYLOAD_CRC].copy_from_slice(&self.durable.to_le_bytes());
        bytes[PAYLOAD_CRC..HEADER_CRC].copy_from_slice(&self.payload_crc.to_le_bytes());
        let crc = crc32(&bytes[..HEADER_CRC]);
        bytes[HEADER_CRC..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The header, if these bytes are one of a file with this salt.
    pub fn decode(bytes: &[u8; FRAME_HEADER_BYTES], salt: u32) -> Option<Self> {
        if u32_at(bytes, SALT) != salt || u32_at(bytes, HEADER_CRC) != crc32(&bytes[..HEADER_CRC]) {
            return None;
        }
        let [low, middle, high] = [0, 1, 2].map(|place| bytes[ZERO_SECTORS + place]);
        Some(Self {
            kind: bytes[KIND],
            payload_len: u64_at(bytes, PAYLOAD_LEN),
            durable: u64_at(bytes, DURABLE),
            payload_crc: u32_at(bytes, PAYLOAD_CRC),
            zero_sectors: u32::from_le_bytes([low, middle, high, 0]),
        })
    }

    /// Bytes of the whole frame, or `None` if that is more than a file can hold.
    pub fn frame_len(&self) -> Option<u64> {
        let used = self.payload_len.checked_add(FRAME_HEADER_BYTES as u64 + 1)?;
        used.checked_next_multiple_of(FRAME_ALIGN)
    }
}

/// What follows a payload of this length: the end byte and the padding.
pub fn frame_tail(payload_len: u64) -> &'static [u8] {
    let used = payload_len % FRAME_ALIGN + 1;
    &TAIL[..(FRAME_ALIGN - used + 1) as usize]
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_le_bytes(word)
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests;
