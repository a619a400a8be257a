//! The footer: the last 256 bytes of a table file. It says where everything is.
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 16 | store id |
//! | 16 | 16 | table id |
//! | 32 | 8 | hash seed of the store |
//! | 40 | 8 | bytes of the file |
//! | 48 | 4 | page bytes |
//! | 52 | 1 | alignment unit of entries |
//! | 53 | 1 | encoding: 0 paged; 1 is reserved for packed |
//! | 54 | 2 | required flags: a reader refuses those it does not know; none yet |
//! | 56 | 4 | 4 KiB units of data pages, from the start of the file |
//! | 60 | 4 | 4 KiB units of fence pages, right behind |
//! | 64 | 5 x 32 | section directory |
//! | 224 | 8 | base sequence: 0, or that of an ingested table |
//! | 232 | 4 | keyspace that the table was written for |
//! | 236 | 4 | zero |
//! | 240 | 2 | major version |
//! | 242 | 2 | minor version |
//! | 244 | 4 | CRC-32 of the 244 bytes before |
//! | 248 | 8 | magic `KIBANSST` |
//!
//! The entries of an ingested table are stored with sequence 0, because they are written before
//! they are committed. Their sequence is the one that log and manifest give the table; the base
//! sequence is the least that it can be.
//!
//! Where version, checksum and magic are does not change with the version. A section of the
//! directory; unused places at its end are zero:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 2 | kind: 1 filter, 2 top tier, 3 properties |
//! | 2 | 2 | flags; bit 0: a reader that does not know the kind skips it |
//! | 4 | 4 | CRC-32 of the section |
//! | 8 | 8 | offset in the file |
//! | 16 | 8 | bytes |
//! | 24 | 8 | zero |
//!
//! The parts of the file follow each other without a gap: data pages, fence pages, the sections
//! in the order of the directory, the footer.

use crate::crc::crc32;
use crate::describe::Dump;
use crate::fields::Fields;
use crate::page::PageShape;
use crate::{FormatError, KeyspaceId, Problem, SeqNo, StoreId, TableId, UNIT_BYTES};

/// Bytes of the footer.
pub const FOOTER_BYTES: usize = FIELD_MAGIC + 8;
/// The newest major version of table files that this build reads and writes.
pub const TABLE_MAJOR: u16 = 1;
/// Sections that a directory has room for.
pub const SECTIONS_MAX: usize = 5;

const TABLE_MINOR: u16 = 0;
const OLDEST_MAJOR: u16 = 1;
const MAGIC: [u8; 8] = *b"KIBANSST";
const SECTION: &str = "footer";
const ENCODING_PAGED: u8 = 0;
const ENCODING_PACKED: u8 = 1;

const FIELD_TABLE: usize = 16;
const FIELD_SEED: usize = FIELD_TABLE + 16;
const FIELD_FILE: usize = FIELD_SEED + 8;
const FIELD_PAGE: usize = FIELD_FILE + 8;
const FIELD_ALIGN: usize = FIELD_PAGE + 4;
const FIELD_ENCODING: usize = FIELD_ALIGN + 1;
const FIELD_FLAGS: usize = FIELD_ENCODING + 1;
const FIELD_DATA: usize = FIELD_FLAGS + 2;
const FIELD_FENCES: usize = FIELD_DATA + 4;
const FIELD_SECTIONS: usize = FIELD_FENCES + 4;
const SECTION_BYTES: usize = 32;
const FIELD_BASE: usize = FIELD_SECTIONS + SECTION_BYTES * SECTIONS_MAX;
const FIELD_KEYSPACE: usize = FIELD_BASE + 8;
const FIELD_ZERO: usize = FIELD_KEYSPACE + 4;
const FIELD_MAJOR: usize = FIELD_ZERO + 4;
const FIELD_CRC: usize = FIELD_MAJOR + 4;
const FIELD_MAGIC: usize = FIELD_CRC + 4;
const _: () = assert!(FIELD_SECTIONS == 64 && FIELD_MAJOR == 240 && FOOTER_BYTES == 256);

/// What a section is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum SectionKind {
    /// [`crate::filter`].
    Filter = 1,
    /// The [top tier](crate::fence) of the fences.
    TopTier = 2,
    /// [`crate::properties`].
    Properties = 3,
}

/// Flag: a reader that does not know the section skips it.
const OPTIONAL: u16 = 1;

/// A section of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Where it starts in the file.
    pub offset: u64,
    /// Its bytes.
    pub len: u64,
    /// Its CRC-32.
    pub crc: u32,
}

impl Section {
    /// Compares the section's checksum with its bytes.
    ///
    /// # Errors
    /// Another checksum or another length.
    pub fn check(&self, name: &'static str, bytes: &[u8]) -> Result<(), FormatError> {
        let computed = crc32(bytes);
        if bytes.len() as u64 != self.len || computed != self.crc {
            return Err(FormatError::new(
                name,
                self.offset,
                Problem::Checksum { stored: self.crc, computed },
            ));
        }
        Ok(())
    }
}

/// A table file's footer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footer {
    /// The store.
    pub store_id: StoreId,
    /// The table.
    pub table_id: TableId,
    /// The store's hash seed.
    pub hash_seed: u64,
    /// Bytes of the whole file.
    pub file_bytes: u64,
    /// Page size and alignment unit.
    pub shape: PageShape,
    /// 4 KiB units of data pages.
    pub data_units: u32,
    /// 4 KiB units of fence pages.
    pub fence_units: u32,
    /// The filter; of no bytes where there is none.
    pub filter: Section,
    /// The top tier.
    pub top_tier: Section,
    /// The properties.
    pub properties: Section,
    /// Not 0: the table was ingested. Its entries are stored with sequence 0 and have the one that
    /// log and manifest give the table, which is not less than this.
    pub base_seq: SeqNo,
    /// The keyspace. A table never moves to another one.
    pub keyspace: KeyspaceId,
}

impl Footer {
    /// Where the sections start.
    pub fn sections_start(&self) -> u64 {
        (u64::from(self.data_units) + u64::from(self.fence_units)) * UNIT_BYTES as u64
    }

    /// The footer's bytes.
    pub fn encode(&self) -> [u8; FOOTER_BYTES] {
        let mut out = Vec::with_capacity(FOOTER_BYTES);
        out.extend_from_slice(&self.store_id.0);
        out.extend_from_slice(&self.table_id.0);
        out.extend_from_slice(&self.hash_seed.to_le_bytes());
        out.extend_from_slice(&self.file_bytes.to_le_bytes());
        out.extend_from_slice(&(self.shape.page_bytes() as u32).to_le_bytes());
        out.push(self.shape.align() as u8);
        out.push(ENCODING_PAGED);
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.data_units.to_le_bytes());
        out.extend_from_slice(&self.fence_units.to_le_bytes());
        let sections = [
            (SectionKind::Filter, self.filter),
            (SectionKind::TopTier, self.top_tier),
            (SectionKind::Properties, self.properties),
        ];
        for (kind, section) in sections {
            let flags = if kind == SectionKind::Filter { OPTIONAL } else { 0 };
            out.extend_from_slice(&(kind as u16).to_le_bytes());
            out.extend_from_slice(&flags.to_le_bytes());
            out.extend_from_slice(&section.crc.to_le_bytes());
            out.extend_from_slice(&section.offset.to_le_bytes());
            out.extend_from_slice(&section.len.to_le_bytes());
            out.extend_from_slice(&[0; 8]);
        }
        out.resize(FIELD_BASE, 0);
        out.extend_from_slice(&self.base_seq.0.to_le_bytes());
        out.extend_from_slice(&self.keyspace.0.to_le_bytes());
        out.resize(FIELD_MAJOR, 0);
        out.extend_from_slice(&TABLE_MAJOR.to_le_bytes());
        out.extend_from_slice(&TABLE_MINOR.to_le_bytes());
        let crc = crc32(&out);
        out.extend_from_slice(&crc.to_le_bytes());
        out.extend_from_slice(&MAGIC);
        let mut bytes = [0; FOOTER_BYTES];
        bytes.copy_from_slice(&out);
        bytes
    }

    /// Reads the last bytes of a file of `file_bytes` bytes.
    ///
    /// # Errors
    /// No table file, a bad checksum, a newer version, flags, sections or an encoding that this
    /// build does not know, a file of another length, parts that do not follow each other.
    /// Offsets count from the start of the file.
    pub fn decode(bytes: &[u8], file_bytes: u64) -> Result<Self, FormatError> {
        let base = file_bytes.saturating_sub(FOOTER_BYTES as u64);
        Self::decode_at_zero(bytes, file_bytes).map_err(|error| error.moved_by(base))
    }

    fn decode_at_zero(bytes: &[u8], file_bytes: u64) -> Result<Self, FormatError> {
        if bytes.len() != FOOTER_BYTES || file_bytes < FOOTER_BYTES as u64 {
            let have = (bytes.len() as u64).min(file_bytes);
            return fail(0, Problem::Truncated { needed: FOOTER_BYTES as u64, have });
        }
        check_seal(bytes)?;
        let mut fields = Fields::new(SECTION, bytes);
        let store_id = StoreId(fields.array()?);
        let table_id = TableId(fields.array()?);
        let hash_seed = fields.u64()?;
        let stored_bytes = fields.u64()?;
        if stored_bytes != file_bytes {
            return fail(FIELD_FILE, Problem::Truncated { needed: stored_bytes, have: file_bytes });
        }
        let (page_bytes, align) = (fields.u32()?, fields.u8()?);
        match fields.u8()? {
            ENCODING_PAGED => {}
            ENCODING_PACKED => {
                return invalid(FIELD_ENCODING, "encoding 1 (packed), which this build does not read");
            }
            other => return invalid(FIELD_ENCODING, format!("unknown encoding {other}")),
        }
        let shape = PageShape::new(page_bytes, align);
        let Some(shape) = shape else {
            return invalid(
                FIELD_PAGE,
                format!("pages of {page_bytes} bytes, entries at multiples of {align}"),
            );
        };
        let flags = fields.u16()?;
        if flags != 0 {
            return invalid(FIELD_FLAGS, format!("unknown required flags {flags:#06x}"));
        }
        let (data_units, fence_units) = (fields.u32()?, fields.u32()?);
        if data_units == 0
            || fence_units == 0
            || u64::from(data_units) + u64::from(fence_units) >= u32::MAX.into()
        {
            return invalid(FIELD_DATA, format!("{data_units} units of data and {fence_units} of fences"));
        }
        let mut footer = Self {
            store_id,
            table_id,
            hash_seed,
            file_bytes,
            shape,
            data_units,
            fence_units,
            filter: Section::default(),
            top_tier: Section::default(),
            properties: Section::default(),
            base_seq: SeqNo(0),
            keyspace: KeyspaceId(0),
        };
        footer.take_sections(&mut fields, file_bytes - FOOTER_BYTES as u64)?;
        footer.base_seq = SeqNo(fields.u64()?);
        if footer.base_seq > SeqNo::MAX {
            return invalid(FIELD_BASE, "a base sequence above 2^56 - 1");
        }
        footer.keyspace = KeyspaceId(fields.u32()?);
        Ok(footer)
    }

    /// Reads the directory; the sections fill the file up to `end`.
    fn take_sections(&mut self, fields: &mut Fields<'_>, end: u64) -> Result<(), FormatError> {
        let mut at = self.sections_start();
        let mut seen = [false; 4];
        let mut unused = false;
        for _ in 0..SECTIONS_MAX {
            let place = fields.offset() as usize;
            let (kind, flags, crc) = (fields.u16()?, fields.u16()?, fields.u32()?);
            let section = Section { offset: fields.u64()?, len: fields.u64()?, crc };
            let zero = fields.u64()?;
            if kind == 0 {
                if (flags, zero, section) != (0, 0, Section::default()) {
                    return invalid(place, "an unused place of the directory that is not zero");
                }
                unused = true;
                continue;
            }
            let next = section.offset.checked_add(section.len).filter(|next| *next <= end);
            let (true, Some(next), false, 0) = (section.offset == at, next, unused, zero) else {
                let what =
                    format!("section {kind} at {}, {} bytes; expected at {at}", section.offset, section.len);
                return invalid(place, what);
            };
            at = next;
            let known = match kind {
                1 => &mut self.filter,
                2 => &mut self.top_tier,
                3 => &mut self.properties,
                _ if flags & OPTIONAL != 0 => continue,
                _ => return invalid(place, format!("unknown section {kind}, which may not be skipped")),
            };
            if std::mem::replace(&mut seen[usize::from(kind)], true) {
                return invalid(place, format!("section {kind} twice"));
            }
            *known = section;
        }
        if at != end || !seen[2] || !seen[3] {
            return invalid(FIELD_SECTIONS, "sections missing, or bytes that belong to none");
        }
        Ok(())
    }
}

/// Magic, checksum, version.
fn check_seal(bytes: &[u8]) -> Result<(), FormatError> {
    if bytes[FIELD_MAGIC..] != MAGIC {
        return fail(FIELD_MAGIC, Problem::Magic("table file"));
    }
    let mut seal = Fields::new(SECTION, &bytes[FIELD_MAJOR..]);
    let (major, _minor, stored) = (seal.u16()?, seal.u16()?, seal.u32()?);
    let computed = crc32(&bytes[..FIELD_CRC]);
    if stored != computed {
        return fail(FIELD_CRC, Problem::Checksum { stored, computed });
    }
    if !(OLDEST_MAJOR..=TABLE_MAJOR).contains(&major) {
        let problem = Problem::Version { found: major, oldest: OLDEST_MAJOR, newest: TABLE_MAJOR };
        return fail(FIELD_MAJOR, problem);
    }
    Ok(())
}

fn fail<T>(offset: usize, problem: Problem) -> Result<T, FormatError> {
    Err(FormatError::new(SECTION, offset as u64, problem))
}

fn invalid<T>(offset: usize, what: impl Into<std::borrow::Cow<'static, str>>) -> Result<T, FormatError> {
    Err(FormatError::invalid(SECTION, offset as u64, what))
}

/// Writes a footer's fields.
///
/// # Errors
/// What does not decode.
pub fn describe_footer(bytes: &[u8], file_bytes: u64, dump: &mut Dump) -> Result<(), FormatError> {
    let footer = Footer::decode(bytes, file_bytes)?;
    let base = file_bytes - FOOTER_BYTES as u64;
    let mut field =
        |from: usize, to: usize, what: String| dump.field(base + from as u64, &bytes[from..to], what);
    field(0, FIELD_TABLE, format!("store {}", footer.store_id));
    field(FIELD_TABLE, FIELD_SEED, format!("table {}", footer.table_id));
    field(FIELD_SEED, FIELD_FILE, "hash seed".to_owned());
    field(FIELD_FILE, FIELD_PAGE, format!("{file_bytes} bytes in the file"));
    field(FIELD_PAGE, FIELD_ALIGN, format!("pages of {} bytes", footer.shape.page_bytes()));
    field(FIELD_ALIGN, FIELD_ENCODING, format!("entries at multiples of {}", footer.shape.align()));
    field(FIELD_ENCODING, FIELD_FLAGS, "encoding 0, paged".to_owned());
    field(FIELD_FLAGS, FIELD_DATA, "no required flags".to_owned());
    field(FIELD_DATA, FIELD_FENCES, format!("{} units of data pages", footer.data_units));
    field(FIELD_FENCES, FIELD_SECTIONS, format!("{} units of fence pages", footer.fence_units));
    for place in 0..SECTIONS_MAX {
        let at = FIELD_SECTIONS + SECTION_BYTES * place;
        let section = &bytes[at..at + SECTION_BYTES];
        let name = match u16::from_le_bytes([section[0], section[1]]) {
            0 => "no section".to_owned(),
            1 => format!("filter at {}, {} bytes", footer.filter.offset, footer.filter.len),
            2 => format!("top tier at {}, {} bytes", footer.top_tier.offset, footer.top_tier.len),
            3 => format!("properties at {}, {} bytes", footer.properties.offset, footer.properties.len),
            other => format!("unknown section {other}"),
        };
        field(at, at + 8, name);
        field(at + 8, at + SECTION_BYTES, "its offset, length, zero".to_owned());
    }
    let base_seq = match footer.base_seq {
        SeqNo(0) => "base sequence 0: sequences are as stored".to_owned(),
        seq => format!("base sequence {seq}: ingested, the manifest has the sequence"),
    };
    field(FIELD_BASE, FIELD_KEYSPACE, base_seq);
    field(FIELD_KEYSPACE, FIELD_ZERO, format!("keyspace {}", footer.keyspace));
    field(FIELD_ZERO, FIELD_MAJOR, "zero".to_owned());
    field(FIELD_MAJOR, FIELD_CRC, format!("version {TABLE_MAJOR}.{}", bytes[FIELD_MAJOR + 2]));
    field(FIELD_CRC, FIELD_MAGIC, "checksum".to_owned());
    field(FIELD_MAGIC, FOOTER_BYTES, "magic".to_owned());
    Ok(())
}
