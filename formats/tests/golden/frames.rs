//! Files of frames, as the engine writes and reads them.

use kiban_formats::FormatError;
use kiban_formats::frame::{
    FILE_HEADER_BYTES, FileHeader, FileKind, FrameHeader, FrameReader, Next, ReadError, frame_tail,
};

/// A file of frames: kind, durable mark, payload.
pub(crate) fn frames(header: &FileHeader, frames: &[(u8, u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = header.encode().to_vec();
    for (kind, durable, payload) in frames {
        let frame = FrameHeader::new(*kind, *durable, file.len() as u64, &[payload]);
        file.extend_from_slice(&frame.encode(header.salt()));
        file.extend_from_slice(payload);
        file.extend_from_slice(frame_tail(payload.len() as u64));
    }
    file
}

/// The payloads of all frames, with their kinds.
pub(crate) fn read_frames(file: &[u8], kind: FileKind) -> Result<Vec<(u8, Vec<u8>)>, FormatError> {
    let header = FileHeader::decode(file, kind)?;
    let mut reader = FrameReader::new(file, &header, FILE_HEADER_BYTES as u64, u64::MAX);
    let mut read = Vec::new();
    loop {
        match reader.next(u64::MAX) {
            Ok(Next::Frame(frame)) => read.push((frame.kind, frame.payload.to_vec())),
            Ok(Next::End(_)) => return Ok(read),
            Err(ReadError::Format(error)) => return Err(error),
            Err(ReadError::Io(error)) => panic!("{error}"),
        }
    }
}
