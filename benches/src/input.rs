//! Records of a file, in memory: the shipped places, or what a caller has read.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::ab::AbError;

const PLACES: &[u8] = include_bytes!("../data/places.tsv.gz");
/// Name of the shipped file in reports.
pub const PLACES_NAME: &str = "places.tsv.gz";

/// Records in rising key order, each key once.
#[derive(Clone, Debug)]
pub struct Records {
    name: String,
    /// Keys and values as they came.
    bytes: Vec<u8>,
    /// Where each record lies in `bytes`, in key order.
    spans: Vec<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    key_end: usize,
    end: usize,
}

impl Records {
    /// Records in any order; of equal keys the last one counts, as it would after loading them.
    /// `name` stands in reports.
    ///
    /// # Errors
    /// `Usage` if there is no record.
    pub fn new<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        name: impl Into<String>,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, AbError> {
        let mut records = Self { name: name.into(), bytes: Vec::new(), spans: Vec::new() };
        for (key, value) in pairs {
            records.push(key.as_ref(), value.as_ref());
        }
        if records.spans.is_empty() {
            return Err(AbError::Usage(format!("input {}: it has no records", records.name)));
        }
        records.sort();
        Ok(records)
    }

    /// The shipped file of 168,750 places.
    ///
    /// # Errors
    /// `Io` if the file was damaged before it was built in.
    pub fn places() -> Result<Self, AbError> {
        let mut text = Vec::new();
        let broken = |source| AbError::Io { path: PLACES_NAME.into(), source };
        GzDecoder::new(PLACES).read_to_end(&mut text).map_err(broken)?;
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Self::new(PLACES_NAME, lines.map(split_at_tab))
    }

    fn push(&mut self, key: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.spans.push(Span { start, key_end, end: self.bytes.len() });
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let key = |span: &Span| &bytes[span.start..span.key_end];
        self.spans.sort_by(|a, b| key(a).cmp(key(b)));
        // `dedup_by` keeps the first of equals; the sort is stable, so the last must move there.
        self.spans.dedup_by(|later, kept| {
            let equal = key(later) == key(kept);
            if equal {
                *kept = *later;
            }
            equal
        });
    }

    /// The file's name, as reports show it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many records.
    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// The key of the record at `rank` in key order.
    ///
    /// # Panics
    /// If `rank` is not less than `len()`.
    pub fn key(&self, rank: usize) -> &[u8] {
        let span = self.spans[rank];
        &self.bytes[span.start..span.key_end]
    }

    /// The value of the record at `rank` in key order.
    ///
    /// # Panics
    /// If `rank` is not less than `len()`.
    pub fn value(&self, rank: usize) -> &[u8] {
        let span = self.spans[rank];
        &self.bytes[span.key_end..span.end]
    }

    /// The rank of `key`, or the rank at which it would stand.
    pub(crate) fn rank_of(&self, key: &[u8]) -> Result<usize, usize> {
        self.spans.binary_search_by(|span| self.bytes[span.start..span.key_end].cmp(key))
    }
}

/// The first TAB splits; a line without one is a key with an empty value.
fn split_at_tab(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| *byte == b'\t') {
        Some(tab) => (&line[..tab], &line[tab + 1..]),
        None => (line, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_file_has_its_places() {
        let places = Records::places().unwrap();
        assert_eq!(places.len(), 168_750);
        let rank = places.rank_of("CH/Zurich/Zürich".as_bytes()).unwrap();
        assert!(places.value(rank).starts_with(b"{\"lat\": 47.3"), "{:?}", places.value(rank));
    }

    #[test]
    fn the_last_of_equal_keys_counts() {
        let records = Records::new("test", [("b", "1"), ("a", "2"), ("b", "3"), ("b", "4")]).unwrap();
        let found: Vec<_> = (0..records.len()).map(|rank| (records.key(rank), records.value(rank))).collect();
        assert_eq!(found, [(&b"a"[..], &b"2"[..]), (b"b", b"4")]);
    }

    #[test]
    fn no_records_are_refused_by_the_inputs_name() {
        let error = Records::new("mine.tsv", Vec::<(&str, &str)>::new()).unwrap_err();
        assert_eq!(error.to_string(), "input mine.tsv: it has no records");
    }
}
