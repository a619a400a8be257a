//! Records from files: text formats and dumps, compressed or not, from a path or standard input.
//!
//! ```text
//! Origin        a path or standard input, decompressed
//!   Lines       lines with their numbers
//!     tsv, csv, jsonl, lines    key and value as they stand there
//!       Reader  `hex:` undone, limits checked: a `Record`
//!   DumpReader  the format `bin`
//! ```

mod csv;
mod decompress;
mod jsonl;
mod lines;
mod tsv;

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use clap::ValueEnum;
use kiban::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

use crate::dump::DumpReader;
use crate::exit::Failure;
use crate::text::from_text;

pub(crate) use decompress::Origin;

use csv::Csv;
use jsonl::{Jsonl, KEY_DEFAULT};
use lines::{Lines, without_cr};

/// A format of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// key TAB value; the first TAB splits, no escapes, no header
    Tsv,
    /// a header line, fields between commas, quoted as in RFC 4180
    Csv,
    /// a JSON object a line
    Jsonl,
    /// a key a line, with empty values
    Lines,
    /// what `kiban dump` writes
    Bin,
}

/// Which input, and how it is read.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) origin: Origin,
    /// `None`: by the file's name, else tsv.
    pub(crate) format: Option<Format>,
    pub(crate) key: Option<String>,
    pub(crate) value: Option<String>,
}

/// A key and its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) key: Vec<u8>,
    pub(crate) value: Vec<u8>,
}

impl Record {
    fn clear(&mut self) {
        self.key.clear();
        self.value.clear();
    }
}

/// Why there is no record.
#[derive(Debug)]
pub(crate) enum InputError {
    /// This line is refused; the reader goes on behind it.
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The options do not fit the input.
    Usage(String),
    /// It is not what its format says.
    Unusable(String),
    /// It cannot be read.
    Read(io::Error),
}

impl From<io::Error> for InputError {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

impl InputError {
    /// The failure of a command that cannot go on, with the input's name.
    pub(crate) fn into_failure(self, name: &str) -> Failure {
        match self {
            Self::Line { line, what } => Failure::finding(format!("{name}, line {line}: {what}")),
            Self::Usage(what) => Failure::usage(format!("{name}: {what}")),
            Self::Unusable(what) => Failure::trouble(format!("{name}: {what}")),
            Self::Read(error) => Failure::trouble(format!("cannot read {name}: {error}")),
        }
    }
}

/// Reads records.
pub(crate) struct Reader(Kind);

enum Kind {
    Text(TextReader),
    Dump(DumpReader),
}

struct TextReader {
    lines: Lines,
    parser: Parser,
}

enum Parser {
    Tsv,
    Csv(Csv),
    Jsonl(Jsonl),
    Lines,
}

impl Spec {
    /// The format that was asked for, or the file's name says.
    fn settled_format(&self) -> Format {
        self.format.unwrap_or_else(|| match self.origin.inner_extension().as_deref() {
            Some("csv") => Format::Csv,
            Some("jsonl" | "ndjson") => Format::Jsonl,
            Some("bin") => Format::Bin,
            _ => Format::Tsv,
        })
    }

    /// Opens the input. `tolerant` says that refused lines will be skipped. `consumed` counts
    /// the bytes read from the disk.
    ///
    /// # Errors
    /// As of [`Reader::next`]; nothing has been read but a header.
    pub(crate) fn open(&self, tolerant: bool, consumed: &Arc<AtomicU64>) -> Result<Reader, InputError> {
        let format = self.settled_format();
        let named = [("--key", &self.key), ("--value", &self.value)];
        let fieldless = match format {
            Format::Tsv => Some("tsv"),
            Format::Lines => Some("lines"),
            Format::Bin => Some("bin"),
            Format::Csv | Format::Jsonl => None,
        };
        if let (Some(format), Some((option, _))) =
            (fieldless, named.iter().find(|(_, field)| field.is_some()))
        {
            return Err(InputError::Usage(format!("{option} is for csv and jsonl, the format is {format}")));
        }
        let input = self.origin.open(consumed)?;
        let text = |lines, parser| Kind::Text(TextReader { lines, parser });
        Ok(Reader(match format {
            Format::Bin => Kind::Dump(DumpReader::open(input)?),
            Format::Tsv => text(Lines::new(input), Parser::Tsv),
            Format::Lines => text(Lines::new(input), Parser::Lines),
            Format::Csv => {
                let mut lines = Lines::new(input);
                let csv = Csv::open(&mut lines, self.key.as_deref(), self.value.as_deref())?;
                text(lines, Parser::Csv(csv))
            }
            Format::Jsonl => {
                let key = self.key.clone().unwrap_or(KEY_DEFAULT.to_owned());
                let jsonl = Jsonl { key, value: self.value.clone(), proven: tolerant };
                text(Lines::new(input), Parser::Jsonl(jsonl))
            }
        }))
    }
}

impl Reader {
    /// The next record, or `false` at the end.
    ///
    /// # Errors
    /// After `Line` the reader can go on, after others not.
    pub(crate) fn next(&mut self, record: &mut Record) -> Result<bool, InputError> {
        record.clear();
        match &mut self.0 {
            Kind::Text(text) => text.next(record),
            Kind::Dump(dump) => dump.next(record),
        }
    }
}

impl TextReader {
    fn next(&mut self, record: &mut Record) -> Result<bool, InputError> {
        if !self.parse(record)? {
            return Ok(false);
        }
        let line = self.lines.number();
        let refuse = |what| InputError::Line { line, what };
        settle(&mut record.key, "key", KEY_BYTES_MAX as u64).map_err(refuse)?;
        settle(&mut record.value, "value", VALUE_BYTES_MAX).map_err(refuse)?;
        Ok(true)
    }

    fn parse(&mut self, record: &mut Record) -> Result<bool, InputError> {
        if let Parser::Csv(csv) = &mut self.parser {
            return csv.next(&mut self.lines, record);
        }
        loop {
            let number = self.lines.number() + 1;
            let Some(line) = self.lines.next()? else { return Ok(false) };
            match &mut self.parser {
                Parser::Tsv => {
                    let refuse = |what| InputError::Line { line: number, what };
                    let (key, value) = tsv::split(line).map_err(refuse)?;
                    record.key.extend_from_slice(key);
                    record.value.extend_from_slice(value);
                }
                Parser::Jsonl(_) if without_cr(line).is_empty() => continue,
                Parser::Jsonl(jsonl) => jsonl.parse(number, without_cr(line), record)?,
                Parser::Lines | Parser::Csv(_) => record.key.extend_from_slice(line),
            }
            return Ok(true);
        }
    }
}

/// Undoes hex and checks the limit, so that a line is refused by its number and not by the store.
fn settle(bytes: &mut Vec<u8>, name: &str, most: u64) -> Result<(), String> {
    if let Cow::Owned(decoded) = from_text(bytes).map_err(|what| format!("{name}: {what}"))? {
        *bytes = decoded;
    }
    if bytes.len() as u64 > most {
        return Err(format!("{name}: it has {} bytes, at most {most} are allowed", bytes.len()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn spec(file: &Path) -> Spec {
        Spec { origin: Origin::of(file), format: None, key: None, value: None }
    }

    /// A record, or the number of a refused line.
    type Found = Result<(Vec<u8>, Vec<u8>), u64>;

    /// What the input holds.
    fn read(name: &str, format: Option<Format>, text: &[u8]) -> Vec<Found> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(name);
        std::fs::write(&file, text).unwrap();
        let mut reader = Spec { format, ..spec(&file) }.open(false, &Arc::default()).ok().unwrap();
        let (mut found, mut record) = (Vec::new(), Record::default());
        loop {
            match reader.next(&mut record) {
                Ok(true) => found.push(Ok((record.key.clone(), record.value.clone()))),
                Ok(false) => return found,
                Err(InputError::Line { line, .. }) => found.push(Err(line)),
                Err(other) => panic!("{other:?}"),
            }
        }
    }

    fn pair(key: &[u8], value: &[u8]) -> Found {
        Ok((key.to_vec(), value.to_vec()))
    }

    #[test]
    fn the_name_says_the_format_and_the_option_wins() {
        assert_eq!(read("a.tsv", None, b"a\tb\tc\r\n"), [pair(b"a", b"b\tc\r")]);
        assert_eq!(read("a", None, b"a\tb"), [pair(b"a", b"b")]);
        assert_eq!(read("a.csv", None, b"k,v\r\na,b\r\n"), [pair(b"a", b"b")]);
        assert_eq!(read("a.ndjson", None, b"{\"key\":1}\r\n\n"), [pair(b"1", b"{\"key\":1}")]);
        assert_eq!(read("a.csv", Some(Format::Lines), b"a,b\n\n"), [pair(b"a,b", b""), pair(b"", b"")]);
    }

    #[test]
    fn hex_is_undone_in_every_format() {
        assert_eq!(read("a.tsv", None, b"hex:00ff\thex:\n"), [pair(b"\0\xff", b"")]);
        assert_eq!(read("a.csv", None, b"k,v\nhex:0a,\"hex:2c\"\n"), [pair(b"\n", b",")]);
        assert_eq!(read("a", Some(Format::Lines), b"hex:0a\n"), [pair(b"\n", b"")]);
    }

    #[test]
    fn the_reader_goes_on_behind_a_refused_line() {
        let long = [vec![b'k'; KEY_BYTES_MAX + 1], b"\tv\n".to_vec()].concat();
        let longest = [vec![b'k'; KEY_BYTES_MAX], b"\tv\n".to_vec()].concat();
        let text = [b"a\t1\nno tab\nhex:0\t1\nb\thex:xx\n", &long[..], &longest[..], b"c\t3"].concat();
        let expected = [
            pair(b"a", b"1"),
            Err(2),
            Err(3),
            Err(4),
            Err(5),
            pair(&[b'k'; KEY_BYTES_MAX], b"v"),
            pair(b"c", b"3"),
        ];
        assert_eq!(read("a.tsv", None, &text), expected);
    }

    #[test]
    fn fields_are_refused_where_a_format_has_none() {
        let with_field = Spec { key: Some("id".to_owned()), ..spec(Path::new("-")) };
        let error = with_field.open(false, &Arc::default()).err();
        assert!(matches!(error, Some(InputError::Usage(_))), "{error:?}");
    }
}
