//! The format `tsv`: the first TAB of a line splits key and value. No escapes, no header.

/// Key and value of a line.
///
/// # Errors
/// A sentence, if the line has no TAB.
pub(super) fn split(line: &[u8]) -> Result<(&[u8], &[u8]), String> {
    match line.iter().position(|byte| *byte == b'\t') {
        Some(tab) => Ok((&line[..tab], &line[tab + 1..])),
        None => Err("it has no TAB between key and value (--format says what else it may be)".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_tab_splits_and_everything_else_is_data() {
        assert_eq!(split(b"key\tvalue\twith\ttabs\\t\r"), Ok((&b"key"[..], &b"value\twith\ttabs\\t\r"[..])));
        assert_eq!(split(b"\t"), Ok((&b""[..], &b""[..])));
        assert_eq!(split(b"\xff\t\xfe"), Ok((&b"\xff"[..], &b"\xfe"[..])));
        assert!(split(b"no tab").is_err());
        assert!(split(b"").is_err());
    }
}
