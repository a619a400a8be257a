//! The part of the key space a cursor may show.

use std::ops::{Bound, RangeBounds};

/// A range of keys in byte order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) lower: Bound<Vec<u8>>,
    pub(crate) upper: Bound<Vec<u8>>,
}

impl Bounds {
    /// All keys.
    #[cfg(test)]
    pub(crate) fn all() -> Self {
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }

    /// The keys of a range. It may be inverted: then there are none.
    pub(crate) fn of<K: AsRef<[u8]>, R: RangeBounds<K>>(range: R) -> Self {
        let owned = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        Self { lower: owned(range.start_bound()), upper: owned(range.end_bound()) }
    }

    /// The keys that begin with `prefix`.
    pub(crate) fn prefix(prefix: &[u8]) -> Self {
        Self { lower: Bound::Included(prefix.to_vec()), upper: prefix_end(prefix) }
    }

    /// Whether no key can lie inside.
    pub(crate) fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Bound::Unbounded, Bound::Excluded(upper)) => upper.is_empty(),
            (_, Bound::Unbounded) | (Bound::Unbounded, _) => false,
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (Bound::Included(lower) | Bound::Excluded(lower), Bound::Excluded(upper))
            | (Bound::Excluded(lower), Bound::Included(upper)) => lower >= upper,
        }
    }

    /// Whether `key` lies before the first key that may be inside.
    pub(crate) fn starts_after(&self, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Included(lower) => key < &lower[..],
            Bound::Excluded(lower) => key <= &lower[..],
            Bound::Unbounded => false,
        }
    }

    /// Whether `key` lies after the last key that may be inside.
    pub(crate) fn ends_before(&self, key: &[u8]) -> bool {
        match &self.upper {
            Bound::Included(upper) => key > &upper[..],
            Bound::Excluded(upper) => key >= &upper[..],
            Bound::Unbounded => false,
        }
    }

    /// Leaves out `key` and all that follow.
    pub(crate) fn cut_from(&mut self, key: &[u8]) {
        cut(&mut self.upper, key);
    }

    /// Leaves out `key` and all before it.
    pub(crate) fn cut_through(&mut self, key: &[u8]) {
        cut(&mut self.lower, key);
    }
}

/// The bound becomes "excluded `key`", in the buffer it has if it has one.
fn cut(bound: &mut Bound<Vec<u8>>, key: &[u8]) {
    let mut buffer = match std::mem::replace(bound, Bound::Unbounded) {
        Bound::Included(buffer) | Bound::Excluded(buffer) => buffer,
        Bound::Unbounded => Vec::new(),
    };
    buffer.clear();
    buffer.extend_from_slice(key);
    *bound = Bound::Excluded(buffer);
}

/// The least key behind all that begin with `prefix`: trailing 0xFF bytes cannot be raised and are
/// dropped, the byte before them is raised by one. Where nothing is left, nothing lies behind.
fn prefix_end(prefix: &[u8]) -> Bound<Vec<u8>> {
    let mut end = prefix.to_vec();
    while end.pop_if(|byte| *byte == u8::MAX).is_some() {}
    match end.last_mut() {
        Some(last) => {
            *last += 1;
            Bound::Excluded(end)
        }
        None => Bound::Unbounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_holds_exactly_the_keys_that_begin_with_it() {
        let keys: [&[u8]; 9] =
            [b"", b"a", b"a\xff", b"a\xff\xff", b"a\xff\xff\0", b"b", b"\xff", b"\xff\xff", b"\xff\xff\0"];
        for prefix in keys {
            let bounds = Bounds::prefix(prefix);
            for key in keys {
                let inside = !bounds.starts_after(key) && !bounds.ends_before(key);
                assert_eq!(inside, key.starts_with(prefix), "{prefix:?} {key:?}");
            }
        }
    }

    #[test]
    fn inverted_and_empty_ranges_are_seen() {
        use Bound::{Excluded, Included, Unbounded};
        let empty = |lower: Bound<&str>, upper: Bound<&str>| Bounds::of::<&str, _>((lower, upper)).is_empty();
        assert!(empty(Included("m"), Excluded("m")));
        assert!(empty(Included("m"), Excluded("f")));
        assert!(empty(Included("m"), Included("f")));
        assert!(empty(Excluded("m"), Included("m")));
        assert!(empty(Unbounded, Excluded("")));
        assert!(!empty(Included("m"), Included("m")));
        assert!(!empty(Unbounded, Included("")));
        assert!(!empty(Included("f"), Excluded("m")));
        assert!(!empty(Excluded("f"), Unbounded));
    }

    #[test]
    fn cutting_moves_the_bound_whatever_it_was() {
        let mut bounds = Bounds::of(.."m");
        bounds.cut_through(b"c");
        bounds.cut_from(b"f");
        let expected = (Bound::Excluded("c"), Bound::Excluded("f"));
        assert_eq!(bounds, Bounds::of::<&str, _>(expected));
    }
}
