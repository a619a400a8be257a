//! A drawing: lines, text and marks in one SVG element.
//!
//! Colours, strokes and dashes are classes of the page's style sheet, so that a drawing follows
//! the reader's dark or light setting. A series has a colour, a shape and a dash, so that it can
//! be told by each of them alone.

mod axis;
mod series;

use std::fmt::Write as _;

pub(super) use axis::{Axis, Scale};
pub(super) use series::{Look, Series};

use super::markup::html;

/// A drawing on its way; units are those of its `viewBox`, about a CSS pixel each.
#[derive(Debug)]
pub(super) struct Drawing {
    width: f64,
    height: f64,
    body: String,
}

/// A list of names with their marks and lines, below a drawing: it breaks lines where it must.
pub(super) fn legend<'a>(rows: impl IntoIterator<Item = (Look, &'a str)>) -> String {
    let row = |(look, words): (Look, &str)| {
        let (class, d, words) = (look.class(), look.outline((18.0, 8.0)), html(words));
        format!(
            "<li><svg aria-hidden=\"true\" viewBox=\"0 0 36 16\"><path class=\"step {class}\" d=\"M2 8H34\"/>\
             <path class=\"mark {class}\" d=\"{d}\"/></svg><span>{words}</span></li>"
        )
    };
    let rows: String = rows.into_iter().map(row).collect();
    format!("<ul class=\"legend\">{rows}</ul>")
}

/// Where a text stands to its point.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    /// To the right of it.
    Start,
    /// Around it.
    Middle,
    /// To the left of it.
    End,
}

/// A point of a drawing: from the left, from the top.
pub(super) type Point = (f64, f64);

impl Drawing {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    pub(super) fn line(&mut self, from: Point, to: Point, class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.push(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    pub(super) fn rect(&mut self, corner: Point, size: Point, class: &str) {
        let ((x, y), (width, height)) = (corner, size);
        let (width, height) = (width.max(0.0), height.max(0.0));
        self.push(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        ));
    }

    /// A line through points.
    pub(super) fn path(&mut self, points: &[Point], class: &str) {
        let mut d = String::new();
        for (at, (x, y)) in points.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(d, "{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
        }
        self.push(format_args!("<path class=\"{class}\" d=\"{d}\"/>"));
    }

    /// A line through points that runs level and then upright to each.
    pub(super) fn steps(&mut self, points: &[Point], class: &str) {
        let mut d = String::new();
        for (at, (x, y)) in points.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = if at == 0 { write!(d, "M{x:.1} {y:.1}") } else { write!(d, "H{x:.1}V{y:.1}") };
        }
        self.push(format_args!("<path class=\"{class}\" d=\"{d}\"/>"));
    }

    pub(super) fn text(&mut self, at: Point, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let ((x, y), text) = (at, html(text));
        self.push(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    /// A series' mark, with the words shown while it is pointed at.
    pub(super) fn mark(&mut self, at: Point, look: Look, words: &str) {
        let (class, d, words) = (look.class(), look.outline(at), html(words));
        self.push(format_args!("<path class=\"mark {class}\" d=\"{d}\"><title>{words}</title></path>"));
    }

    /// The scale of an axis below its plot: ticks, a line up from each, and what it measures.
    pub(super) fn axis_below(&mut self, axis: &Axis, plot: (f64, f64), what: &str) {
        let (top, bottom) = plot;
        for (value, label) in axis.ticks() {
            let x = axis.at(value);
            self.line((x, top), (x, bottom), "grid");
            self.text((x, bottom + 14.0), Anchor::Middle, "tick", &label);
        }
        let (left, right) = axis.ends();
        self.text(((left + right) / 2.0, bottom + 30.0), Anchor::Middle, "axis", what);
    }

    /// The scale of an axis left of its plot.
    pub(super) fn axis_left(&mut self, axis: &Axis, plot: (f64, f64), what: &str) {
        let (left, right) = plot;
        for (value, label) in axis.ticks() {
            let y = axis.at(value);
            self.line((left, y), (right, y), "grid");
            self.text((left - 6.0, y + 4.0), Anchor::End, "tick", &label);
        }
        let (bottom, top) = axis.ends();
        self.text((2.0, bottom.min(top) - 10.0), Anchor::Start, "axis", what);
    }

    /// The element. `title` names it and `told` says in words what it shows; `id` is its own.
    pub(super) fn finish(self, id: &str, title: &str, told: &str) -> String {
        let Self { width, height, body } = self;
        let (title, told) = (html(title), html(told));
        format!(
            "<svg role=\"img\" viewBox=\"0 0 {width:.0} {height:.0}\" aria-labelledby=\"{id}-t {id}-d\">\
             <title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{told}</desc>\n{body}</svg>"
        )
    }

    fn push(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}
