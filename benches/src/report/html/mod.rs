//! One page that needs nothing else: no network, no script. Style and drawings are in it.
//!
//! Each section is a file: it takes the report and gives HTML, or nothing if the report has
//! nothing for it. Text from outside goes through [`markup::html`](super::markup::html).

mod build;
mod cells;
mod ecdf;
mod forest;
mod loses;
mod pareto;
mod provenance;
mod summary;
mod table;
mod upkeep;

use super::Report;
use super::markup::html;
use super::setting::Setting;
use super::svg::Series;

const STYLE: &str = include_str!("style.css");

/// Widest name in a drawing, in narrow letters.
const NAME_WIDTH: usize = 24;

/// A part of the page with a heading.
#[derive(Debug)]
struct Section {
    id: &'static str,
    heading: &'static str,
    /// Empty: the section is left out.
    body: String,
}

impl Report {
    /// The report as one page of HTML that loads nothing.
    pub fn html(&self) -> String {
        let series = Series::new(self.cells.iter().map(|cell| cell.accessor.as_str()));
        let section = |id, heading, body| Section { id, heading, body };
        let sections = [
            section("figures", "Figures to beat", summary::figures(self)),
            section("ratios", "Ratios", forest::section(self, &series)),
            section("loses", "Where it loses", loses::section(self)),
            section("latency", "Latency", ecdf::section(self, &series)),
            section("size", "Size against speed", pareto::section(self, &series)),
            section("build", "Build cost", build::section(self, &series)),
            section("upkeep", "Flush and compaction", upkeep::section(self)),
            section("cells", "All cells", cells::section(self)),
            section("provenance", "Where the numbers come from", provenance::section(self)),
        ];
        let shown: Vec<&Section> = sections.iter().filter(|section| !section.body.is_empty()).collect();
        let links: String = shown
            .iter()
            .map(|Section { id, heading, .. }| format!("<li><a href=\"#{id}\">{heading}</a></li>"))
            .collect();
        let bodies: String = shown
            .iter()
            .map(|Section { id, heading, body }| {
                format!(
                    "<section aria-labelledby=\"{id}\"><h2 id=\"{id}\">{heading}</h2>\n{body}</section>\n"
                )
            })
            .collect();
        let (title, top) = (html(&self.title()), summary::top(self));
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to the figures</a>\n\
             <header><h1>{title}</h1>\n{top}</header>\n<nav aria-label=\"Sections\"><ul>{links}</ul></nav>\n\
             <main id=\"main\">\n{bodies}</main>\n<footer>{}</footer>\n</body>\n</html>\n",
            provenance::footer(self)
        )
    }

    fn title(&self) -> String {
        let mut ours: Vec<&str> = Vec::new();
        for cell in self.cells.iter().filter(|cell| cell.is_ours()) {
            if !ours.contains(&cell.accessor.as_str()) {
                ours.push(&cell.accessor);
            }
        }
        match &ours[..] {
            [] => "kiban ab".to_owned(),
            names => format!("kiban ab: {}", names.join(", ")),
        }
    }
}

/// A drawing with its caption, in a box of its own if it is wide.
fn figure(class: &str, caption: (&str, &str), svg: &str) -> String {
    let (title, more) = (html(caption.0), html(caption.1));
    format!(
        "<figure class=\"{class}\"><figcaption>{title}<span>{more}</span></figcaption>\
         <div class=\"box\" tabindex=\"0\" role=\"group\" aria-label=\"{title}\">{svg}</div></figure>\n"
    )
}

/// A setting as a heading over its drawings.
fn heading(setting: &Setting<'_>) -> String {
    format!("<h3>{}</h3>\n", html(&setting.name()))
}

/// A name that fits into a drawing.
fn short(name: &str) -> String {
    let width = |c: char| match c {
        'm' | 'w' | '#' | '%' | '&' | '+' | '<' | '=' | '>' | '@' => 2,
        '\u{20}'..='\u{40}' | 'a'..='z' => 1,
        _ => 2,
    };
    let mut room = NAME_WIDTH;
    let fits = |c: &char| {
        let fits = width(*c) <= room;
        room = room.saturating_sub(width(*c));
        fits
    };
    let text: String = name.chars().take_while(fits).collect();
    if text.len() == name.len() { text } else { text + "\u{2026}" }
}

#[cfg(test)]
mod tests;
