//! Lines of input with their numbers, and the format `lines`: a key a line, empty values.

use std::io::{self, BufRead, Read as _};

use kiban::{KEY_BYTES_MAX, VALUE_BYTES_MAX};

/// Longest line: the longest key and value as hex and what stands around them.
const LINE_BYTES_MAX: u64 = 2 * (KEY_BYTES_MAX as u64 + VALUE_BYTES_MAX) + 64;

/// Reads lines. They end with LF; the last one may lack it.
pub(super) struct Lines {
    input: Box<dyn BufRead>,
    buffer: Vec<u8>,
    number: u64,
}

impl Lines {
    pub(super) fn new(input: Box<dyn BufRead>) -> Self {
        Self { input, buffer: Vec::new(), number: 0 }
    }

    /// The number of the last line that was read, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line without its LF.
    ///
    /// # Errors
    /// The input's failure, and a line that no record needs.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        self.buffer.clear();
        let read = (&mut self.input).take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.buffer.last() == Some(&b'\n') {
            self.buffer.pop();
        } else if read as u64 > LINE_BYTES_MAX {
            let message = format!("line {} has more than {LINE_BYTES_MAX} bytes", self.number);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Some(&self.buffer))
    }
}

/// A line without one CR at its end, for formats in which CR LF ends a line too.
pub(super) fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &'static [u8]) -> Vec<Vec<u8>> {
        let mut lines = Lines::new(Box::new(text));
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(line.to_vec());
        }
        assert_eq!(lines.number(), found.len() as u64);
        found
    }

    #[test]
    fn the_last_line_counts_with_and_without_its_end() {
        assert_eq!(lines(b"a\nb"), [b"a", b"b"]);
        assert_eq!(lines(b"a\nb\n"), [b"a", b"b"]);
        assert_eq!(lines(b"\n\n"), [b"", b""]);
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn one_cr_is_taken_away() {
        assert_eq!(without_cr(b"a\r"), b"a");
        assert_eq!(without_cr(b"a\r\r"), b"a\r");
        assert_eq!(without_cr(b"\ra"), b"\ra");
    }
}
