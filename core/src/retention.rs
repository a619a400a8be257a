//! Which versions of a key somebody may still see.

use kiban_formats::SeqNo;

/// Decides, entry by entry in the order (key ascending, sequence descending), whether a version
/// is the newest, or the newest that some snapshot sees.
#[derive(Debug)]
pub(crate) struct Retention {
    /// Rising.
    snapshots: Vec<SeqNo>,
    key: Vec<u8>,
    /// The sequence of the entry before, if it was of the same key.
    newer: Option<SeqNo>,
}

impl Retention {
    /// For these open snapshots, in rising order. Later snapshots see the newest versions only.
    pub(crate) fn new(snapshots: Vec<SeqNo>) -> Self {
        Self { snapshots, key: Vec::new(), newer: None }
    }

    /// Whether the entry must be kept.
    pub(crate) fn keeps(&mut self, key: &[u8], seq: SeqNo) -> bool {
        let newer = self.newer.filter(|_| self.key == key);
        if newer.is_none() {
            self.key.clear();
            self.key.extend_from_slice(key);
        }
        self.newer = Some(seq);
        match newer {
            None => true,
            // Some snapshot s with seq <= s < newer sees this one.
            Some(newer) => {
                let first = self.snapshots.partition_point(|snapshot| *snapshot < seq);
                self.snapshots.get(first).is_some_and(|snapshot| *snapshot < newer)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(snapshots: &[u64], seqs: &[u64]) -> Vec<u64> {
        let mut retention = Retention::new(snapshots.iter().copied().map(SeqNo).collect());
        seqs.iter().copied().filter(|seq| retention.keeps(b"k", SeqNo(*seq))).collect()
    }

    #[test]
    fn without_snapshots_only_the_newest_stays() {
        assert_eq!(kept(&[], &[9, 7, 5]), [9]);
    }

    #[test]
    fn what_a_snapshot_sees_stays() {
        assert_eq!(kept(&[6], &[9, 7, 5, 3]), [9, 5]);
        assert_eq!(kept(&[7], &[9, 7, 5]), [9, 7]);
        assert_eq!(kept(&[8], &[9, 7, 5]), [9, 7]);
        assert_eq!(kept(&[9, 20], &[9, 7, 5]), [9]);
        assert_eq!(kept(&[1], &[9, 7, 5]), [9]);
        assert_eq!(kept(&[5, 6, 7], &[9, 7, 5]), [9, 7, 5]);
    }

    #[test]
    fn another_key_begins_anew() {
        let mut retention = Retention::new(vec![]);
        assert!(retention.keeps(b"a", SeqNo(5)));
        assert!(!retention.keeps(b"a", SeqNo(4)));
        assert!(retention.keeps(b"b", SeqNo(3)));
        assert!(!retention.keeps(b"b", SeqNo(2)));
    }
}
