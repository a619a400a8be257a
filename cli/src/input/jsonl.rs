//! The format `jsonl`: a JSON object a line.
//!
//! A string stands for its text; a number, `true`, `false`, an array or an object for its JSON as
//! it is written in the line. Without a field for the value the whole line is the value.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{InputError, Record};

/// The key's field where none is named.
pub(super) const KEY_DEFAULT: &str = "key";

/// Which fields are key and value.
pub(super) struct Jsonl {
    pub(super) key: String,
    pub(super) value: Option<String>,
    /// A record had the fields. Until then a missing one is taken for a misspelt option.
    pub(super) proven: bool,
}

type Object<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

impl Jsonl {
    /// Takes key and value from the text of line `number`.
    pub(super) fn parse(&mut self, number: u64, line: &[u8], record: &mut Record) -> Result<(), InputError> {
        let refuse = |what: String| InputError::Line { line: number, what };
        let object: Object<'_> = serde_json::from_slice(line)
            .map_err(|error| refuse(format!("it is no JSON object: {}", without_place(&error))))?;
        let key = self.field(number, "--key", &self.key, &object)?;
        if matches!(key.get().as_bytes(), [b'{' | b'[' | b'n', ..]) {
            return Err(refuse(format!("the field `{}` is no string, number or boolean", self.key)));
        }
        push(key, &mut record.key).map_err(refuse)?;
        match &self.value {
            Some(name) => {
                push(self.field(number, "--value", name, &object)?, &mut record.value).map_err(refuse)?
            }
            None => record.value.extend_from_slice(line),
        }
        self.proven = true;
        Ok(())
    }

    fn field<'a>(
        &self,
        number: u64,
        option: &str,
        name: &str,
        object: &Object<'a>,
    ) -> Result<&'a RawValue, InputError> {
        if let Some(value) = object.get(name) {
            return Ok(value);
        }
        if self.proven {
            return Err(InputError::Line { line: number, what: format!("it has no field `{name}`") });
        }
        const SHOWN: usize = 30;
        let names: Vec<String> = object.keys().take(SHOWN).map(|name| format!("`{name}`")).collect();
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Err(InputError::Usage(format!("{option}: line {number} has no field `{name}`; there are {there}")))
    }
}

/// Appends what a JSON value stands for.
fn push(value: &RawValue, out: &mut Vec<u8>) -> Result<(), String> {
    let json = value.get();
    if json.starts_with('"') {
        let text: Cow<'_, str> = serde_json::from_str::<String>(json)
            .map(Cow::Owned)
            .map_err(|error| format!("a string that cannot be read: {}", without_place(&error)))?;
        out.extend_from_slice(text.as_bytes());
    } else {
        out.extend_from_slice(json.as_bytes());
    }
    Ok(())
}

/// The parser counts lines of its own; the file's line is said before.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once(" at line ") {
        Some((what, _)) => format!("{what} at column {}", error.column()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(key: &str, value: Option<&str>, line: &str) -> Result<(String, String), InputError> {
        let mut jsonl = Jsonl { key: key.to_owned(), value: value.map(str::to_owned), proven: true };
        let mut record = Record::default();
        jsonl.parse(7, line.as_bytes(), &mut record)?;
        Ok((String::from_utf8(record.key).unwrap(), String::from_utf8(record.value).unwrap()))
    }

    fn refusal(key: &str, value: Option<&str>, line: &str) -> String {
        match parse(key, value, line) {
            Err(InputError::Line { line: 7, what }) => what,
            other => panic!("{other:?}"),
        }
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn strings_are_their_text_and_the_rest_is_kept_as_written() {
        let line =
            r#"{"id": 12345678901234567890, "n": 1.50, "s": "a\u00fc\n\"", "o": {"x": [1, 2]}, "z": null}"#;
        assert_eq!(parse("id", Some("s"), line).unwrap(), pair("12345678901234567890", "aü\n\""));
        assert_eq!(parse("n", Some("o"), line).unwrap(), pair("1.50", r#"{"x": [1, 2]}"#));
        assert_eq!(parse("s", Some("z"), line).unwrap(), pair("aü\n\"", "null"));
    }

    #[test]
    fn without_a_value_field_the_line_is_the_value() {
        let line = r#"{"key":"k", "more": true}"#;
        assert_eq!(parse(KEY_DEFAULT, None, line).unwrap(), pair("k", line));
    }

    #[test]
    fn lines_that_are_no_records_are_refused() {
        assert!(refusal("id", None, "{\"id\": 1").starts_with("it is no JSON object: EOF"));
        assert!(refusal("id", None, "[1]").starts_with("it is no JSON object: invalid type"));
        assert!(refusal("id", None, "{} x").contains("trailing characters at column 4"));
        assert_eq!(refusal("id", Some("v"), r#"{"id":1}"#), "it has no field `v`");
        for key in ["null", "[1]", "{}"] {
            let line = format!("{{\"id\":{key}}}");
            assert_eq!(refusal("id", None, &line), "the field `id` is no string, number or boolean");
        }
        assert!(refusal("id", None, r#"{"id":"\ud800"}"#).contains("cannot be read"));
        // Deep nesting ends in an error or a value, never in a crash.
        let deep = format!("{{\"id\":1,\"v\":{}", "[".repeat(1_000_000));
        assert!(refusal("id", None, &deep).contains("JSON"));
    }

    #[test]
    fn a_field_that_no_record_had_is_a_usage_error() {
        let mut jsonl = Jsonl { key: "nme".to_owned(), value: None, proven: false };
        match jsonl.parse(1, br#"{"name":"x","age":3}"#, &mut Record::default()) {
            Err(InputError::Usage(message)) => {
                assert_eq!(message, "--key: line 1 has no field `nme`; there are `age`, `name`");
            }
            other => panic!("{other:?}"),
        }
    }
}
