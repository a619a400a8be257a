//! Pages of a table file: from the map, the cache, or the file.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiban_formats::fence::{FenceNode, fence_units};
use kiban_formats::footer::Footer;
use kiban_formats::page::{Jumbo, Page, TableSalt, is_jumbo};
use kiban_formats::{FileNo, FormatError, PageNo, Problem, UNIT_BYTES};

use kiban_indexes::Location;
use kiban_indexes::prefetch::{LINE_BYTES, prefetch_range};

use super::context::TableContext;
use super::stats::Counted;
use super::unit_bits::UnitBits;
use crate::error::{Error, Result};
use crate::memory::{Frame, Worth};
use crate::storage::{Map, ReadFile};
use crate::value::Value;

/// Of a long entry only the first lines are fetched ahead: the processor's own prefetch sees the rest.
const PREFETCHED_BYTES_MAX: usize = 8 * LINE_BYTES;
/// Header, slots and shared prefix of most pages.
const HEAD_BYTES: usize = 2 * LINE_BYTES;

/// Reads the pages of one table.
#[derive(Debug)]
pub(super) struct Pages {
    path: PathBuf,
    no: FileNo,
    file: Arc<dyn ReadFile>,
    map: Option<Arc<dyn Map>>,
    context: TableContext,
    salt: TableSalt,
    /// Units of the longest data page.
    page_units: u32,
    data_units: u32,
    fence_units: u32,
    /// Bytes of an entry that are fetched before it is looked at.
    prefetched_bytes: usize,
    /// The fence pages of a map that have been checked.
    checked: UnitBits,
}

/// Bytes of a page, kept readable. [`Pages::bytes`] has them.
#[derive(Clone, Debug)]
pub(super) enum PageRef {
    /// A page in memory, checked when it was loaded.
    Frame(Frame),
    /// A page longer than frames are, a jumbo run, or the head of one, in memory; checked when it
    /// was loaded, of a run the head.
    Run(Arc<Vec<u8>>),
    /// A part of the map, not checked.
    Mapped(Range<usize>),
}

/// A data page, or the head of a jumbo run, whose checksum has been compared.
#[derive(Clone, Debug)]
pub(super) enum DataPage {
    Page(PageRef),
    Jumbo(PageRef),
}

/// A file to read pages of.
pub(super) struct OpenFile {
    pub(super) path: PathBuf,
    pub(super) no: FileNo,
    pub(super) file: Arc<dyn ReadFile>,
    pub(super) map: Option<Arc<dyn Map>>,
}

impl Pages {
    pub(super) fn new(open: OpenFile, footer: &Footer, entries: u64, context: TableContext) -> Self {
        let entry_bytes = u64::from(footer.data_units) * UNIT_BYTES as u64 / entries.max(1);
        let checked = UnitBits::new(if open.map.is_some() { footer.fence_units.into() } else { 0 });
        Self {
            path: open.path,
            no: open.no,
            file: open.file,
            map: open.map,
            context,
            salt: TableSalt::new(footer.table_id),
            page_units: footer.shape.page_units(),
            data_units: footer.data_units,
            fence_units: footer.fence_units,
            prefetched_bytes: (entry_bytes as usize + LINE_BYTES - 1).min(PREFETCHED_BYTES_MAX),
            checked,
        }
    }

    /// Bytes of memory behind this.
    pub(super) fn heap_bytes(&self) -> usize {
        let file = size_of_val(&*self.file) + self.map.as_ref().map_or(0, |map| size_of_val(&**map));
        let counts = 2 * size_of::<usize>() * (1 + usize::from(self.map.is_some()));
        file + counts + self.path.capacity() + self.checked.heap_bytes()
    }

    /// Whether pages are read through a map.
    pub(super) fn is_mapped(&self) -> bool {
        self.map.is_some()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self) -> &dyn ReadFile {
        &*self.file
    }

    pub(super) fn count(&self, what: Counted) {
        self.context.stats.count(what);
    }

    pub(super) fn salt(&self, page: PageNo) -> u32 {
        self.salt.page(page)
    }

    /// Something is wrong with a page; the offset counts from its start.
    #[cold]
    pub(super) fn damaged(&self, page: PageNo, error: FormatError) -> Error {
        Error::format(&self.path, error.moved_by(offset(page)))
    }

    /// The bytes of a page.
    #[inline]
    pub(super) fn bytes<'a>(&'a self, page: &'a PageRef) -> &'a [u8] {
        match (page, &self.map) {
            (PageRef::Frame(frame), _) => &frame.bytes,
            (PageRef::Run(run), _) => run,
            (PageRef::Mapped(range), Some(map)) => &map[range.clone()],
            (PageRef::Mapped(_), None) => &[],
        }
    }

    /// A part of a page as a value that keeps the page readable.
    #[inline]
    pub(super) fn value(&self, page: &PageRef, range: Range<usize>) -> Value {
        match (page, &self.map) {
            (PageRef::Frame(frame), _) => Value::framed(frame.clone(), range),
            (PageRef::Run(run), _) => Value::part(run.clone(), range),
            (PageRef::Mapped(page), Some(map)) => {
                Value::mapped(map.clone(), page.start + range.start..page.start + range.end)
            }
            (PageRef::Mapped(_), None) => Value::copy(&[]),
        }
    }

    /// The data page with this number. A page of a map comes unchecked, and with bytes of the
    /// pages behind it where it is not of the full length.
    #[inline]
    pub(super) fn data_page(&self, page: PageNo) -> Result<DataPage> {
        self.count(Counted::DataPage);
        self.check_range(page, 1, 0..self.data_units)?;
        let bytes = self.page_units.min(self.data_units - page.0) as usize * UNIT_BYTES;
        if let Some(map) = &self.map {
            let start = page.0 as usize * UNIT_BYTES;
            return match is_jumbo(&map[start..start + bytes]) {
                true => self.mapped_jumbo(page, &map[start..self.data_units as usize * UNIT_BYTES], start),
                false => Ok(DataPage::Page(PageRef::Mapped(start..start + bytes))),
            };
        }
        if let Some(frame) = self.context.budget.frames().get(self.no, page) {
            return Ok(DataPage::Page(PageRef::Frame(frame)));
        }
        self.load_data_page(page, bytes)
    }

    #[cold]
    fn load_data_page(&self, page: PageNo, page_bytes: usize) -> Result<DataPage> {
        let mut loaded = self.load(page, page_bytes)?;
        let bytes = self.bytes(&loaded);
        if is_jumbo(bytes) {
            return self.load_jumbo_head(page, bytes);
        }
        let view = Page::parse(bytes).and_then(|view| view.check_crc(self.salt(page)).map(|()| view));
        let own = view.map_err(|error| self.damaged(page, error))?.bytes();
        if own.len() < bytes.len() {
            let trimmed = self.in_memory(page, own.len(), |frame| {
                frame.copy_from_slice(own);
                Ok(())
            });
            loaded = trimmed?;
        }
        self.keep(page, &loaded, Worth::Data);
        Ok(DataPage::Page(loaded))
    }

    /// Begins to load what a look at this place needs, where the table is mapped: the page's header
    /// and the entry's lines, all at once. Looked at one by one, each would be waited for.
    #[inline]
    pub(super) fn prefetch(&self, location: &Location) {
        let Some(map) = &self.map else { return };
        match location {
            Location::Entry { page, offset } => {
                let page = page.0 as usize * UNIT_BYTES;
                prefetch_range(map, page + usize::from(*offset), self.prefetched_bytes);
                prefetch_range(map, page, HEAD_BYTES);
            }
            Location::Page(page) | Location::Slot { page, .. } => {
                prefetch_range(map, page.0 as usize * UNIT_BYTES, HEAD_BYTES);
            }
            _ => {}
        }
    }

    /// Compares the checksum of a page that has not been checked when it was loaded.
    pub(super) fn check_page(&self, page: PageNo, page_ref: &PageRef) -> Result<()> {
        match page_ref {
            PageRef::Frame(_) | PageRef::Run(_) => Ok(()),
            PageRef::Mapped(_) => Page::parse(self.bytes(page_ref))
                .and_then(|view| view.check_crc(self.salt(page)))
                .map_err(|error| self.damaged(page, error)),
        }
    }

    fn mapped_jumbo(&self, page: PageNo, bytes: &[u8], start: usize) -> Result<DataPage> {
        let jumbo = Jumbo::parse(bytes, self.salt(page)).map_err(|error| self.damaged(page, error))?;
        let run = self.run_bytes(page, &jumbo)?;
        Ok(DataPage::Jumbo(PageRef::Mapped(start..start + run)))
    }

    /// Reads the head of a jumbo run, of which the first page is `first`.
    fn load_jumbo_head(&self, page: PageNo, first: &[u8]) -> Result<DataPage> {
        let needed = Jumbo::head_bytes(first).map_err(|error| self.damaged(page, error))?;
        let bytes = match first.get(..needed) {
            Some(head) => head.to_vec(),
            None => self.read(page, needed)?,
        };
        let jumbo = Jumbo::parse(&bytes, self.salt(page)).map_err(|error| self.damaged(page, error))?;
        self.run_bytes(page, &jumbo)?;
        Ok(DataPage::Jumbo(PageRef::Run(Arc::new(bytes))))
    }

    /// The whole of a jumbo run of which the head is here.
    pub(super) fn whole_run(&self, page: PageNo, head: &PageRef) -> Result<PageRef> {
        match head {
            PageRef::Mapped(_) | PageRef::Frame(_) => Ok(head.clone()),
            PageRef::Run(bytes) => {
                let jumbo =
                    Jumbo::parse(bytes, self.salt(page)).map_err(|error| self.damaged(page, error))?;
                let bytes = self.read(page, self.run_bytes(page, &jumbo)?)?;
                Ok(PageRef::Run(Arc::new(bytes)))
            }
        }
    }

    /// Bytes of a run up to the end of its value, which is inside the data pages.
    fn run_bytes(&self, page: PageNo, jumbo: &Jumbo<'_>) -> Result<usize> {
        self.check_range(page, jumbo.units, 0..self.data_units)?;
        Ok(jumbo.value_offset + jumbo.value_len as usize)
    }

    /// The fence page with this number, checked.
    #[inline]
    pub(super) fn fence_page(&self, page: PageNo) -> Result<PageRef> {
        self.count(Counted::IndexPage);
        self.check_range(page, 1, self.data_units..self.data_units + self.fence_units)?;
        if let Some(map) = &self.map {
            return self.mapped_fence(page, map);
        }
        match self.context.budget.frames().get(self.no, page) {
            Some(frame) => Ok(PageRef::Frame(frame)),
            None => self.load_fence(page),
        }
    }

    fn mapped_fence(&self, page: PageNo, map: &[u8]) -> Result<PageRef> {
        let start = page.0 as usize * UNIT_BYTES;
        let units = fence_units(&map[start..]).map_err(|error| self.damaged(page, error))?;
        self.check_range(page, units.into(), self.data_units..self.data_units + self.fence_units)?;
        let range = start..start + usize::from(units) * UNIT_BYTES;
        let unit = page.0 - self.data_units;
        if !self.checked.is_set(unit) {
            self.check_fence(page, &map[range.clone()])?;
            self.checked.set(unit);
        }
        Ok(PageRef::Mapped(range))
    }

    #[cold]
    fn load_fence(&self, page: PageNo) -> Result<PageRef> {
        let mut loaded = self.load(page, UNIT_BYTES)?;
        let units = fence_units(self.bytes(&loaded)).map_err(|error| self.damaged(page, error))?;
        if units > 1 {
            self.check_range(page, units.into(), self.data_units..self.data_units + self.fence_units)?;
            loaded = self.load(page, usize::from(units) * UNIT_BYTES)?;
        }
        self.check_fence(page, self.bytes(&loaded))?;
        self.keep(page, &loaded, Worth::Index);
        Ok(loaded)
    }

    fn check_fence(&self, page: PageNo, bytes: &[u8]) -> Result<()> {
        FenceNode::parse(bytes)
            .and_then(|node| node.check_crc(self.salt(page)))
            .map_err(|error| self.damaged(page, error))
    }

    /// The units of a page are among these.
    #[inline]
    fn check_range(&self, page: PageNo, units: u32, allowed: Range<u32>) -> Result<()> {
        let end = page.0.checked_add(units);
        if page.0 >= allowed.start && end.is_some_and(|end| end <= allowed.end) {
            return Ok(());
        }
        Err(self.outside(page, units, allowed))
    }

    #[cold]
    fn outside(&self, page: PageNo, units: u32, allowed: Range<u32>) -> Error {
        let what = format!("{units} units that are not inside {}..{}", allowed.start, allowed.end);
        self.damaged(page, FormatError::new("page", 0, Problem::Invalid(what.into())))
    }

    /// Reads a page into memory.
    fn load(&self, page: PageNo, page_bytes: usize) -> Result<PageRef> {
        self.in_memory(page, page_bytes, |bytes| self.read_into(page, bytes))
    }

    /// A page in memory whose bytes are filled in: a frame, or a buffer of its own where there
    /// are no frames so long.
    fn in_memory(
        &self,
        page: PageNo,
        page_bytes: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<PageRef> {
        let Some(mut frame) = self.context.budget.frames().lend(self.no, page, page_bytes) else {
            let mut bytes = vec![0; page_bytes];
            fill(&mut bytes)?;
            return Ok(PageRef::Run(Arc::new(bytes)));
        };
        fill(&mut Arc::get_mut(&mut frame).expect("a lent frame is nobody else's").bytes)?;
        Ok(PageRef::Frame(frame))
    }

    fn keep(&self, page: PageNo, page_ref: &PageRef, worth: Worth) {
        if let PageRef::Frame(frame) = page_ref {
            self.context.budget.frames().insert(self.no, page, frame, worth);
        }
    }

    /// Reads from the start of a page. The caller has checked that the file has the bytes.
    pub(super) fn read(&self, page: PageNo, bytes: usize) -> Result<Vec<u8>> {
        let mut buffer = vec![0; bytes];
        self.read_into(page, &mut buffer)?;
        Ok(buffer)
    }

    fn read_into(&self, page: PageNo, buffer: &mut [u8]) -> Result<()> {
        self.count(Counted::FileRead);
        self.file.read_at(buffer, offset(page)).map_err(|source| read_error(&self.path, source))
    }
}

/// Where a page starts in its file.
pub(super) fn offset(page: PageNo) -> u64 {
    u64::from(page.0) * UNIT_BYTES as u64
}

/// A file that ended where its footer said it goes on is damaged; the rest is the system's.
pub(super) fn read_error(path: &Path, source: std::io::Error) -> Error {
    match source.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::corruption(path, "the file became shorter"),
        _ => Error::io("read", path, source),
    }
}
