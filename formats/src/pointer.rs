//! The pointer file `CURRENT`: which manifest is the store's.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic `KIBANCUR` |
//! | 8 | 2 | store format version |
//! | 10 | 6 | zero |
//! | 16 | 16 | store id |
//! | 32 | 8 | number of the manifest |
//! | 40 | 20 | zero |
//! | 60 | 4 | CRC-32 of the 60 bytes before |

use crate::crc::crc32;
use crate::describe::Dump;
use crate::fields::Fields;
use crate::manifest::STORE_VERSION;
use crate::{FileNo, FormatError, Problem, StoreId};

/// Bytes of the pointer file.
pub const POINTER_BYTES: usize = 64;

const MAGIC: [u8; 8] = *b"KIBANCUR";
const SECTION: &str = "pointer";
const VERSION: usize = 8;
const STORE: usize = VERSION + 8;
const MANIFEST: usize = STORE + 16;
const ZERO: usize = MANIFEST + 8;
const CRC: usize = POINTER_BYTES - 4;
const _: () = assert!(ZERO + 20 == CRC);

/// The pointer file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The store.
    pub store_id: StoreId,
    /// Its manifest.
    pub manifest: FileNo,
}

impl Pointer {
    /// The file's bytes.
    pub fn encode(&self) -> [u8; POINTER_BYTES] {
        let mut bytes = [0; POINTER_BYTES];
        bytes[..VERSION].copy_from_slice(&MAGIC);
        bytes[VERSION..VERSION + 2].copy_from_slice(&STORE_VERSION.to_le_bytes());
        bytes[STORE..MANIFEST].copy_from_slice(&self.store_id.0);
        bytes[MANIFEST..ZERO].copy_from_slice(&self.manifest.0.to_le_bytes());
        let crc = crc32(&bytes[..CRC]);
        bytes[CRC..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads the file's bytes.
    ///
    /// # Errors
    /// Another length, another format, a bad checksum, a newer store format.
    pub fn decode(bytes: &[u8]) -> Result<Self, FormatError> {
        let fail = |offset, problem| Err(FormatError::new(SECTION, offset, problem));
        if bytes.len() != POINTER_BYTES {
            return fail(0, Problem::Truncated { needed: POINTER_BYTES as u64, have: bytes.len() as u64 });
        }
        let mut fields = Fields::new(SECTION, bytes);
        if fields.array::<8>()? != MAGIC {
            return fail(0, Problem::Magic("pointer file"));
        }
        let found = fields.u16()?;
        fields.bytes(6)?;
        let store_id = StoreId(fields.array()?);
        let manifest = FileNo(fields.u64()?);
        fields.bytes(20)?;
        let (stored, computed) = (fields.u32()?, crc32(&bytes[..CRC]));
        if stored != computed {
            return fail(CRC as u64, Problem::Checksum { stored, computed });
        }
        if found != STORE_VERSION {
            return fail(
                VERSION as u64,
                Problem::Version { found, oldest: STORE_VERSION, newest: STORE_VERSION },
            );
        }
        Ok(Self { store_id, manifest })
    }
}

/// Writes the fields of a pointer file.
///
/// # Errors
/// What does not decode.
pub fn describe_pointer(bytes: &[u8], dump: &mut Dump) -> Result<(), FormatError> {
    let pointer = Pointer::decode(bytes)?;
    dump.heading("pointer");
    let mut field = |from: usize, to: usize, what: String| dump.field(from as u64, &bytes[from..to], what);
    field(0, VERSION, "magic of a pointer file".to_owned());
    field(VERSION, VERSION + 2, format!("store format version {STORE_VERSION}"));
    field(VERSION + 2, STORE, "zero".to_owned());
    field(STORE, MANIFEST, format!("store {}", pointer.store_id));
    field(MANIFEST, ZERO, format!("manifest {}", pointer.manifest));
    field(ZERO, CRC, "zero".to_owned());
    field(CRC, POINTER_BYTES, "CRC".to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer() -> Pointer {
        Pointer { store_id: StoreId(*b"0123456789abcdef"), manifest: FileNo(7) }
    }

    #[test]
    fn it_comes_back() {
        assert_eq!(Pointer::decode(&pointer().encode()), Ok(pointer()));
    }

    #[test]
    fn every_changed_bit_and_every_cut_is_refused() {
        let bytes = pointer().encode();
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(Pointer::decode(&changed).is_err(), "bit {bit}");
        }
        for cut in 0..bytes.len() {
            assert!(Pointer::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }

    #[test]
    fn a_newer_store_is_refused_by_version() {
        let mut bytes = pointer().encode();
        bytes[8] = 9;
        let crc = crc32(&bytes[..CRC]);
        bytes[CRC..].copy_from_slice(&crc.to_le_bytes());
        let problem = Pointer::decode(&bytes).unwrap_err().problem;
        assert_eq!(problem, Problem::Version { found: 9, oldest: 1, newest: 1 });
    }
}
