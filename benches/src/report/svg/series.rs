//! How the lines and marks of a name look, the same in every drawing of a page.

use super::Point;

/// Colours of the style sheet, classes `s0` to `s6`.
const COLOURS: usize = 7;
const SHAPES: usize = 8;
/// From the middle of a mark to its edge.
const REACH: f64 = 4.5;

/// The names of a page, each with its own look.
#[derive(Clone, Debug)]
pub(in crate::report) struct Series<'a> {
    names: Vec<&'a str>,
}

/// Colour, shape and dash of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) struct Look {
    no: usize,
}

impl<'a> Series<'a> {
    /// Names in the order in which they come first.
    pub(in crate::report) fn new(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut own: Vec<&str> = Vec::new();
        for name in names {
            if !own.contains(&name) {
                own.push(name);
            }
        }
        Self { names: own }
    }

    pub(in crate::report) fn look(&self, name: &str) -> Look {
        Look { no: self.names.iter().position(|own| *own == name).unwrap_or(self.names.len()) }
    }
}

impl Look {
    /// Its class: the colour of a mark and a line, and the dash of a line.
    ///
    /// There are fewer colours than shapes and neither is a multiple of the other, so the first 56
    /// names differ in one of them.
    pub(in crate::report) fn class(self) -> String {
        format!("s{} d{}", self.no % COLOURS, self.no % SHAPES % 4)
    }

    /// The path of a mark around a point.
    pub(in crate::report) fn outline(self, at: Point) -> String {
        let (x, y) = at;
        let r = REACH;
        let polygon = |points: &[Point]| {
            let points: Vec<String> =
                points.iter().map(|(dx, dy)| format!("{:.1} {:.1}", x + dx * r, y + dy * r)).collect();
            format!("M{}Z", points.join("L"))
        };
        match self.no % SHAPES {
            0 => format!("M{:.1} {y:.1}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z", x - r, d = 2.0 * r),
            1 => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            2 => polygon(&[(0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)]),
            3 => polygon(&[(0.0, -1.3), (1.1, 0.0), (0.0, 1.3), (-1.1, 0.0)]),
            4 => polygon(&[(0.0, 1.2), (1.1, -0.9), (-1.1, -0.9)]),
            5 => polygon(&[
                (-0.4, -1.1),
                (0.4, -1.1),
                (0.4, -0.4),
                (1.1, -0.4),
                (1.1, 0.4),
                (0.4, 0.4),
                (0.4, 1.1),
                (-0.4, 1.1),
                (-0.4, 0.4),
                (-1.1, 0.4),
                (-1.1, -0.4),
                (-0.4, -0.4),
            ]),
            6 => polygon(&[(-1.1, -0.4), (0.0, -1.2), (1.1, -0.4), (0.7, 1.0), (-0.7, 1.0)]),
            _ => polygon(&[(-1.1, -1.1), (0.0, -0.4), (1.1, -1.1), (1.1, 1.1), (0.0, 0.4), (-1.1, 1.1)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_many_names_has_a_look_of_its_own() {
        let names: Vec<String> = (0..COLOURS * SHAPES).map(|no| no.to_string()).collect();
        let series = Series::new(names.iter().chain(&names).map(String::as_str));
        let looks = |at: usize| {
            let look = series.look(&names[at]);
            (look.class(), look.outline((0.0, 0.0)))
        };
        for a in 0..names.len() {
            assert!((0..a).all(|b| looks(a) != looks(b)), "{a}");
        }
    }
}
