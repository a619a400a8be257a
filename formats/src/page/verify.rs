//! Everything that can be said of a page by looking at it alone.

use std::cmp::Ordering;

use super::{Entry, FirstOrdinals, Jumbo, PAGE_HEADER_BYTES, Page, PageShape, SECTION, SLOT_BYTES};
use crate::{FormatError, SeqNo, SlotNo, UNIT_BYTES};

/// The entry before, on this page or the one before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbour {
    /// Its key.
    pub key: Vec<u8>,
    /// Its sequence.
    pub seq: SeqNo,
}

/// What a page that was found sound holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSummary {
    /// The ordinals in its header.
    pub first: FirstOrdinals,
    /// Its entries.
    pub entries: u32,
    /// Keys of which the first version in the table is here.
    pub new_keys: u32,
    /// Its first entry is an older version of a key on the page before.
    pub starts_inside_key: bool,
}

/// Checks a page in full, which is all of `bytes`: length, checksum, zeros, slots, entries and
/// their checksums, order, versions. `before` is the table's last entry before the page, and
/// becomes the page's last; `visit` sees every entry.
///
/// # Errors
/// The first thing wrong; offsets count from the start of the page.
pub fn verify_page(
    bytes: &[u8],
    shape: PageShape,
    salt: u32,
    before: &mut Option<Neighbour>,
    mut visit: impl FnMut(&Entry<'_>),
) -> Result<PageSummary, FormatError> {
    let page = Page::parse(bytes)?;
    page.check_crc(salt)?;
    if page.bytes().len() != bytes.len() || bytes.len() > shape.page_bytes() {
        let what = format!("a page of {} bytes in place of {}", page.bytes().len(), bytes.len());
        return Err(FormatError::invalid(SECTION, 0, what));
    }
    if !shape.shares_prefix() && !page.prefix().is_empty() {
        return Err(FormatError::invalid(SECTION, 2, "a shared prefix on a page that shares none"));
    }
    let mut end = PAGE_HEADER_BYTES + SLOT_BYTES * page.count() + page.prefix().len();
    let mut summary = PageSummary {
        first: page.first(),
        entries: page.count() as u32,
        new_keys: 0,
        starts_inside_key: false,
    };
    for slot in 0..page.count() {
        let offset = page.offset(slot);
        if offset != shape.align_up(end) {
            let what = format!("slot {slot} names {offset}, not {}", shape.align_up(end));
            return Err(FormatError::invalid(SECTION, (PAGE_HEADER_BYTES + SLOT_BYTES * slot) as u64, what));
        }
        check_zero(bytes, end, offset)?;
        let entry = page.entry(SlotNo(slot as u16))?;
        entry.verify()?;
        end = entry.value_offset + entry.value.len();
        summary.starts_inside_key |= slot == 0 && entry.newer.is_some();
        summary.new_keys += u32::from(follow(before, &entry).map_err(|error| error.moved_by(offset as u64))?);
        visit(&entry);
    }
    if end.next_multiple_of(UNIT_BYTES) != bytes.len() {
        return Err(FormatError::invalid(SECTION, 0, "a page with a unit behind its last entry"));
    }
    check_zero(bytes, end, bytes.len())?;
    Ok(summary)
}

/// The same for a jumbo run.
///
/// # Errors
/// As [`verify_page`].
pub fn verify_jumbo(
    bytes: &[u8],
    salt: u32,
    before: &mut Option<Neighbour>,
    mut visit: impl FnMut(&Entry<'_>),
) -> Result<PageSummary, FormatError> {
    let jumbo = Jumbo::parse(bytes, salt)?;
    let value_end = jumbo.value_offset + jumbo.value_len as usize;
    let Some(value) = bytes.get(jumbo.value_offset..value_end) else {
        return Err(FormatError::invalid(SECTION, 0, "a value that reaches past its run"));
    };
    let entry = jumbo.entry(value);
    entry.verify()?;
    check_zero(bytes, value_end, bytes.len())?;
    let new_keys = u32::from(follow(before, &entry)?);
    visit(&entry);
    Ok(PageSummary { first: jumbo.first, entries: 1, new_keys, starts_inside_key: new_keys == 0 })
}

/// The entry comes after the one before, and says the right thing about newer versions. Returns
/// whether it is the first of its key.
fn follow(before: &mut Option<Neighbour>, entry: &Entry<'_>) -> Result<bool, FormatError> {
    let fail = |what: &'static str| Err(FormatError::invalid(SECTION, 0, what));
    let newer = match before.as_ref().map(|before| (entry.cmp_key(&before.key), before.seq)) {
        Some((Ordering::Less, _)) => return fail("keys out of order"),
        Some((Ordering::Equal, seq)) if seq <= entry.seq => return fail("versions of a key out of order"),
        Some((Ordering::Equal, seq)) => Some(seq),
        Some((Ordering::Greater, _)) | None => None,
    };
    if entry.newer != newer {
        return fail("an entry that is wrong about the next newer version of its key");
    }
    let last = before.get_or_insert_default();
    last.key.clear();
    last.key.extend_from_slice(entry.prefix);
    last.key.extend_from_slice(entry.suffix);
    last.seq = entry.seq;
    Ok(newer.is_none())
}

fn check_zero(bytes: &[u8], from: usize, to: usize) -> Result<(), FormatError> {
    match bytes[from..to].iter().position(|byte| *byte != 0) {
        Some(at) => Err(FormatError::invalid(SECTION, (from + at) as u64, "padding that is not zero")),
        None => Ok(()),
    }
}
