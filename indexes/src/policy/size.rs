//! Sizes as people write them: `64MiB`.

/// Units with the powers of two that they are.
const UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];

/// Bytes of a text like `64MiB` or `64 MiB`.
pub(super) fn parse(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = unit.strip_prefix(' ').unwrap_or(unit);
    let (_, power) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(1 << power)
}

/// The number and the largest unit that say so many bytes exactly.
pub(super) fn exact(bytes: u64) -> (u64, &'static str) {
    let whole = |power: u32| bytes >> power != 0 && bytes.trailing_zeros() >= power;
    let (unit, power) = UNITS.into_iter().find(|&(_, power)| whole(power)).unwrap_or(("B", 0));
    (bytes >> power, unit)
}
