//! The top tier: what all keys share, and a separator for each fence page. Kept in memory while
//! its table is open.

use std::cmp::Ordering;

use super::{FenceNode, TOP_PAGE, TOP_SECTION};
use crate::fields::Fields;
use crate::page::{KEY_BYTES_MAX, TableSalt};
use crate::{FormatError, SeqNo};

/// A table's top tier.
#[derive(Debug)]
pub struct TopTier {
    bytes: Box<[u8]>,
    common_at: usize,
    node_at: usize,
}

/// A place to look for in the nodes of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'k> {
    /// Before all keys.
    First,
    /// After all keys.
    Last,
    /// At this sequence of the key with these bytes behind the common prefix.
    At(&'k [u8], SeqNo),
}

impl Target<'_> {
    /// The child of `node` that the target is in.
    ///
    /// # Errors
    /// Those of [`FenceNode::find`].
    #[inline]
    pub fn find_in(&self, node: &FenceNode<'_>) -> Result<usize, FormatError> {
        match self {
            Self::First => Ok(0),
            Self::Last => Ok(node.count() - 1),
            Self::At(key, seq) => node.find(key, *seq),
        }
    }
}

impl TopTier {
    /// Reads a top tier and checks its checksum.
    ///
    /// # Errors
    /// A wrong checksum, a common prefix longer than keys are, a body that is no node.
    pub fn decode(bytes: &[u8], salt: TableSalt) -> Result<Self, FormatError> {
        let mut fields = Fields::new(TOP_SECTION, bytes);
        let common_len = fields.varint()?;
        let common_at = fields.offset() as usize;
        if common_len > KEY_BYTES_MAX as u64 {
            return Err(FormatError::invalid(TOP_SECTION, 0, "a common prefix longer than keys are"));
        }
        fields.bytes(common_len)?;
        let top = Self { bytes: bytes.into(), common_at, node_at: fields.offset() as usize };
        let node = FenceNode::parse_top(&top.bytes[top.node_at..])
            .map_err(|error| error.moved_by(top.node_at as u64))?;
        node.check_crc(salt.page(TOP_PAGE))?;
        Ok(top)
    }

    /// The node of which fence pages are the children.
    ///
    /// # Panics
    /// Never: the bytes were parsed when they were decoded, and do not change.
    #[inline]
    pub fn node(&self) -> FenceNode<'_> {
        FenceNode::parse_top(&self.bytes[self.node_at..]).expect("was parsed when it was decoded")
    }

    /// Where the node starts in the section.
    pub fn node_offset(&self) -> u64 {
        self.node_at as u64
    }

    /// What all keys of the table share.
    #[inline]
    pub fn common(&self) -> &[u8] {
        &self.bytes[self.common_at..self.node_at]
    }

    /// Bytes of memory.
    pub fn resident_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Where (key, sequence) is to be looked for.
    #[inline]
    pub fn target<'k>(&self, key: &'k [u8], seq: SeqNo) -> Target<'k> {
        let common = self.common();
        let (start, rest) = key.split_at(key.len().min(common.len()));
        match start.cmp(common) {
            Ordering::Less => Target::First,
            Ordering::Greater => Target::Last,
            Ordering::Equal => Target::At(rest, seq),
        }
    }
}
