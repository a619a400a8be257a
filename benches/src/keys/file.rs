//! Records of a file as a key set. Its groups are runs of 100 neighbours, so any file has them.

use super::{Group, KeySet};
use crate::input::Records;

const GROUP_RECORDS: usize = 100;

/// The records of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileSet(pub(crate) Records);

impl KeySet for FileSet {
    fn shape(&self) -> &'static str {
        "file"
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn key(&self, rank: usize, into: &mut Vec<u8>) {
        into.extend_from_slice(self.0.key(rank));
    }

    fn value(&self, rank: usize, into: &mut Vec<u8>) {
        into.extend_from_slice(self.0.value(rank));
    }

    /// The key with its last byte changed; longer, if that is a key of the set too.
    fn absent(&self, rank: usize, into: &mut Vec<u8>) {
        let start = into.len();
        into.extend_from_slice(self.0.key(rank));
        match into[start..].last_mut() {
            Some(last) => *last ^= 1,
            None => into.push(1),
        }
        while self.0.rank_of(&into[start..]).is_ok() {
            into.push(1);
        }
    }

    fn group_of(&self, rank: usize) -> Group {
        let first = rank - rank % GROUP_RECORDS;
        let end = self.len().min(first + GROUP_RECORDS);
        // The least key above the last one, where there is no next.
        let after_last = || [self.0.key(end - 1), &[0]].concat();
        let upper = if end < self.len() { self.0.key(end).to_vec() } else { after_last() };
        Group { ranks: first..end, lower: self.0.key(first).to_vec(), upper }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_file_has_absent_keys_and_groups() {
        let near = ["", "\u{1}", "a", "`", "`\u{1}", "b", "c"].map(|key| (key.to_owned(), "v"));
        let many = (0..230).map(|no| (format!("key/{no:03}"), "v"));
        super::super::check_key_set(&FileSet(Records::new("test", near.into_iter().chain(many)).unwrap()));
    }
}
