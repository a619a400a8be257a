//! Records of a file as a key set. Its groups are runs of neighbours, so any file has them.

use super::runs::{group_of, make_absent};
use super::{Group, KeySet};
use crate::input::Records;

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
        let (start, key) = (into.len(), self.0.key(rank));
        into.extend_from_slice(key);
        make_absent(into, start, key.len().checked_sub(1), |key| self.0.rank_of(key).is_ok());
    }

    fn group_of(&self, rank: usize) -> Group {
        group_of(self.len(), rank, |rank| self.0.key(rank))
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
