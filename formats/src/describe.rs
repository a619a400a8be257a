//! Annotated dumps: offset, bytes, meaning, a line a field.

use std::fmt::Write as _;

/// Bytes of a field that a line shows; the rest is counted.
const SHOWN_BYTES: usize = 24;

/// Writes an annotated dump.
#[derive(Debug, Default)]
pub struct Dump {
    text: String,
}

impl Dump {
    /// An empty dump.
    pub fn new() -> Self {
        Self::default()
    }

    /// A heading.
    pub fn heading(&mut self, text: impl AsRef<str>) {
        self.text.push_str("# ");
        self.text.push_str(text.as_ref());
        self.text.push('\n');
    }

    /// A field: where it is, its bytes, what they mean.
    pub fn field(&mut self, offset: u64, bytes: &[u8], meaning: impl AsRef<str>) {
        let mut shown = String::new();
        for byte in bytes.iter().take(SHOWN_BYTES) {
            // Writing to a string does not fail.
            let _ = write!(shown, "{byte:02x}");
        }
        if bytes.len() > SHOWN_BYTES {
            let _ = write!(shown, "... {} bytes", bytes.len());
        }
        let _ = writeln!(self.text, "{offset:08x}  {shown:<32}  {}", meaning.as_ref());
    }

    /// A line without bytes.
    pub fn note(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.text, "{:8}  {:32}  {}", "", "", text.as_ref());
    }

    /// The dump.
    pub fn finish(self) -> String {
        self.text
    }
}

/// Bytes as a person reads them: printable ASCII as it is, the rest escaped.
pub fn printable(bytes: &[u8]) -> String {
    const SHOWN: usize = 64;
    let cut = &bytes[..bytes.len().min(SHOWN)];
    let more = if bytes.len() > SHOWN { format!("... ({} bytes)", bytes.len()) } else { String::new() };
    format!("\"{}\"{more}", cut.escape_ascii())
}
