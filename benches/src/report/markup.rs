//! Text from anywhere as text in HTML, Markdown and on a terminal.

/// As text, or in double quotes as an attribute, of HTML. A control character becomes U+FFFD: some
/// of them end a document early, others turn the text around them.
pub(super) fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(shown(c)),
        }
    }
    out
}

/// As text of one line of Markdown, in a cell of a table too.
pub(super) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '|' | '\\' | '`' | '*' => out.extend(['\\', c]),
            // Else what stands in brackets would be a link.
            '(' if out.ends_with(']') => out.push_str("\\("),
            c => out.push(shown(c)),
        }
    }
    out
}

/// As text on one line of a terminal.
pub(super) fn line(text: &str) -> String {
    text.chars().map(shown).collect()
}

/// The character, or what stands for one that must not be shown.
fn shown(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' => ' ',
        // Marks that reorder what stands around them.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_in_a_text_means_anything_in_html() {
        assert_eq!(
            super::html("<a href=\"x\">'&'</a>"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;"
        );
        assert_eq!(super::html("a\0b\u{1b}[31mc\u{202e}d\ne"), "a\u{fffd}b\u{fffd}[31mc\u{fffd}d e");
    }

    #[test]
    fn a_text_stays_in_its_cell_of_a_markdown_table() {
        assert_eq!(super::markdown("a|b\n<i>`c`"), "a\\|b &lt;i>\\`c\\`");
        assert_eq!(super::markdown("![x](y) (z) [1-2]"), "![x]\\(y) (z) [1-2]");
    }

    #[test]
    fn a_terminal_is_sent_no_control_character() {
        assert_eq!(super::line("a\u{1b}]0;b\u{7}\nc"), "a\u{fffd}]0;b\u{fffd} c");
    }
}
