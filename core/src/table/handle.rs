//! A table in its level, opened at first use and let go of when too many are open.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use arc_swap::{ArcSwapOption, Guard};
use kiban_formats::{Level, TableMeta};
use kiban_indexes::Probe;

use super::context::TableContext;
use super::reader::Table;
use crate::error::Result;
use crate::index::{Attached, Index, Slot};
use crate::output::NewTable;
use crate::own_files::OwnFiles;
use crate::source::{Found, Wants};
use crate::sync::lock;

/// A table in its level.
#[derive(Debug)]
pub(crate) struct TableHandle {
    pub(crate) meta: TableMeta,
    file: Arc<TableFile>,
}

/// A table's file. Opening a store opens no table. Once it is obsolete it goes with the last
/// reader.
#[derive(Debug)]
pub(super) struct TableFile {
    path: PathBuf,
    files: Arc<OwnFiles>,
    open: ArcSwapOption<Opened>,
    /// One opener at a time.
    opening: Mutex<()>,
    /// Read since the hand of [`OpenTables`](super::open_tables::OpenTables) passed.
    recent: AtomicBool,
    obsolete: AtomicBool,
    index: Slot,
}

/// An open table with its index, so that a read loads both at once.
#[derive(Debug)]
pub(crate) struct Opened {
    table: Arc<Table>,
    index: Option<Arc<Attached>>,
}

/// Bytes of memory that an open table takes beside itself: what it is shown by, and four counts.
pub(super) const OPENED_BYTES: usize = size_of::<Opened>() + 4 * size_of::<usize>();

/// An open table, kept open for as long as this is held.
pub(crate) enum OpenTable {
    /// Open before: no reference count is touched.
    Loaded(Guard<Option<Arc<Opened>>>),
    /// Opened just now.
    Fresh(Arc<Opened>),
}

impl OpenTable {
    #[inline]
    fn opened(&self) -> &Opened {
        match self {
            Self::Loaded(guard) => guard.as_deref().expect("it was open when this was made"),
            Self::Fresh(opened) => opened,
        }
    }

    /// The index to ask; counts where there should be one.
    #[inline]
    fn index(&self) -> Option<&Index> {
        self.opened().index.as_deref().and_then(Attached::index)
    }
}

impl Deref for OpenTable {
    type Target = Table;
    #[inline]
    fn deref(&self) -> &Table {
        &self.opened().table
    }
}

impl From<OpenTable> for Arc<Table> {
    fn from(open: OpenTable) -> Self {
        open.opened().table.clone()
    }
}

impl TableHandle {
    pub(crate) fn new(meta: TableMeta, path: PathBuf, files: Arc<OwnFiles>) -> Self {
        let file = TableFile {
            path,
            files,
            open: ArcSwapOption::empty(),
            opening: Mutex::default(),
            recent: AtomicBool::new(false),
            obsolete: AtomicBool::new(false),
            index: Slot::default(),
        };
        Self { meta, file: Arc::new(file) }
    }

    /// A table that was written just now.
    pub(crate) fn written(table: NewTable, files: Arc<OwnFiles>) -> Arc<Self> {
        let handle = Self::new(table.meta, table.path, files);
        if let Some(collected) = table.collected {
            handle.file.index.has_collected(collected);
        }
        Arc::new(handle)
    }

    /// The same file in another level.
    pub(crate) fn moved(&self, level: Level) -> Self {
        Self { meta: TableMeta { level, ..self.meta.clone() }, file: self.file.clone() }
    }

    /// Whether the key is in its range.
    #[inline]
    pub(crate) fn may_hold(&self, key: &[u8]) -> bool {
        *self.meta.smallest <= *key && *key <= *self.meta.largest
    }

    /// Whether some key of `smallest..=largest` may be in it.
    pub(crate) fn overlaps(&self, smallest: &[u8], largest: &[u8]) -> bool {
        *self.meta.smallest <= *largest && *smallest <= *self.meta.largest
    }

    /// The table, opened if it is not. A failed open is tried again by the next reader.
    #[inline]
    pub(crate) fn get(&self, context: &TableContext) -> Result<OpenTable> {
        let guard = self.file.open.load();
        if guard.is_none() {
            return self.open(context).map(OpenTable::Fresh);
        }
        self.file.touch();
        Ok(OpenTable::Loaded(guard))
    }

    /// What the table says of a key at a snapshot, by its index if it has one.
    #[inline]
    pub(crate) fn find(&self, context: &TableContext, probe: &Probe<'_>, wants: Wants) -> Result<Found> {
        let table = self.get(context)?;
        let index = table.index();
        let found = table.get(index, probe, wants);
        if let Some(index) = index
            && index.is_refuted()
        {
            self.let_go_of(index, context);
        }
        found
    }

    /// The same for many keys, in their order.
    pub(crate) fn find_many(&self, context: &TableContext, probes: &[Probe<'_>]) -> Result<Vec<Found>> {
        let table = self.get(context)?;
        let mut found = Vec::with_capacity(probes.len());
        let Some(index) = table.index() else {
            for probe in probes {
                found.push(table.get(None, probe, Wants::Value)?);
            }
            return Ok(found);
        };
        let got = table.get_many(index, probes, &mut found);
        if index.is_refuted() {
            self.let_go_of(index, context);
        }
        got.map(|()| found)
    }

    #[cold]
    fn let_go_of(&self, index: &Index, context: &TableContext) {
        self.file.index.detach_refuted(index.counters());
        self.file.show_index();
        context.ask_for_indexes();
    }

    /// Puts an index, or the lack of one, in the place of what there is.
    pub(crate) fn attach(&self, attached: Option<Attached>) {
        self.file.index.attach(attached);
        self.file.show_index();
    }

    /// Its index, or why it has none.
    pub(crate) fn index(&self) -> &Slot {
        &self.file.index
    }

    /// The table's file.
    pub(crate) fn path(&self) -> &Path {
        &self.file.path
    }

    /// The table's file and those of its indexes.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.file.paths()
    }

    #[cold]
    fn open(&self, context: &TableContext) -> Result<Arc<Opened>> {
        let opened = self.open_by_itself(context);
        context.notices.tell();
        if self.file.index.is_undecided() {
            context.ask_for_indexes();
        }
        opened
    }

    fn open_by_itself(&self, context: &TableContext) -> Result<Arc<Opened>> {
        let _one_opener = lock(&self.file.opening);
        if let Some(opened) = self.file.open.load_full() {
            return Ok(opened);
        }
        let table = Arc::new(Table::open(context, &self.file.path, &self.meta)?);
        let handle_bytes = table.handle_bytes();
        let opened = Arc::new(Opened { table, index: self.file.index.attached() });
        self.file.open.store(Some(opened.clone()));
        // An index that came meanwhile was not seen by `attached`, and saw no open table.
        self.file.show_index();
        context.open_tables.opened(&self.file, handle_bytes);
        Ok(opened)
    }

    /// The table if it is open.
    pub(crate) fn opened(&self) -> Option<Arc<Table>> {
        self.file.open.load().as_ref().map(|opened| opened.table.clone())
    }

    /// Bytes of memory it takes while its table is not open.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let keys = self.meta.smallest.len() + self.meta.largest.len();
        let counts = 4 * size_of::<usize>();
        let own = size_of::<Self>() + size_of::<TableFile>() + counts + self.file.index.memory_bytes();
        (own + keys + self.file.path.capacity()) as u64
    }

    /// No manifest names the file any more: it goes when nobody reads it.
    pub(crate) fn make_obsolete(&self) {
        self.file.obsolete.store(true, Ordering::Release);
    }
}

impl TableFile {
    /// Remembers that it was read; writes nothing if that is known.
    #[inline]
    fn touch(&self) {
        if !self.recent.load(Ordering::Relaxed) {
            self.recent.store(true, Ordering::Relaxed);
        }
    }

    /// Whether it was read since the last call.
    pub(super) fn was_read(&self) -> bool {
        self.recent.swap(false, Ordering::Relaxed)
    }

    /// Lets go of the open table, unless somebody holds it, whom that would not help.
    pub(super) fn let_go(&self) -> Option<Arc<Opened>> {
        let open = self.open.load_full()?;
        if Arc::strong_count(&open.table) > 1 { None } else { self.open.swap(None) }
    }

    fn paths(&self) -> Vec<PathBuf> {
        let sidecars = self.index.settled().sidecars.into_iter();
        let sidecars = sidecars.map(|(format, _)| self.path.with_extension(format));
        [self.path.clone()].into_iter().chain(sidecars).collect()
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.load().is_some()
    }

    /// Lets readers of the open table see the index that is attached now.
    fn show_index(&self) {
        loop {
            let open = self.open.load();
            let Some(opened) = &*open else { return };
            let index = self.index.attached();
            if index.as_ref().map(Arc::as_ptr) == opened.index.as_ref().map(Arc::as_ptr) {
                return;
            }
            let next = Arc::new(Opened { table: opened.table.clone(), index });
            // Whoever is quicker may have seen an older index: look again.
            let _ = self.open.compare_and_swap(&open, Some(next));
        }
    }
}

impl Drop for TableFile {
    fn drop(&mut self) {
        if *self.obsolete.get_mut() {
            self.paths().iter().for_each(|path| self.files.remove(path));
        }
    }
}
