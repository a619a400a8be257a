//! The format `bin`: any keys and values, exactly as they are.
//!
//! ```text
//! magic      8  KIBANDMP
//! version    4  1
//! record        key length 4, value length 4, key, value; any number of them
//! end        4  0xffffffff, longer than any key
//! count      8  of records
//! crc        4  CRC-32 of all bytes before it
//! ```
//!
//! Numbers are little-endian. A dump that lacks its end was cut.

use std::io::{self, BufRead, Read as _, Write};

use crc32fast::Hasher;
use kiban::KEY_BYTES_MAX;

use crate::input::{InputError, Record};

const MAGIC: [u8; 8] = *b"KIBANDMP";
const VERSION: u32 = 1;
const END: u32 = u32::MAX;

/// Writes a dump.
pub(crate) struct DumpWriter<W> {
    out: W,
    crc: Hasher,
    records: u64,
}

impl<W: Write> DumpWriter<W> {
    /// Begins one.
    pub(crate) fn new(out: W) -> io::Result<Self> {
        let mut writer = Self { out, crc: Hasher::new(), records: 0 };
        writer.put(&MAGIC)?;
        writer.put(&VERSION.to_le_bytes())?;
        Ok(writer)
    }

    /// Appends a record. Its lengths are within the limits of a store.
    pub(crate) fn record(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        for part in [key, value] {
            let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "a part of a record is too long");
            self.put(&u32::try_from(part.len()).map_err(too_long)?.to_le_bytes())?;
        }
        self.put(key)?;
        self.put(value)?;
        self.records += 1;
        Ok(())
    }

    /// Ends it, and tells how many records it has.
    pub(crate) fn finish(mut self) -> io::Result<u64> {
        self.put(&END.to_le_bytes())?;
        self.put(&self.records.to_le_bytes())?;
        self.out.write_all(&self.crc.finalize().to_le_bytes())?;
        Ok(self.records)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.update(bytes);
        self.out.write_all(bytes)
    }
}

/// Reads a dump.
pub(crate) struct DumpReader {
    input: Box<dyn BufRead>,
    crc: Hasher,
    offset: u64,
    records: u64,
    /// It came to its end, and that was right.
    is_over: bool,
}

impl DumpReader {
    /// Reads the beginning of one.
    pub(crate) fn open(input: Box<dyn BufRead>) -> Result<Self, InputError> {
        let mut reader = Self { input, crc: Hasher::new(), offset: 0, records: 0, is_over: false };
        if reader.array::<8>()? != MAGIC {
            return Err(InputError::Unusable("it does not begin as a dump of `kiban dump`".to_owned()));
        }
        match u32::from_le_bytes(reader.array()?) {
            VERSION => Ok(reader),
            version => Err(InputError::Unusable(format!(
                "it is a dump of version {version}, this build reads {VERSION}"
            ))),
        }
    }

    /// The next record, or `false` at an end that is right, as often as it is asked.
    pub(crate) fn next(&mut self, record: &mut Record) -> Result<bool, InputError> {
        if self.is_over {
            return Ok(false);
        }
        let begin = self.offset;
        let key_len = u32::from_le_bytes(self.array()?);
        if key_len == END {
            self.end()?;
            self.is_over = true;
            return Ok(false);
        }
        if key_len as usize > KEY_BYTES_MAX {
            let what = format!(
                "the record at byte {begin} has a key of {key_len} bytes, at most {KEY_BYTES_MAX} are allowed"
            );
            return Err(InputError::Unusable(what));
        }
        let value_len = u32::from_le_bytes(self.array()?);
        self.bytes(key_len, &mut record.key)?;
        self.bytes(value_len, &mut record.value)?;
        self.records += 1;
        Ok(true)
    }

    /// Compares the count and the checksum, and sees that nothing follows.
    fn end(&mut self) -> Result<(), InputError> {
        let unusable = |what: String| Err(InputError::Unusable(what));
        let (count, found) = (u64::from_le_bytes(self.array()?), self.records);
        let computed = self.crc.clone().finalize();
        let stored = u32::from_le_bytes(self.array()?);
        if stored != computed {
            return unusable(format!("checksum: stored {stored:08x}, computed {computed:08x}"));
        }
        if count != found {
            return unusable(format!("it says that it has {count} records, and has {found}"));
        }
        if !self.input.fill_buf()?.is_empty() {
            return unusable(format!("more bytes follow its end at byte {}", self.offset));
        }
        Ok(())
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], InputError> {
        let mut bytes = [0; N];
        match self.input.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(self.cut()),
            Err(error) => return Err(error.into()),
        }
        self.crc.update(&bytes);
        self.offset += N as u64;
        Ok(bytes)
    }

    /// Memory grows with what is there, not with what a length says.
    fn bytes(&mut self, len: u32, into: &mut Vec<u8>) -> Result<(), InputError> {
        into.clear();
        let read = (&mut self.input).take(u64::from(len)).read_to_end(into)?;
        if read < len as usize {
            return Err(self.cut());
        }
        self.crc.update(into);
        self.offset += u64::from(len);
        Ok(())
    }

    fn cut(&self) -> InputError {
        InputError::Unusable(format!("it is cut: it ends in what begins at byte {}", self.offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

    fn pairs() -> Pairs {
        vec![(Vec::new(), Vec::new()), (b"a\n".to_vec(), b"\0\xff".to_vec()), (b"b".to_vec(), vec![7; 300])]
    }

    fn dump(pairs: &Pairs) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = DumpWriter::new(&mut bytes).unwrap();
        pairs.iter().for_each(|(key, value)| writer.record(key, value).unwrap());
        assert_eq!(writer.finish().unwrap(), pairs.len() as u64);
        bytes
    }

    fn read(bytes: Vec<u8>) -> Result<Pairs, String> {
        let told = |error| match error {
            InputError::Unusable(what) => what,
            other => panic!("{other:?}"),
        };
        let mut reader = DumpReader::open(Box::new(io::Cursor::new(bytes))).map_err(told)?;
        let (mut pairs, mut record) = (Pairs::new(), Record::default());
        while reader.next(&mut record).map_err(told)? {
            pairs.push((record.key.clone(), record.value.clone()));
        }
        assert!(!reader.next(&mut record).map_err(told)?, "it goes on behind its end");
        Ok(pairs)
    }

    #[test]
    fn any_bytes_come_back_as_they_were() {
        for pairs in [Pairs::new(), pairs()] {
            assert_eq!(read(dump(&pairs)), Ok(pairs));
        }
    }

    #[test]
    fn the_layout_is_fixed() {
        let bytes = dump(&vec![(b"k".to_vec(), b"vw".to_vec())]);
        let head = b"KIBANDMP\x01\0\0\0\x01\0\0\0\x02\0\0\0kvw\xff\xff\xff\xff\x01\0\0\0\0\0\0\0";
        assert_eq!(bytes[..head.len()], head[..]);
        assert_eq!(bytes[head.len()..], crc32fast::hash(head).to_le_bytes());
    }

    #[test]
    fn every_cut_every_turned_bit_and_every_byte_more_is_told() {
        let whole = dump(&pairs());
        for len in 0..whole.len() {
            let error = read(whole[..len].to_vec()).unwrap_err();
            assert!(error.starts_with("it is cut"), "{len}: {error}");
        }
        for bit in 0..whole.len() * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(read(damaged).is_err(), "bit {bit}");
        }
        let longer = [&whole[..], b"\0"].concat();
        assert!(read(longer).unwrap_err().starts_with("more bytes follow its end"));
    }
}
