//! Reading fences.

use std::cmp::Ordering;

use super::{FIRST_CHILD, HEADER_BYTES, RUN, SECTION, STRIDE};
use crate::fields::Fields;
use crate::page::{check_crc, shared_len};
use crate::{FormatError, PageNo, Problem, SeqNo};

/// A node whose header makes sense.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    bytes: &'a [u8],
    count: usize,
    stride: u32,
}

/// What a search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// The child's ordinal in the node.
    pub ordinal: usize,
    /// Its page.
    pub page: PageNo,
    /// The next separator is of the same key: what is sought may stand at the start of the next
    /// child, if it stands behind all of this one.
    pub next_has_key: bool,
}

/// A separator, relative to the one before it.
struct Step<'a> {
    shared: usize,
    suffix: &'a [u8],
    seq: Option<SeqNo>,
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[offset..offset + 4]);
    u32::from_le_bytes(word)
}

impl<'a> Node<'a> {
    /// Looks at the header.
    ///
    /// # Errors
    /// Counts that do not fit the bytes.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        if bytes.len() < HEADER_BYTES {
            let (needed, have) = (HEADER_BYTES as u64, bytes.len() as u64);
            return Err(FormatError::new(SECTION, 0, Problem::Truncated { needed, have }));
        }
        let (count, stride) = (u32_at(bytes, 0) as usize, u32_at(bytes, STRIDE));
        let listed = if stride == 0 { count } else { 0 };
        let words = count.div_ceil(RUN) + listed;
        if count == 0 || words > (bytes.len() - HEADER_BYTES) / 4 {
            return Err(FormatError::invalid(SECTION, 0, "the children do not fit the page"));
        }
        Ok(Self { bytes, count, stride })
    }

    /// Checks the checksum.
    ///
    /// # Errors
    /// It does not agree.
    pub fn check_crc(&self, salt: u32) -> Result<(), FormatError> {
        check_crc(SECTION, self.bytes, salt)
    }

    /// Number of children, at least 1.
    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Always false: nodes have children.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The page of a child.
    #[inline]
    pub fn child(&self, ordinal: usize) -> PageNo {
        debug_assert!(ordinal < self.count);
        PageNo(if self.stride == 0 {
            u32_at(self.bytes, HEADER_BYTES + 4 * (self.runs() + ordinal))
        } else {
            u32_at(self.bytes, FIRST_CHILD).wrapping_add((ordinal as u32).wrapping_mul(self.stride))
        })
    }

    fn runs(&self) -> usize {
        self.count.div_ceil(RUN)
    }

    /// The separators of a run, from its start.
    fn run(&self, run: usize) -> Result<Fields<'a>, FormatError> {
        let start = u32_at(self.bytes, HEADER_BYTES + 4 * run) as usize;
        match self.bytes.get(start..) {
            Some(bytes) => Ok(Fields::new(SECTION, bytes)),
            None => {
                Err(FormatError::invalid(SECTION, (HEADER_BYTES + 4 * run) as u64, "a run outside the page"))
            }
        }
    }

    fn step(fields: &mut Fields<'a>) -> Result<Step<'a>, FormatError> {
        let shared = fields.varint()?;
        let len_and_flag = fields.varint()?;
        let suffix = fields.bytes(len_and_flag >> 1)?;
        let seq = if len_and_flag & 1 == 0 { None } else { Some(SeqNo(fields.u64()?)) };
        Ok(Step { shared: usize::try_from(shared).unwrap_or(usize::MAX), suffix, seq })
    }

    /// The last child whose separator is at or before `(key, seq)`; the first child if there is
    /// none. The key comes without what the table's keys share.
    ///
    /// # Errors
    /// Bytes on the way that are no separator.
    pub fn search(&self, key: &[u8], seq: SeqNo) -> Result<Child, FormatError> {
        let (mut low, mut high) = (0, self.runs());
        // The last run whose first separator is at or before what is sought; run 0 without a look.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let head = Self::step(&mut self.run(middle)?)?;
            if order(head.suffix.cmp(key), head.seq, seq) == Ordering::Greater {
                high = middle;
            } else {
                low = middle;
            }
        }
        let (mut ordinal, next_has_key) = self.scan(low, key, seq)?;
        let mut next_has_key = next_has_key;
        if next_has_key.is_none() && high < self.runs() {
            let head = Self::step(&mut self.run(high)?)?;
            next_has_key = Some(head.suffix == key);
        }
        ordinal = ordinal.min(self.count - 1);
        Ok(Child { ordinal, page: self.child(ordinal), next_has_key: next_has_key.unwrap_or(false) })
    }

    /// The last child of a run at or before `(key, seq)`, or its first; and whether the separator
    /// after it, if the run has one, is of the same key.
    fn scan(&self, run: usize, key: &[u8], seq: SeqNo) -> Result<(usize, Option<bool>), FormatError> {
        let first = run * RUN;
        let last = (first + RUN).min(self.count) - 1;
        let mut fields = self.run(run)?;
        // Bytes that the separator before shares with the key.
        let mut matched = 0;
        for ordinal in first..=last {
            let step = Self::step(&mut fields)?;
            let compared = match step.shared.cmp(&matched) {
                // It leaves the one before where that still agreed with the key: it is above.
                Ordering::Less => Ordering::Greater,
                // It agrees with the one before where that left the key: it is below as well.
                Ordering::Greater => Ordering::Less,
                Ordering::Equal => {
                    let rest = &key[matched.min(key.len())..];
                    let more = shared_len(step.suffix, rest);
                    let compared = step.suffix[more..].cmp(&rest[more..]);
                    if compared != Ordering::Greater {
                        matched += more;
                    }
                    compared
                }
            };
            if order(compared, step.seq, seq) == Ordering::Greater {
                return Ok((ordinal.saturating_sub(1).max(first), Some(compared == Ordering::Equal)));
            }
        }
        Ok((last, None))
    }

    /// All separators, whole, with their sequences, in order.
    ///
    /// # Errors
    /// Bytes that are no separator.
    pub fn separators(&self) -> Result<Vec<(Vec<u8>, Option<SeqNo>)>, FormatError> {
        let mut separators = Vec::new();
        let mut key = Vec::new();
        for run in 0..self.runs() {
            let mut fields = self.run(run)?;
            for _ in run * RUN..((run + 1) * RUN).min(self.count) {
                let step = Self::step(&mut fields)?;
                if step.shared > key.len() {
                    return Err(FormatError::invalid(SECTION, 0, "a separator shares more than there is"));
                }
                key.truncate(step.shared);
                key.extend_from_slice(step.suffix);
                separators.push((key.clone(), step.seq));
            }
        }
        Ok(separators)
    }
}

/// The order of a separator and `(key, seq)`, given that of the keys.
#[inline]
fn order(keys: Ordering, separator: Option<SeqNo>, seq: SeqNo) -> Ordering {
    keys.then_with(|| match separator {
        None => Ordering::Less,
        // Newer versions stand first.
        Some(separator) => seq.cmp(&separator),
    })
}

/// The top tier's section.
#[derive(Clone, Copy, Debug)]
pub struct TopTier<'a> {
    /// What all keys of the table begin with.
    pub prefix: &'a [u8],
    /// Its children are the fence pages.
    pub node: Node<'a>,
}

impl<'a> TopTier<'a> {
    /// Reads the section.
    ///
    /// # Errors
    /// Lengths that do not fit.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let mut fields = Fields::new("top tier", bytes);
        let len = fields.u32()?;
        let prefix = fields.bytes(len.into())?;
        let node = Node::parse(&bytes[fields.offset() as usize..])?;
        Ok(Self { prefix, node })
    }

    /// The key without the prefix. A key that does not begin with it is moved to the end of the
    /// table that it is beyond: `Err(Less)` before all keys, `Err(Greater)` behind them.
    #[inline]
    pub fn strip<'k>(&self, key: &'k [u8]) -> Result<&'k [u8], Ordering> {
        match key.strip_prefix(self.prefix) {
            Some(rest) => Ok(rest),
            None => Err(key.cmp(self.prefix)),
        }
    }
}
