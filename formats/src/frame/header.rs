//! The header of a file of frames.

use super::{FILE_HEADER_BYTES, u32_at, u64_at};
use crate::crc::crc32;
use crate::describe::Dump;
use crate::{FileNo, FormatError, Problem, SeqNo, StoreId};

const MAGIC: usize = 0;
const MAJOR: usize = MAGIC + 8;
const MINOR: usize = MAJOR + 2;
const FLAGS: usize = MINOR + 2;
const STORE: usize = FLAGS + 4;
const NO: usize = STORE + 16;
const PREVIOUS: usize = NO + 8;
const PREVIOUS_LEN: usize = PREVIOUS + 8;
const FIRST_SEQ: usize = PREVIOUS_LEN + 8;
const DURABLE_SEQ: usize = FIRST_SEQ + 8;
const ZERO: usize = DURABLE_SEQ + 8;
const CRC: usize = ZERO + 4;
const _: () = assert!(CRC + 4 == FILE_HEADER_BYTES);

const MAJOR_VERSION: u16 = 1;
const MINOR_VERSION: u16 = 0;

/// Which file of frames it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A write-ahead log.
    Log,
    /// A manifest.
    Manifest,
}

impl FileKind {
    /// The magic number.
    pub const fn magic(self) -> [u8; 8] {
        match self {
            Self::Log => *b"KIBANLOG",
            Self::Manifest => *b"KIBANMAN",
        }
    }

    /// The name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Manifest => "manifest",
        }
    }

    const fn section(self) -> &'static str {
        match self {
            Self::Log => "log header",
            Self::Manifest => "manifest header",
        }
    }
}

/// The header of a file of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// Log or manifest.
    pub kind: FileKind,
    /// The store it belongs to.
    pub store_id: StoreId,
    /// Its number.
    pub no: FileNo,
    /// The log before it; 0: none.
    pub previous: FileNo,
    /// Bytes of the log before it that hold frames.
    pub previous_len: u64,
    /// Sequence of its first operation.
    pub first_seq: SeqNo,
    /// Greatest sequence that was durable when it was made.
    pub durable_seq: SeqNo,
}

impl FileHeader {
    /// The header's bytes.
    pub fn encode(&self) -> [u8; FILE_HEADER_BYTES] {
        let mut bytes = [0; FILE_HEADER_BYTES];
        bytes[MAGIC..MAJOR].copy_from_slice(&self.kind.magic());
        bytes[MAJOR..MINOR].copy_from_slice(&MAJOR_VERSION.to_le_bytes());
        bytes[MINOR..FLAGS].copy_from_slice(&MINOR_VERSION.to_le_bytes());
        bytes[STORE..NO].copy_from_slice(&self.store_id.0);
        bytes[NO..PREVIOUS].copy_from_slice(&self.no.0.to_le_bytes());
        bytes[PREVIOUS..PREVIOUS_LEN].copy_from_slice(&self.previous.0.to_le_bytes());
        bytes[PREVIOUS_LEN..FIRST_SEQ].copy_from_slice(&self.previous_len.to_le_bytes());
        bytes[FIRST_SEQ..DURABLE_SEQ].copy_from_slice(&self.first_seq.0.to_le_bytes());
        bytes[DURABLE_SEQ..ZERO].copy_from_slice(&self.durable_seq.0.to_le_bytes());
        let crc = crc32(&bytes[..CRC]);
        bytes[CRC..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Writes the header's fields; `bytes` are those it was decoded from.
    pub(super) fn describe(&self, bytes: &[u8], dump: &mut Dump) {
        let mut field =
            |from: usize, to: usize, what: String| dump.field(from as u64, &bytes[from..to], what);
        let number = |from: usize| u16::from_le_bytes([bytes[from], bytes[from + 1]]);
        field(MAGIC, MAJOR, format!("magic of a {}", self.kind.name()));
        field(MAJOR, MINOR, format!("major version {}", number(MAJOR)));
        field(MINOR, FLAGS, format!("minor version {}", number(MINOR)));
        field(FLAGS, STORE, "flags".to_owned());
        field(STORE, NO, format!("store {}", self.store_id));
        field(NO, PREVIOUS, format!("file number {}", self.no));
        field(PREVIOUS, PREVIOUS_LEN, format!("previous log {}", self.previous));
        field(PREVIOUS_LEN, FIRST_SEQ, format!("of which {} bytes count", self.previous_len));
        field(FIRST_SEQ, DURABLE_SEQ, format!("first sequence {}", self.first_seq));
        field(DURABLE_SEQ, ZERO, format!("durable sequence {}", self.durable_seq));
        field(ZERO, CRC, "zero".to_owned());
        field(CRC, FILE_HEADER_BYTES, format!("CRC {:08x}, the frames' salt", u32_at(bytes, CRC)));
    }

    /// The salt of the file's frames.
    pub fn salt(&self) -> u32 {
        u32_at(&self.encode(), CRC)
    }

    /// Reads the header from the first bytes of a file.
    ///
    /// # Errors
    /// Too short, another format, a newer version, a bad checksum, unknown flags.
    pub fn decode(bytes: &[u8], kind: FileKind) -> Result<Self, FormatError> {
        let section = kind.section();
        let fail = |offset: usize, problem| Err(FormatError::new(section, offset as u64, problem));
        if bytes.len() < FILE_HEADER_BYTES {
            let (needed, have) = (FILE_HEADER_BYTES as u64, bytes.len() as u64);
            return fail(0, Problem::Truncated { needed, have });
        }
        if bytes[MAGIC..MAJOR] != kind.magic() {
            return fail(MAGIC, Problem::Magic(kind.name()));
        }
        let (stored, computed) = (u32_at(bytes, CRC), crc32(&bytes[..CRC]));
        if stored != computed {
            return fail(CRC, Problem::Checksum { stored, computed });
        }
        let found = u16::from_le_bytes([bytes[MAJOR], bytes[MAJOR + 1]]);
        if found != MAJOR_VERSION {
            let (oldest, newest) = (MAJOR_VERSION, MAJOR_VERSION);
            return fail(MAJOR, Problem::Version { found, oldest, newest });
        }
        if u32_at(bytes, FLAGS) != 0 || u32_at(bytes, ZERO) != 0 {
            return Err(FormatError::invalid(section, FLAGS as u64, "unknown flags"));
        }
        let mut store_id = StoreId::default();
        store_id.0.copy_from_slice(&bytes[STORE..NO]);
        Ok(Self {
            kind,
            store_id,
            no: FileNo(u64_at(bytes, NO)),
            previous: FileNo(u64_at(bytes, PREVIOUS)),
            previous_len: u64_at(bytes, PREVIOUS_LEN),
            first_seq: SeqNo(u64_at(bytes, FIRST_SEQ)),
            durable_seq: SeqNo(u64_at(bytes, DURABLE_SEQ)),
        })
    }
}
