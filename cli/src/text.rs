//! How keys and values are written and read as text.
//!
//! Bytes are shown as they are if they are valid UTF-8, not empty, have no control character and
//! do not begin with `hex:`; else as `hex:` and lower-case hex digits. Input that begins with
//! `hex:` is always hex. So a line holds one record, and what was printed reads back as the same
//! bytes.

use std::borrow::Cow;

/// What hex begins with.
const MARK: &[u8] = b"hex:";
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Appends `bytes` as text; `hex` shows hex whatever they are.
pub(crate) fn push_text(out: &mut Vec<u8>, bytes: &[u8], hex: bool) {
    if !hex && is_plain(bytes) {
        out.extend_from_slice(bytes);
        return;
    }
    out.extend_from_slice(MARK);
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

/// `bytes` as text for a message.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const SHOWN_CHARS: usize = 80;
    let mut out = Vec::new();
    push_text(&mut out, bytes, false);
    let text = String::from_utf8_lossy(&out);
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into_owned(),
    }
}

fn is_plain(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    !text.is_empty() && !bytes.starts_with(MARK) && !text.chars().any(char::is_control)
}

/// The bytes that text stands for.
///
/// # Errors
/// A sentence that says what is wrong with the hex.
pub(crate) fn from_text(text: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let Some(digits) = text.strip_prefix(MARK) else { return Ok(Cow::Borrowed(text)) };
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(format!("`{}` has an odd number of hex digits", brief(text)));
    }
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    match bytes {
        Some(bytes) => Ok(Cow::Owned(bytes)),
        None => Err(format!("`{}` has a character that is no hex digit", brief(text))),
    }
}

fn digit(character: u8) -> Option<u8> {
    char::from(character).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// The first characters of a text, for a message.
fn brief(text: &[u8]) -> String {
    const SHOWN_BYTES: usize = 40;
    let cut = &text[..text.len().min(SHOWN_BYTES)];
    format!("{}{}", cut.escape_ascii(), if cut.len() < text.len() { "..." } else { "" })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        push_text(&mut out, bytes, false);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn plain_text_is_shown_as_it_is() {
        assert_eq!(text("CH/Zürich 'a' \"b\" \\".as_bytes()), "CH/Zürich 'a' \"b\" \\");
        assert_eq!(text(b"hex"), "hex");
        assert_eq!(text(b" "), " ");
    }

    #[test]
    fn what_would_be_unclear_is_shown_as_hex() {
        assert_eq!(text(b""), "hex:");
        assert_eq!(text(b"a\tb"), "hex:610962");
        assert_eq!(text(b"\n"), "hex:0a");
        assert_eq!(text(b"\0"), "hex:00");
        assert_eq!(text(b"\xff"), "hex:ff");
        assert_eq!(text("\u{85}".as_bytes()), "hex:c285");
        assert_eq!(text(b"hex:ab"), "hex:6865783a6162");
    }

    #[test]
    fn hex_is_forced() {
        let mut out = b"> ".to_vec();
        push_text(&mut out, b"az", true);
        assert_eq!(out, b"> hex:617a");
    }

    #[test]
    fn bad_hex_is_refused() {
        assert_eq!(from_text(b"hex:abc").unwrap_err(), "`hex:abc` has an odd number of hex digits");
        assert_eq!(from_text(b"hex:0g").unwrap_err(), "`hex:0g` has a character that is no hex digit");
        assert_eq!(from_text(b"hex:AB").unwrap().as_ref(), b"\xab");
        assert_eq!(from_text(b"Hex:0g").unwrap().as_ref(), b"Hex:0g");
    }

    #[test]
    fn long_keys_are_cut_in_messages() {
        assert_eq!(shown(b"key"), "key");
        assert!(shown(&[b'k'; 10_000]).len() < 100);
        assert!(shown("ü".repeat(1_000).as_bytes()).ends_with("ü..."));
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_and_stays_on_its_line(
            bytes in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                "(hex:)?[ -~\t\n\u{80}-\u{ff}]{0,12}".prop_map(String::into_bytes),
            ],
            hex in any::<bool>(),
        ) {
            let mut out = Vec::new();
            push_text(&mut out, &bytes, hex);
            prop_assert!(!out.contains(&b'\t') && !out.contains(&b'\n') && !out.contains(&b'\r'));
            prop_assert!(!out.is_empty());
            let back = from_text(&out).unwrap();
            prop_assert_eq!(back.as_ref(), &bytes[..]);
        }
    }
}
