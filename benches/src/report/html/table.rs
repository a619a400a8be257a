//! A table in a box that scrolls by itself.

use super::html;

/// One cell of a table.
#[derive(Debug)]
pub(super) enum Item {
    /// Text that may break into lines.
    Text(String),
    /// Text of some words, with room for them.
    Wide(String),
    /// A number, or a name that stays on a line.
    Number(String),
    /// A word with a colour that supports it.
    Tag(Tone, String),
}

/// What a tag's colour says; the words say it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Bad,
    Warn,
    Plain,
}

/// The columns: headings, and whether they are numbers.
pub(super) type Columns<'a> = &'a [(&'a str, bool)];

/// Rows under a heading of their own: its words, and more about it.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) heading: (String, String),
    pub(super) rows: Vec<Vec<Item>>,
}

/// The table with a caption. The first item of a row is its heading.
pub(super) fn table(caption: &str, columns: Columns<'_>, groups: &[Rows]) -> String {
    let caption = html(caption);
    let heads: String = columns
        .iter()
        .map(|(name, is_number)| {
            format!("<th scope=\"col\"{}>{}</th>", if *is_number { " class=\"n\"" } else { "" }, html(name))
        })
        .collect();
    let bodies: String = groups.iter().map(|group| body(group, columns.len())).collect();
    format!(
        "<div class=\"box rule\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table>\
         <caption>{caption}</caption><thead><tr>{heads}</tr></thead>\n{bodies}</table></div>\n"
    )
}

fn body(group: &Rows, columns: usize) -> String {
    let (heading, more) = (html(&group.heading.0), html(&group.heading.1));
    let rows: String = group.rows.iter().map(|row| format!("<tr>{}</tr>\n", cells(row))).collect();
    format!(
        "<tbody>\n<tr class=\"group\"><th colspan=\"{columns}\" scope=\"rowgroup\"><span>{heading} <i>{more}</i></span>\
         </th></tr>\n{rows}</tbody>\n"
    )
}

fn cells(row: &[Item]) -> String {
    let cell = |(at, item): (usize, &Item)| match (at, item) {
        (0, item) => format!("<th scope=\"row\">{}</th>", inner(item)),
        (_, Item::Number(_)) => format!("<td class=\"n\">{}</td>", inner(item)),
        (_, Item::Wide(_)) => format!("<td class=\"wide\">{}</td>", inner(item)),
        (_, Item::Tag(..) | Item::Text(_)) => format!("<td>{}</td>", inner(item)),
    };
    row.iter().enumerate().map(cell).collect()
}

fn inner(item: &Item) -> String {
    match item {
        Item::Text(text) | Item::Wide(text) | Item::Number(text) => html(text),
        Item::Tag(tone, text) => tag(*tone, text),
    }
}

/// A word with a colour that supports it.
pub(super) fn tag(tone: Tone, text: &str) -> String {
    let class = match tone {
        Tone::Good => "tag good",
        Tone::Bad => "tag bad",
        Tone::Warn => "tag warn",
        Tone::Plain => "tag",
    };
    format!("<span class=\"{class}\">{}</span>", html(text))
}
