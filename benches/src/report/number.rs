//! Numbers for people.

/// What stands for a number that is not known.
pub(super) const ABSENT: &str = "-";

/// Nanoseconds with the unit that fits.
pub(super) fn time(ns: f64) -> String {
    scaled(ns, &[(1.0, "ns"), (1e3, "\u{b5}s"), (1e6, "ms"), (1e9, "s")])
}

/// Bytes with the unit that fits.
pub(super) fn bytes(bytes: f64) -> String {
    scaled(bytes, &[(1.0, "B"), (1_024.0, "KiB"), (1_048_576.0, "MiB"), (1_073_741_824.0, "GiB")])
}

/// Three digits, and the greatest unit that is not above the number. They stay on one line.
fn scaled(number: f64, units: &[(f64, &str)]) -> String {
    let fits = |unit: &&(f64, &str)| number.abs() >= unit.0 * 0.9995;
    let (unit, name) = units.iter().rfind(fits).unwrap_or(&units[0]);
    format!("{}\u{a0}{name}", digits(number / unit))
}

/// Three digits that count, without zeros at the end of a fraction.
pub(super) fn digits(number: f64) -> String {
    let text = ratio(number);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Three digits that count, zeros too.
pub(super) fn ratio(number: f64) -> String {
    let size = number.abs();
    let decimals = match size {
        size if size >= 99.95 || size == 0.0 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    if !(1e-3..1e15).contains(&size) && size != 0.0 {
        return format!("{number:.2e}");
    }
    format!("{number:.decimals$}")
}

/// A whole number in groups of three.
pub(super) fn grouped(number: u64) -> String {
    let plain = number.to_string();
    let mut text = String::with_capacity(plain.len() * 4 / 3);
    for (at, digit) in plain.chars().enumerate() {
        if at > 0 && (plain.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number that may be unknown.
pub(super) fn known(number: Option<f64>, shown: fn(f64) -> String) -> String {
    number.map_or(ABSENT.to_owned(), shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_three_digits_and_the_unit_that_fits() {
        assert_eq!(
            [85.0, 999.4, 999.6, 1_234.0, 2_000_000.0].map(time),
            ["85\u{a0}ns", "999\u{a0}ns", "1\u{a0}\u{b5}s", "1.23\u{a0}\u{b5}s", "2\u{a0}ms"]
        );
        assert_eq!([0.0, 4_096.0, 1_500_000.0].map(bytes), ["0\u{a0}B", "4\u{a0}KiB", "1.43\u{a0}MiB"]);
        assert_eq!([0.5625, 1.0, 12.34, 0.0001].map(digits), ["0.562", "1", "12.3", "1.00e-4"]);
        assert_eq!([1.0, 0.5, 12.0, 250.0].map(ratio), ["1.00", "0.500", "12.0", "250"]);
    }

    #[test]
    fn a_count_is_grouped() {
        assert_eq!([7, 999, 1_000, 1_234_567].map(grouped), ["7", "999", "1,000", "1,234,567"]);
    }
}
