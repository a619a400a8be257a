//! Building fences.

use std::ops::Range;

use super::{HEADER_BYTES, RUN};
use crate::page::{TableSalt, put_crc, shared_len};
use crate::{PageNo, SeqNo, UNIT_BYTES, varint};

/// Collects a separator for each data page, and makes the fence pages and the top tier of them.
#[derive(Debug, Default)]
pub struct FenceBuilder {
    separators: Vec<Separator>,
    arena: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Separator {
    key: Range<usize>,
    seq: Option<SeqNo>,
    child: PageNo,
}

impl FenceBuilder {
    /// No page yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a data page. `last` is the last key before it, if there is a page before it;
    /// `first` its first entry's key and sequence.
    pub fn add(&mut self, page: PageNo, last: Option<&[u8]>, first: (&[u8], SeqNo)) {
        let (key, seq) = match last {
            None => (&[][..], None),
            Some(last) if last == first.0 => (last, Some(first.1)),
            // The shortest beginning of the first key that is above the last one.
            Some(last) => (&first.0[..shared_len(last, first.0) + 1], None),
        };
        let start = self.arena.len();
        self.arena.extend_from_slice(key);
        self.separators.push(Separator { key: start..self.arena.len(), seq, child: page });
    }

    /// Bytes held.
    pub fn memory_bytes(&self) -> usize {
        self.arena.capacity() + self.separators.capacity() * size_of::<Separator>()
    }

    /// The fence pages, the first of which is page `first_page` of the file, and the top tier's
    /// section. All keys of the table begin with `prefix`.
    pub fn finish(self, salt: TableSalt, first_page: PageNo, prefix: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let mut pages = Vec::new();
        let mut top = NodeBuilder::default();
        let mut node = NodeBuilder::default();
        for separator in &self.separators {
            let stored = &self.arena[separator.key.clone()];
            // The first separator is empty; all others begin with the prefix.
            let key = stored.get(prefix.len()..).unwrap_or_default();
            if !node.is_empty() && node.len_with(key, separator.seq, separator.child) > UNIT_BYTES {
                node.finish_page(salt, first_page, &mut pages);
                node = NodeBuilder::default();
            }
            if node.is_empty() {
                top.add(key, separator.seq, page_at(first_page, &pages));
            }
            node.add(key, separator.seq, separator.child);
        }
        if !node.is_empty() {
            node.finish_page(salt, first_page, &mut pages);
        }
        let mut section = (prefix.len() as u32).to_le_bytes().to_vec();
        section.extend_from_slice(prefix);
        top.finish(0, &mut section);
        (pages, section)
    }
}

/// The number of the page that comes after `pages`.
fn page_at(first: PageNo, pages: &[u8]) -> PageNo {
    PageNo(first.0 + (pages.len() / UNIT_BYTES) as u32)
}

/// One node.
#[derive(Debug, Default)]
struct NodeBuilder {
    children: Vec<PageNo>,
    runs: Vec<u32>,
    separators: Vec<u8>,
    last: Vec<u8>,
}

impl NodeBuilder {
    fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// The stride with one more child; 0: there is none.
    fn stride_with(&self, child: Option<PageNo>) -> u32 {
        let mut children = self.children.iter().copied().chain(child);
        let (Some(first), Some(second)) = (children.next(), children.next()) else { return 1 };
        let stride = second.0 - first.0;
        let uniform = |children: &[PageNo]| children.windows(2).all(|pair| pair[1].0 - pair[0].0 == stride);
        let last = self.children.last().zip(child).is_none_or(|(last, child)| child.0 - last.0 == stride);
        if uniform(&self.children) && last { stride } else { 0 }
    }

    fn shared_with(&self, key: &[u8]) -> usize {
        if self.children.len().is_multiple_of(RUN) { 0 } else { shared_len(&self.last, key) }
    }

    /// Bytes of the node with one more separator.
    fn len_with(&self, key: &[u8], seq: Option<SeqNo>, child: PageNo) -> usize {
        let count = self.children.len() + 1;
        let suffix = key.len() - self.shared_with(key);
        let separator = varint::encoded_len(self.shared_with(key) as u64)
            + varint::encoded_len(suffix as u64 * 2 + 1)
            + suffix
            + if seq.is_some() { 8 } else { 0 };
        let listed = if self.stride_with(Some(child)) == 0 { 4 * count } else { 0 };
        HEADER_BYTES + 4 * count.div_ceil(RUN) + listed + self.separators.len() + separator
    }

    fn add(&mut self, key: &[u8], seq: Option<SeqNo>, child: PageNo) {
        let shared = self.shared_with(key);
        if self.children.len().is_multiple_of(RUN) {
            self.runs.push(self.separators.len() as u32);
        }
        varint::encode(shared as u64, &mut self.separators);
        varint::encode((key.len() - shared) as u64 * 2 + u64::from(seq.is_some()), &mut self.separators);
        self.separators.extend_from_slice(&key[shared..]);
        if let Some(seq) = seq {
            self.separators.extend_from_slice(&seq.0.to_le_bytes());
        }
        self.children.push(child);
        self.last.clear();
        self.last.extend_from_slice(key);
    }

    /// Appends the node as a page of the file.
    fn finish_page(self, salt: TableSalt, first_page: PageNo, pages: &mut Vec<u8>) {
        let salt = salt.page(page_at(first_page, pages));
        let start = pages.len();
        self.write(pages);
        pages.resize(pages.len().next_multiple_of(UNIT_BYTES), 0);
        put_crc(&mut pages[start..], salt);
    }

    /// Appends the node as it is.
    fn finish(self, salt: u32, out: &mut Vec<u8>) {
        let start = out.len();
        self.write(out);
        put_crc(&mut out[start..], salt);
    }

    fn write(self, out: &mut Vec<u8>) {
        let stride = self.stride_with(None);
        let listed: &[PageNo] = if stride == 0 { &self.children } else { &[] };
        let separators = HEADER_BYTES + 4 * self.runs.len() + 4 * listed.len();
        let first = self.children.first().map_or(0, |child| child.0);
        for word in [self.children.len() as u32, first, stride, 0] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for run in &self.runs {
            out.extend_from_slice(&(separators as u32 + run).to_le_bytes());
        }
        for child in listed {
            out.extend_from_slice(&child.0.to_le_bytes());
        }
        out.extend_from_slice(&self.separators);
    }
}
