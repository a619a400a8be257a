//! Writes fence pages and the top tier.

use super::{CHILD_BYTES, NODE_HEADER_BYTES, RESTART_EVERY, TOP_PAGE};
use crate::page::{TableSalt, put_crc, shared_len};
use crate::{FormatError, PageNo, SeqNo, UNIT_BYTES, varint};

/// Collects separators, then writes the pages.
///
/// Pages follow the data, and what they leave out, the bytes that all keys share, is known only
/// at the end. Until then separators are kept as what each adds to the one before.
#[derive(Debug, Default)]
pub struct FenceBuilder {
    items: Vec<Item>,
    suffixes: Vec<u8>,
    last: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Item {
    shared: u32,
    suffix_len: u32,
    /// Greatest: none.
    seq: u64,
    child: PageNo,
}

const NO_SEQ: u64 = u64::MAX;

/// A finished fence page.
#[derive(Clone, Copy, Debug)]
pub struct FencePage<'a> {
    /// Its number.
    pub page: PageNo,
    /// Its bytes.
    pub bytes: &'a [u8],
}

impl FenceBuilder {
    /// No separator yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the separator of the next data page, in order. That of the first is empty.
    pub fn add(&mut self, key: &[u8], seq: Option<SeqNo>, child: PageNo) {
        let shared = shared_len(&self.last, key);
        let suffix = &key[shared..];
        // Keys have at most 131,072 bytes.
        self.items.push(Item {
            shared: shared as u32,
            suffix_len: suffix.len() as u32,
            seq: seq.map_or(NO_SEQ, |seq| seq.0),
            child,
        });
        self.suffixes.extend_from_slice(suffix);
        self.last.truncate(shared);
        self.last.extend_from_slice(suffix);
    }

    /// About how many bytes the fences will take.
    pub fn estimated_bytes(&self) -> u64 {
        (self.suffixes.len() + 4 * self.items.len()) as u64
    }

    /// Hands the fence pages to `emit`, the first with the number `page`, and returns the top
    /// tier. `common` is what all keys share. At least one separator must have been added.
    ///
    /// # Errors
    /// Those of `emit`, and a table of more than 2^32 - 1 units.
    pub fn finish<E: From<FormatError>>(
        self,
        common: &[u8],
        mut page: PageNo,
        salt: TableSalt,
        mut emit: impl FnMut(FencePage<'_>) -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        let mut node = Node::new(false);
        let mut top = Node::new(true);
        let mut key = Vec::new();
        let mut suffixes = &self.suffixes[..];
        let mut flush = |node: &mut Node, page: &mut PageNo| {
            let units = node.bytes().div_ceil(UNIT_BYTES);
            let bytes = node.encode(units, salt.page(*page));
            emit(FencePage { page: *page, bytes: &bytes })?;
            let next = page.0.checked_add(units as u32).filter(|next| *next < u32::MAX);
            page.0 = next.ok_or_else(|| {
                FormatError::invalid(super::SECTION, 0, "a table of more than 2^32 - 2 units")
            })?;
            Ok::<(), E>(())
        };
        for item in &self.items {
            let (suffix, rest) = suffixes.split_at(item.suffix_len as usize);
            suffixes = rest;
            key.truncate(item.shared as usize);
            key.extend_from_slice(suffix);
            // The first separator is empty; it stands for the common prefix.
            let stripped = key.get(common.len()..).unwrap_or_default();
            let seq = (item.seq != NO_SEQ).then_some(SeqNo(item.seq));
            if !node.is_empty() && !node.fits(stripped, seq, item.child) {
                flush(&mut node, &mut page)?;
                node = Node::new(false);
            }
            if node.is_empty() {
                top.push(stripped, seq, page);
            }
            node.push(stripped, seq, item.child);
        }
        flush(&mut node, &mut page)?;
        let mut bytes = Vec::new();
        varint::encode(common.len() as u64, &mut bytes);
        bytes.extend_from_slice(common);
        bytes.extend(top.encode(0, salt.page(TOP_PAGE)));
        Ok(bytes)
    }
}

/// A node being written.
#[derive(Debug)]
struct Node {
    is_top: bool,
    children: Vec<PageNo>,
    restarts: Vec<u32>,
    separators: Vec<u8>,
    last: Vec<u8>,
    /// Units from child to child, as long as they are all the same.
    stride: Option<u16>,
}

impl Node {
    fn new(is_top: bool) -> Self {
        Self {
            is_top,
            children: Vec::new(),
            restarts: Vec::new(),
            separators: Vec::new(),
            last: Vec::new(),
            stride: Some(1),
        }
    }

    fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    fn stride_with(&self, child: PageNo) -> Option<u16> {
        let Some(last) = self.children.last() else { return Some(1) };
        let step = u16::try_from(child.0 - last.0).ok().filter(|step| *step > 0)?;
        (self.children.len() == 1 || self.stride == Some(step)).then_some(step)
    }

    /// Bytes before the first separator.
    fn lead_bytes(&self, children: usize, stride: Option<u16>) -> usize {
        let listed = if stride.is_none() { CHILD_BYTES * children } else { 0 };
        NODE_HEADER_BYTES + super::restart_bytes(self.is_top) * children.div_ceil(RESTART_EVERY) + listed
    }

    fn bytes(&self) -> usize {
        self.lead_bytes(self.children.len(), self.stride) + self.separators.len()
    }

    /// One unit holds the separator as well.
    fn fits(&self, key: &[u8], seq: Option<SeqNo>, child: PageNo) -> bool {
        let stride = self.stride_with(child);
        // Two varints of at most 131,073 * 2, and a sequence.
        let most = self.lead_bytes(self.children.len() + 1, stride) + self.separators.len();
        let shared = self.shared(key);
        let suffix = key.len() - shared;
        let seq_len = seq.map_or(0, |seq| varint::encoded_len(seq.0));
        let lens = varint::encoded_len(shared as u64) + varint::encoded_len(suffix as u64 * 2 + 1);
        most + lens + suffix + seq_len <= UNIT_BYTES
    }

    fn shared(&self, key: &[u8]) -> usize {
        match self.children.len() % RESTART_EVERY {
            0 => 0,
            _ => shared_len(&self.last, key),
        }
    }

    fn push(&mut self, key: &[u8], seq: Option<SeqNo>, child: PageNo) {
        let shared = self.shared(key);
        if self.children.len().is_multiple_of(RESTART_EVERY) {
            // Relative to the separators; moved when it is known where they start.
            self.restarts.push(self.separators.len() as u32);
        }
        let suffix = &key[shared..];
        varint::encode(shared as u64, &mut self.separators);
        varint::encode(suffix.len() as u64 * 2 + u64::from(seq.is_some()), &mut self.separators);
        self.separators.extend_from_slice(suffix);
        if let Some(seq) = seq {
            varint::encode(seq.0, &mut self.separators);
        }
        self.stride = self.stride_with(child);
        self.children.push(child);
        self.last.truncate(shared);
        self.last.extend_from_slice(suffix);
    }

    /// The node's bytes; `units` is 0 for the top tier.
    fn encode(&self, units: usize, salt: u32) -> Vec<u8> {
        let lead = self.lead_bytes(self.children.len(), self.stride) as u32;
        let first = self.children.first().map_or(0, |first| first.0);
        let mut out = Vec::with_capacity(self.bytes().next_multiple_of(UNIT_BYTES));
        // A table has fewer pages than 2^32, a fence page at most a key and a few bytes.
        out.extend_from_slice(&(self.children.len() as u32).to_le_bytes());
        out.extend_from_slice(&first.to_le_bytes());
        out.extend_from_slice(&self.stride.unwrap_or(0).to_le_bytes());
        out.extend_from_slice(&(units as u16).to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        for restart in &self.restarts {
            let restart = lead + restart;
            out.extend_from_slice(&restart.to_le_bytes()[..super::restart_bytes(self.is_top)]);
        }
        if self.stride.is_none() {
            self.children.iter().for_each(|child| out.extend_from_slice(&child.0.to_le_bytes()));
        }
        out.extend_from_slice(&self.separators);
        out.resize(out.len().max(units * UNIT_BYTES), 0);
        put_crc(&mut out, salt);
        out
    }
}
