//! Reading a list of fields out of untrusted bytes.

use crate::{FormatError, Problem, varint};

/// A place in bytes that are read field by field.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    section: &'static str,
}

impl<'a> Fields<'a> {
    #[inline]
    pub(crate) fn new(section: &'static str, bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, section }
    }

    /// Bytes read so far.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.at as u64
    }

    #[inline]
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// The next `len` bytes.
    #[inline]
    pub(crate) fn bytes(&mut self, len: u64) -> Result<&'a [u8], FormatError> {
        let rest = &self.bytes[self.at..];
        match usize::try_from(len).ok().and_then(|len| rest.get(..len)) {
            Some(field) => {
                self.at += field.len();
                Ok(field)
            }
            None => {
                let problem = Problem::Truncated { needed: len, have: rest.len() as u64 };
                Err(FormatError::new(self.section, self.offset(), problem))
            }
        }
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N as u64)?);
        Ok(array)
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8, FormatError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16, FormatError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32, FormatError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, FormatError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u64, FormatError> {
        let (value, len) = varint::decode(&self.bytes[self.at..])
            .map_err(|error| FormatError { section: self.section, ..error.moved_by(self.offset()) })?;
        self.at += len;
        Ok(value)
    }

    /// A varint that must fit 32 bits.
    #[inline]
    pub(crate) fn varint_u32(&mut self) -> Result<u32, FormatError> {
        let offset = self.offset();
        let value = self.varint()?;
        u32::try_from(value)
            .map_err(|_| FormatError::invalid(self.section, offset, "a number above 2^32 - 1"))
    }

    /// A length, then as many bytes.
    #[inline]
    pub(crate) fn sized(&mut self) -> Result<&'a [u8], FormatError> {
        let len = self.varint()?;
        self.bytes(len)
    }

    /// The same as UTF-8.
    pub(crate) fn text(&mut self) -> Result<&'a str, FormatError> {
        let offset = self.offset();
        let bytes = self.sized()?;
        std::str::from_utf8(bytes)
            .map_err(|_| FormatError::invalid(self.section, offset, "text that is no UTF-8"))
    }
}

/// Appends a length and the bytes.
pub(crate) fn put_sized(bytes: &[u8], out: &mut Vec<u8>) {
    varint::encode(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}
