//! Checksums that know where a page belongs.

use crate::crc::crc32_parts;
use crate::{FormatError, PageNo, Problem, TableId};

/// Where data and fence pages keep their checksum.
pub(crate) const CRC_OFFSET: usize = 12;
const CRC_END: usize = CRC_OFFSET + 4;

/// What a table mixes into the checksums of its pages: a page of another table, or of another
/// place in the same table, fails its check like a damaged one.
///
/// The checksum stored is `crc32(page without the field) ^ crc32(table id ++ page number)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSalt(u32);

impl TableSalt {
    /// The salt of a table.
    pub fn new(table: TableId) -> Self {
        Self(crc32fast::hash(&table.0))
    }

    /// The salt of one of its pages. No two pages of a table have the same.
    #[inline]
    pub fn page(self, page: PageNo) -> u32 {
        let mut hasher = crc32fast::Hasher::new_with_initial(self.0);
        hasher.update(&page.0.to_le_bytes());
        hasher.finalize()
    }
}

fn computed(bytes: &[u8], salt: u32) -> u32 {
    crc32_parts(&[&bytes[..CRC_OFFSET], &bytes[CRC_END..]]) ^ salt
}

/// Writes the checksum of `bytes`, which are at least a header, into its field.
pub(crate) fn put_crc(bytes: &mut [u8], salt: u32) {
    let crc = computed(bytes, salt);
    bytes[CRC_OFFSET..CRC_END].copy_from_slice(&crc.to_le_bytes());
}

/// Compares the checksum field of `bytes` with what they say.
pub(crate) fn check_crc(section: &'static str, bytes: &[u8], salt: u32) -> Result<(), FormatError> {
    let Some(field) = bytes.get(CRC_OFFSET..CRC_END) else {
        let problem = Problem::Truncated { needed: CRC_END as u64, have: bytes.len() as u64 };
        return Err(FormatError::new(section, 0, problem));
    };
    let mut stored = [0; 4];
    stored.copy_from_slice(field);
    let (stored, computed) = (u32::from_le_bytes(stored), computed(bytes, salt));
    if stored != computed {
        return Err(FormatError::new(section, 0, Problem::Checksum { stored, computed }));
    }
    Ok(())
}
