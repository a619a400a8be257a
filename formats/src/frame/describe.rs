//! Annotated dumps of files of frames.

use super::{
    DURABLE, FILE_HEADER_BYTES, FRAME_HEADER_BYTES, FileHeader, FileKind, FrameReader, HEADER_CRC, KIND,
    Next, PAYLOAD_CRC, PAYLOAD_LEN, ReadError, SALT, ZERO_SECTORS, frame_tail, u32_at,
};
use crate::FormatError;
use crate::describe::Dump;

/// Writes the fields of a file of frames; `payload` writes those of a payload, of this frame kind
/// and at this offset.
///
/// # Errors
/// What cannot be read; the fields before it are in the dump.
pub(crate) fn describe_frames(
    file: &[u8],
    kind: FileKind,
    dump: &mut Dump,
    mut payload: impl FnMut(u8, &[u8], u64, &mut Dump) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    let header = FileHeader::decode(file, kind)?;
    dump.heading(kind.name());
    header.describe(&file[..FILE_HEADER_BYTES], dump);
    // Marks judge what cannot be read; here that is shown, not judged.
    let never = u64::MAX;
    let mut reader = FrameReader::new(file, &header, FILE_HEADER_BYTES as u64, never);
    loop {
        match reader.next(never) {
            Ok(Next::Frame(frame)) => {
                let (at, payload_at) = (frame.offset as usize, frame.offset + FRAME_HEADER_BYTES as u64);
                dump.heading(format!("frame at {at}"));
                describe_header(&file[at..at + FRAME_HEADER_BYTES], frame.offset, dump);
                payload(frame.kind, frame.payload, payload_at, dump)?;
                let tail_at = payload_at as usize + frame.payload.len();
                let tail = frame_tail(frame.payload.len() as u64);
                dump.field(tail_at as u64, &file[tail_at..tail_at + tail.len()], "end byte, zeros");
            }
            Ok(Next::End(tail)) => {
                let at = reader.offset();
                dump.heading(format!("end: {tail:?}"));
                if at < file.len() as u64 {
                    dump.field(at, &file[at as usize..], "not read");
                }
                return Ok(());
            }
            Err(ReadError::Format(error)) => return Err(error),
            Err(ReadError::Io(_)) => unreachable!("bytes in memory can be read"),
        }
    }
}

fn describe_header(bytes: &[u8], base: u64, dump: &mut Dump) {
    let mut field = |from: usize, to: usize, what: String| {
        dump.field(base + from as u64, &bytes[from..to], what);
    };
    let number = |from: usize, to: usize| {
        let mut word = [0; 8];
        word[..to - from].copy_from_slice(&bytes[from..to]);
        u64::from_le_bytes(word)
    };
    field(SALT, KIND, "salt".to_owned());
    field(KIND, ZERO_SECTORS, format!("kind {}", bytes[KIND]));
    let zeros = number(ZERO_SECTORS, PAYLOAD_LEN);
    field(ZERO_SECTORS, PAYLOAD_LEN, format!("zero sectors {zeros}"));
    field(PAYLOAD_LEN, DURABLE, format!("payload length {}", number(PAYLOAD_LEN, DURABLE)));
    field(DURABLE, PAYLOAD_CRC, format!("durable mark {}", number(DURABLE, PAYLOAD_CRC)));
    field(PAYLOAD_CRC, HEADER_CRC, format!("payload CRC {:08x}", u32_at(bytes, PAYLOAD_CRC)));
    field(HEADER_CRC, FRAME_HEADER_BYTES, format!("header CRC {:08x}", u32_at(bytes, HEADER_CRC)));
}
