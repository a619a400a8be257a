//! What can still be read of a damaged table.

use std::path::Path;

use kiban_formats::footer::Footer;
use kiban_formats::page::{Entry, Jumbo, Page, TableSalt, is_jumbo};
use kiban_formats::{FormatError, PageNo, SeqNo, SlotNo, UNIT_BYTES};

use super::context::TableContext;
use super::pages::offset;
use crate::error::{Error, Result};
use crate::source::EntryRef;
use crate::storage::ReadFile;

/// Hands out, in order, all entries of the pages whose checksums are right. Fences are not needed:
/// a page is known by its checksum, which has the page's place and the table's id in it.
/// `assigned`: the sequence of all entries of an ingested table.
///
/// # Errors
/// Those of `visit`, and a file that cannot be opened.
pub(crate) fn salvage(
    context: &TableContext,
    path: &Path,
    footer: &Footer,
    assigned: Option<SeqNo>,
    visit: impl FnMut(EntryRef<'_>) -> Result<()>,
) -> Result<u64> {
    let file = context.storage.open(path).map_err(|source| Error::io("open", path, source))?;
    let mut salvage = Salvage {
        file: &*file,
        footer,
        salt: TableSalt::new(footer.table_id),
        assigned,
        last: None,
        visit,
        count: 0,
    };
    let mut page = PageNo(0);
    while page.0 < footer.data_units {
        page.0 += salvage.page(page)?.unwrap_or(1);
    }
    Ok(salvage.count)
}

struct Salvage<'a, F> {
    file: &'a dyn ReadFile,
    footer: &'a Footer,
    salt: TableSalt,
    assigned: Option<SeqNo>,
    /// Entries must rise, whatever the pages say.
    last: Option<(Vec<u8>, SeqNo)>,
    visit: F,
    count: u64,
}

impl<F: FnMut(EntryRef<'_>) -> Result<()>> Salvage<'_, F> {
    /// The units of the page that begins here; `None` if none does.
    fn page(&mut self, no: PageNo) -> Result<Option<u32>> {
        let units = self.footer.shape.page_units();
        let Some(bytes) = self.read(no, units as usize * UNIT_BYTES) else { return Ok(None) };
        if is_jumbo(&bytes) {
            return self.run(no, &bytes);
        }
        let page = Page::parse(&bytes).and_then(|page| page.check_crc(self.salt.page(no)).map(|()| page));
        let Ok(page) = page else { return Ok(None) };
        for slot in 0..page.count() {
            self.entry(page.entry(SlotNo(slot as u16)))?;
        }
        Ok(Some((page.bytes().len() / UNIT_BYTES) as u32))
    }

    fn run(&mut self, no: PageNo, first: &[u8]) -> Result<Option<u32>> {
        let salt = self.salt.page(no);
        let head = Jumbo::head_bytes(first).ok().and_then(|bytes| self.read(no, bytes));
        let Some(head) = head else { return Ok(None) };
        let Ok(jumbo) = Jumbo::parse(&head, salt) else { return Ok(None) };
        if jumbo.units > self.footer.data_units - no.0 {
            return Ok(None);
        }
        // The head is right, so the next page is known even if the value cannot be read.
        if let Some(bytes) = self.read(no, jumbo.value_offset + jumbo.value_len as usize) {
            let value = bytes.get(jumbo.value_offset..).unwrap_or_default();
            if value.len() == jumbo.value_len as usize {
                self.entry(Ok(jumbo.entry(value)))?;
            }
        }
        Ok(Some(jumbo.units))
    }

    fn entry(&mut self, entry: Result<Entry<'_>, FormatError>) -> Result<()> {
        let Some(entry) = entry.ok().filter(|entry| entry.verify().is_ok()) else { return Ok(()) };
        let (key, seq) = (entry.to_key(), self.assigned.unwrap_or(entry.seq));
        let rises = |(last, last_seq): &(Vec<u8>, SeqNo)| last.cmp(&key).then(seq.cmp(last_seq)).is_lt();
        if !self.last.as_ref().is_none_or(rises) {
            return Ok(());
        }
        let payload_crc = entry.payload_crc();
        (self.visit)(EntryRef { key: &key, seq, kind: entry.kind, value: entry.value, payload_crc })?;
        self.count += 1;
        self.last = Some((key, seq));
        Ok(())
    }

    /// Up to so many bytes from the start of a page, inside the data pages; `None` where the device
    /// cannot read them.
    fn read(&self, no: PageNo, bytes: usize) -> Option<Vec<u8>> {
        let rest = u64::from(self.footer.data_units - no.0) * UNIT_BYTES as u64;
        let mut buffer = vec![0; bytes.min(usize::try_from(rest).unwrap_or(bytes))];
        self.file.read_at(&mut buffer, offset(no)).ok().map(|()| buffer)
    }
}
