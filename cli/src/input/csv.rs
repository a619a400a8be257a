//! The format `csv` as RFC 4180 has it: a header line, fields between commas, quoted where they
//! hold a comma, a quote or a line end. Stricter than most readers: a quote that is never closed
//! would swallow the rest of the file, so it is an error that names the line it began on.

use std::io;
use std::ops::Range;

use super::lines::{Lines, without_cr};
use super::{InputError, Record};

/// Excel writes it before the header.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Which columns are key and value.
pub(super) struct Columns {
    key: usize,
    /// `None`: values are empty.
    value: Option<usize>,
    count: usize,
}

/// The fields of one record: ends of the fields in one buffer.
#[derive(Debug, Default)]
struct Fields {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Fields {
    fn range(&self, field: usize) -> Range<usize> {
        let start = if field == 0 { 0 } else { self.ends[field - 1] };
        start..self.ends[field]
    }

    fn names(&self) -> Vec<String> {
        let name = |field| String::from_utf8_lossy(&self.bytes[self.range(field)]).into_owned();
        (0..self.ends.len()).map(name).collect()
    }
}

/// Reads records.
pub(super) struct Csv {
    columns: Columns,
    fields: Fields,
}

impl Csv {
    /// Reads the header and finds the columns by name, or by number from 1.
    ///
    /// # Errors
    /// `Usage` for a column that is not there, and where it must be said which one is the value.
    pub(super) fn open(
        lines: &mut Lines,
        key: Option<&str>,
        value: Option<&str>,
    ) -> Result<Self, InputError> {
        let mut fields = Fields::default();
        if !read_record(lines, &mut fields)? {
            return Err(InputError::Unusable("it has no header line".to_owned()));
        }
        let columns = Columns::find(&fields.names(), key, value).map_err(InputError::Usage)?;
        Ok(Self { columns, fields })
    }

    /// The next record, or `false` at the end.
    pub(super) fn next(&mut self, lines: &mut Lines, record: &mut Record) -> Result<bool, InputError> {
        if !read_record(lines, &mut self.fields)? {
            return Ok(false);
        }
        let (found, expected) = (self.fields.ends.len(), self.columns.count);
        if found != expected {
            let what = format!("fields: found {found}, the header has {expected}");
            return Err(InputError::Line { line: lines.number(), what });
        }
        let field = |column: usize| &self.fields.bytes[self.fields.range(column)];
        record.key.extend_from_slice(field(self.columns.key));
        if let Some(value) = self.columns.value {
            record.value.extend_from_slice(field(value));
        }
        Ok(true)
    }
}

impl Columns {
    fn find(names: &[String], key: Option<&str>, value: Option<&str>) -> Result<Self, String> {
        let key = key.map_or(Ok(0), |field| column("--key", field, names))?;
        let value = match value {
            Some(field) => Some(column("--value", field, names)?),
            None if names.len() == 1 => None,
            None if names.len() == 2 => Some(1 - key),
            None => return Err(format!("--value FIELD is needed to choose from {}", list(names))),
        };
        Ok(Self { key, value, count: names.len() })
    }
}

/// A column by its name, or else by its number from 1.
fn column(option: &str, field: &str, names: &[String]) -> Result<usize, String> {
    if let Some(at) = names.iter().position(|name| name == field) {
        return Ok(at);
    }
    match field.parse::<usize>() {
        Ok(number) if (1..=names.len()).contains(&number) => Ok(number - 1),
        _ => Err(format!("{option}: there is no field `{field}`; there are {}", list(names))),
    }
}

fn list(names: &[String]) -> String {
    const SHOWN: usize = 30;
    let mut shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    if names.len() > SHOWN {
        shown.push(format!("{} more", names.len() - SHOWN));
    }
    shown.join(", ")
}

/// Where the splitting stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    FieldStart,
    Plain,
    Quoted,
    /// After a quote inside a quoted field: its end, or the first of two that mean one.
    Quote,
}

/// Splits the next record that is not an empty line; `false` at the end of the input.
fn read_record(lines: &mut Lines, fields: &mut Fields) -> Result<bool, InputError> {
    fields.bytes.clear();
    fields.ends.clear();
    let mut began = 0;
    let mut state = State::FieldStart;
    loop {
        let number = lines.number() + 1;
        let Some(mut line) = lines.next()? else {
            return match state {
                State::Quoted => {
                    let what = "a quote that begins here is never closed".to_owned();
                    Err(InputError::Line { line: began, what })
                }
                _ => Ok(false),
            };
        };
        if number == 1 {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if state == State::Quoted {
            fields.bytes.push(b'\n');
        } else if without_cr(line).is_empty() {
            continue;
        } else {
            began = number;
        }
        state = split_line(line, state, fields)
            .map_err(|what| InputError::Line { line: number, what: what.to_owned() })?;
        if state != State::Quoted {
            fields.ends.push(fields.bytes.len());
            return Ok(true);
        }
        if fields.bytes.len() as u64 > u64::from(u32::MAX) {
            return Err(too_long(began).into());
        }
    }
}

fn too_long(line: u64) -> io::Error {
    let message = format!("the record that begins on line {line} has more than {} bytes", u32::MAX);
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Splits one line. Ends in `Quoted` if the record goes on with the next line.
fn split_line(line: &[u8], mut state: State, fields: &mut Fields) -> Result<State, &'static str> {
    for (at, byte) in line.iter().enumerate() {
        let ends_line = *byte == b'\r' && at + 1 == line.len();
        state = match (state, byte) {
            (State::Quoted, b'"') => State::Quote,
            (State::Quoted, _) => {
                fields.bytes.push(*byte);
                State::Quoted
            }
            (_, b'\r') if ends_line => state,
            (State::FieldStart, b'"') => State::Quoted,
            (State::Quote, b'"') => {
                fields.bytes.push(b'"');
                State::Quoted
            }
            (_, b',') => {
                fields.ends.push(fields.bytes.len());
                State::FieldStart
            }
            (State::Quote, _) => return Err("a quoted field goes on behind its closing quote"),
            (State::FieldStart | State::Plain, _) => {
                fields.bytes.push(*byte);
                State::Plain
            }
        };
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Pair = (Vec<u8>, Vec<u8>);

    fn read(text: &[u8], key: Option<&str>, value: Option<&str>) -> Result<Vec<Pair>, InputError> {
        let mut lines = Lines::new(Box::new(io::Cursor::new(text.to_vec())));
        let mut csv = Csv::open(&mut lines, key, value)?;
        let mut pairs = Vec::new();
        loop {
            let mut record = Record::default();
            if !csv.next(&mut lines, &mut record)? {
                return Ok(pairs);
            }
            pairs.push((record.key, record.value));
        }
    }

    fn pair(key: &str, value: &str) -> Pair {
        (key.into(), value.into())
    }

    #[test]
    fn fields_are_chosen_by_name_or_number() {
        let text = b"id,name,3\n1,Anna,x\n2,\"B,b\",y\n";
        assert_eq!(read(text, Some("name"), Some("id")).unwrap(), [pair("Anna", "1"), pair("B,b", "2")]);
        assert_eq!(read(text, Some("2"), Some("1")).unwrap(), [pair("Anna", "1"), pair("B,b", "2")]);
        // A name wins over a number.
        assert_eq!(read(text, None, Some("3")).unwrap(), [pair("1", "x"), pair("2", "y")]);
    }

    #[test]
    fn the_value_is_the_other_of_two_fields() {
        assert_eq!(read(b"k,v\na,b\n", None, None).unwrap(), [pair("a", "b")]);
        assert_eq!(read(b"v,k\na,b\n", Some("k"), None).unwrap(), [pair("b", "a")]);
        assert_eq!(read(b"k\na\n", None, None).unwrap(), [pair("a", "")]);
    }

    #[test]
    fn an_unknown_or_missing_field_is_a_usage_error_that_lists_the_fields() {
        let usage = |key, value| match read(b"id,name,age\n", key, value) {
            Err(InputError::Usage(message)) => message,
            other => panic!("{other:?}"),
        };
        assert_eq!(usage(Some("nme"), None), "--key: there is no field `nme`; there are `id`, `name`, `age`");
        assert!(usage(Some("id"), Some("4")).starts_with("--value: there is no field `4`"));
        assert!(usage(None, Some("0")).starts_with("--value: there is no field `0`"));
        assert_eq!(usage(None, None), "--value FIELD is needed to choose from `id`, `name`, `age`");
    }

    #[test]
    fn quotes_hold_commas_quotes_and_lines() {
        let text = b"\xef\xbb\xbf\"k\",v\r\n\"a \"\"b\"\"\",\"one\r\ntwo\"\r\n\r\nc,d\"e";
        assert_eq!(read(text, Some("k"), None).unwrap(), [pair("a \"b\"", "one\r\ntwo"), pair("c", "d\"e")]);
    }

    #[test]
    fn malformed_records_are_told_by_their_line() {
        let line = |text: &[u8]| match read(text, None, None) {
            Err(InputError::Line { line, what }) => (line, what),
            other => panic!("{other:?}"),
        };
        assert_eq!(line(b"k,v\na,b\nc\n"), (3, "fields: found 1, the header has 2".to_owned()));
        assert_eq!(line(b"k,v\na,b,c\n").0, 2);
        assert_eq!(
            line(b"k,v\n\"a\"x,b\n"),
            (2, "a quoted field goes on behind its closing quote".to_owned())
        );
        assert_eq!(line(b"k,v\na,\"b\nc,d\n"), (2, "a quote that begins here is never closed".to_owned()));
        assert!(matches!(read(b"", None, None), Err(InputError::Unusable(_))));
    }

    proptest! {
        #[test]
        fn what_a_writer_quotes_comes_back(
            pairs in prop::collection::vec(("[a,\"\r\n ü]{0,6}", "[a,\"\r\n ü]{0,6}"), 0..6),
        ) {
            let mut writer = ::csv::Writer::from_writer(Vec::new());
            writer.write_record(["key", "value"]).unwrap();
            for (key, value) in &pairs {
                writer.write_record([key, value]).unwrap();
            }
            let text = writer.into_inner().unwrap();
            let expected: Vec<Pair> = pairs.iter().map(|(key, value)| pair(key, value)).collect();
            prop_assert_eq!(read(&text, None, None).unwrap(), expected);
        }
    }
}
