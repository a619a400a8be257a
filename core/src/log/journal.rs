//! The writing end of the log.

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiban_formats::frame::{
    FILE_HEADER_BYTES, FRAME_HEADER_BYTES, FileHeader, FileKind, FrameHeader, frame_tail,
};
use kiban_formats::log::{BATCH, END, LogOpKind, LogOps, batch_header};
use kiban_formats::manifest::{LiveLogs, LogEnd};
use kiban_formats::{FileNo, KeyspaceId, SeqNo, StoreId, TableMeta, varint};

use super::{LiveLog, Recovered};
use crate::error::{Error, Result};
use crate::files;
use crate::storage::{Storage, SyncFile, WriteFile};

/// Records up to this size are put together before they are appended.
const JOINED_BYTES_MAX: usize = 64 << 10;

/// How much room is reserved behind the last record: as much as the file has, within these. The
/// least keeps the log of a small store small; the most is enough that a reservation, which the
/// next sync pays for, is one in ten thousand writes.
const RESERVED_BYTES: RangeInclusive<u64> = 64 << 10..=4 << 20;

/// The log files of an open store. All methods are called under the commit lock.
#[derive(Debug)]
pub(crate) struct Journal {
    dir: PathBuf,
    storage: Arc<dyn Storage>,
    store_id: StoreId,
    /// A file this long is followed by a new one.
    rotate_bytes: u64,
    active: Option<Active>,
    /// Files that are no longer appended to but still needed, oldest first.
    sealed: VecDeque<LiveLog>,
    /// What the next file's header says of the one before.
    previous: FileNo,
    previous_len: u64,
    /// Sealed files of which some bytes may not be durable.
    unsynced: Vec<FileNo>,
    /// The greatest file number whose name is durable.
    named: FileNo,
    /// All operations up to this sequence are durable.
    durable: SeqNo,
    /// Files up to this number were there when the store was opened.
    found: FileNo,
    /// During recovery: what the manifest says is needed, which stays so.
    recovering: Option<LiveLogs>,
    scratch: Vec<u8>,
}

#[derive(Debug)]
struct Active {
    log: LiveLog,
    path: PathBuf,
    file: Box<dyn WriteFile>,
    syncer: Arc<dyn SyncFile>,
    salt: u32,
    /// Where the room ends that was asked for, got or not.
    reserved: u64,
}

impl Active {
    /// Makes room for a frame and more, so that its sync and those of the frames after it write no
    /// new length. What the storage does not give is not needed.
    fn reserve(&mut self, frame_len: u64, rotate_bytes: u64) {
        let end = self.log.bytes + frame_len;
        if end <= self.reserved {
            return;
        }
        let more = end.clamp(*RESERVED_BYTES.start(), *RESERVED_BYTES.end());
        self.reserved = (end + more).min(rotate_bytes).max(end);
        if self.reserved > end {
            let _ = self.file.reserve(self.reserved - self.log.bytes);
        }
    }

    /// Ends the file with its last record. Zeros behind that are nothing to a reader, so that a
    /// failure costs no more than the room.
    fn trim(&mut self) {
        let _ = self.file.trim();
    }
}

/// What a sync has to do.
#[derive(Debug)]
pub(crate) struct Unsynced {
    /// Sealed when the sync began: done for good by it.
    sealed: Vec<FileNo>,
    active: Option<(FileNo, PathBuf, Arc<dyn SyncFile>)>,
    /// The greatest number of a file that the directory should name.
    newest: FileNo,
    names: bool,
}

impl Unsynced {
    /// Syncs the files, oldest first, and their names.
    pub(crate) fn sync(&self, storage: &dyn Storage, dir: &Path) -> Result<()> {
        for no in &self.sealed {
            let path = dir.join(files::log(*no));
            let synced = storage.open_sync(&path).and_then(|file| file.sync());
            synced.map_err(|source| Error::io("sync", &path, source))?;
        }
        if let Some((_, path, file)) = &self.active {
            file.sync().map_err(|source| Error::io("sync", path, source))?;
        }
        if self.names {
            storage.sync_dir(dir).map_err(|source| Error::io("sync", dir, source))?;
        }
        Ok(())
    }
}

impl Journal {
    /// A journal whose log is yet to be recovered: these files hold it, `live` is what the
    /// manifest says is needed.
    pub(crate) fn recovering(
        storage: Arc<dyn Storage>,
        dir: PathBuf,
        store_id: StoreId,
        rotate_bytes: u64,
        (logs, live): (Vec<FileNo>, LiveLogs),
    ) -> Self {
        let found = logs.last().copied().unwrap_or_default();
        Self {
            dir,
            storage,
            store_id,
            rotate_bytes,
            active: None,
            sealed: VecDeque::new(),
            previous: FileNo(0),
            previous_len: 0,
            unsynced: logs,
            named: FileNo(0),
            durable: SeqNo(0),
            found,
            recovering: Some(live),
            scratch: Vec::new(),
        }
    }

    /// Goes on where the recovered log ends.
    pub(crate) fn recovered(&mut self, recovered: Recovered) {
        self.recovering = None;
        self.durable = self.durable.max(recovered.durable);
        self.previous = recovered.previous;
        self.previous_len = recovered.previous_len;
        // A file that is not part of history may have been synced with the others, but is to go.
        self.named = self.named.min(recovered.previous);
        self.unsynced.retain(|no| recovered.logs.iter().any(|log| log.no == *no));
        self.sealed = recovered.logs.into();
    }

    /// Makes sure that there is a file to append to, and says whether it is a new one. Nothing is
    /// logged by it: a failure leaves the log as it was.
    pub(crate) fn prepare(&mut self, first_seq: SeqNo, new_no: impl FnOnce() -> FileNo) -> Result<bool> {
        if self.active.as_ref().is_some_and(|active| active.log.bytes >= self.rotate_bytes) {
            self.retire_active();
        }
        if self.active.is_some() {
            return Ok(false);
        }
        let header = FileHeader {
            kind: FileKind::Log,
            store_id: self.store_id,
            no: new_no(),
            previous: self.previous,
            previous_len: self.previous_len,
            first_seq,
            durable_seq: self.durable,
        };
        let path = self.dir.join(files::log(header.no));
        let created = self.create(&path, &header);
        if created.is_err() {
            // A file without a whole header is no log; what cannot be removed is ignored.
            let _ = self.storage.remove(&path);
        }
        let (file, syncer) = created.map_err(|source| Error::io("create", &path, source))?;
        self.active = Some(Active {
            log: LiveLog { no: header.no, keyspaces: BTreeMap::new(), bytes: FILE_HEADER_BYTES as u64 },
            path,
            file,
            syncer,
            salt: header.salt(),
            reserved: 0,
        });
        Ok(true)
    }

    fn create(
        &self,
        path: &Path,
        header: &FileHeader,
    ) -> std::io::Result<(Box<dyn WriteFile>, Arc<dyn SyncFile>)> {
        let mut file = self.storage.create(path)?;
        file.append(&[&header.encode()])?;
        let syncer = file.syncer()?;
        Ok((file, syncer))
    }

    /// Appends one put (or, without a value, delete).
    pub(crate) fn append_one(
        &mut self,
        base: SeqNo,
        keyspace: KeyspaceId,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<()> {
        let mut head = batch_header(base, 1).to_vec();
        varint::encode(keyspace.0.into(), &mut head);
        let kind = if value.is_some() { LogOpKind::Put } else { LogOpKind::Delete };
        head.push(kind as u8);
        varint::encode(key.len() as u64, &mut head);
        let mut value_len = Vec::new();
        if let Some(value) = value {
            varint::encode(value.len() as u64, &mut value_len);
        }
        self.append(BATCH, &[&head, key, &value_len, value.unwrap_or_default()])
    }

    /// Appends the clearing of a keyspace.
    pub(crate) fn append_clear(&mut self, base: SeqNo, keyspace: KeyspaceId) -> Result<()> {
        let mut ops = LogOps::default();
        ops.push_clear(keyspace);
        self.append_batch(base, &ops)
    }

    /// Appends the ingest of these tables.
    pub(crate) fn append_ingest(
        &mut self,
        base: SeqNo,
        keyspace: KeyspaceId,
        tables: &[TableMeta],
    ) -> Result<()> {
        let mut ops = LogOps::default();
        ops.push_ingest(keyspace, tables);
        self.append_batch(base, &ops)
    }

    /// Appends a batch.
    pub(crate) fn append_batch(&mut self, base: SeqNo, ops: &LogOps) -> Result<()> {
        // The limits of a batch are checked before.
        let count = u32::try_from(ops.len()).unwrap_or(u32::MAX);
        self.append(BATCH, &[&batch_header(base, count), ops.bytes()])
    }

    /// Ends the active file in order and makes it durable: `last` and all before it are durable
    /// already, and the mark says so. Where the log ends then; `None`: where it ended when the
    /// store was opened, or nowhere.
    pub(crate) fn append_end(&mut self) -> Result<Option<LogEnd>> {
        if self.active.is_some() {
            self.append(END, &[])?;
        }
        if let Some(active) = &mut self.active {
            active.trim();
            active.file.sync().map_err(|source| Error::io("sync", &active.path, source))?;
        }
        let newest = self.active.as_ref().map(|active| &active.log).or(self.sealed.back());
        Ok(newest.filter(|log| log.no > self.found).map(|log| LogEnd { no: log.no, bytes: log.bytes }))
    }

    fn append(&mut self, kind: u8, payload: &[&[u8]]) -> Result<()> {
        let Some(active) = &mut self.active else { unreachable!("a file was prepared") };
        let header = FrameHeader::new(kind, self.durable.0, active.log.bytes, payload);
        let tail = frame_tail(header.payload_len);
        let frame_len = FRAME_HEADER_BYTES as u64 + header.payload_len + tail.len() as u64;
        let header = header.encode(active.salt);
        active.reserve(frame_len, self.rotate_bytes);
        let appended = if frame_len <= JOINED_BYTES_MAX as u64 {
            self.scratch.clear();
            self.scratch.extend_from_slice(&header);
            payload.iter().for_each(|part| self.scratch.extend_from_slice(part));
            self.scratch.extend_from_slice(tail);
            active.file.append(&[&self.scratch])
        } else {
            let mut parts: Vec<&[u8]> = Vec::with_capacity(payload.len() + 2);
            parts.push(&header);
            parts.extend_from_slice(payload);
            parts.push(tail);
            active.file.append(&parts)
        };
        appended.map_err(|source| Error::io("append to", &active.path, source))?;
        active.log.bytes += frame_len;
        Ok(())
    }

    /// Remembers that the active file holds operations of this keyspace up to `last`.
    pub(crate) fn note(&mut self, keyspace: KeyspaceId, last: SeqNo) {
        if let Some(active) = &mut self.active {
            active.log.keyspaces.insert(keyspace, last);
        }
    }

    /// Lets the next write begin a new file, so that this one can go once it is flushed.
    pub(crate) fn retire_active(&mut self) {
        if let Some(mut active) = self.active.take() {
            active.trim();
            self.previous = active.log.no;
            self.previous_len = active.log.bytes;
            self.unsynced.push(active.log.no);
            self.sealed.push_back(active.log);
        }
    }

    /// The same, if no operation in it is needed any more.
    pub(crate) fn retire_unneeded(&mut self, is_flushed: impl Fn(KeyspaceId, SeqNo) -> bool) {
        if self.active.as_ref().is_some_and(|active| active.log.is_unneeded(is_flushed)) {
            self.retire_active();
        }
    }

    /// What a sync that begins now has to do.
    pub(crate) fn begin_sync(&self) -> Unsynced {
        let active = self.active.as_ref();
        let newest =
            active.map(|active| active.log.no).or(self.unsynced.last().copied()).unwrap_or(self.named);
        Unsynced {
            sealed: self.unsynced.clone(),
            active: active.map(|active| (active.log.no, active.path.clone(), active.syncer.clone())),
            newest,
            names: newest > self.named,
        }
    }

    /// A sync is done; all operations up to `last` are durable.
    pub(crate) fn end_sync(&mut self, done: &Unsynced, last: SeqNo) {
        self.unsynced.retain(|no| !done.sealed.contains(no));
        self.named = self.named.max(done.newest);
        self.durable = self.durable.max(last);
    }

    /// Which files are needed if operations of each keyspace are in tables as `is_flushed` says.
    /// `next_file` is above all numbers in use.
    pub(crate) fn needed(
        &self,
        next_file: FileNo,
        is_flushed: impl Fn(KeyspaceId, SeqNo) -> bool,
    ) -> LiveLogs {
        if let Some(live) = self.recovering {
            return live;
        }
        let needed = self.sealed.iter().find(|log| !log.is_unneeded(&is_flushed));
        let active = self.active.as_ref().map(|active| active.log.no);
        let oldest = needed.map(|log| log.no).or(active).unwrap_or(next_file);
        LiveLogs { oldest, newest: self.named }
    }

    /// The greatest sequence in the files that are no longer needed; `None` if there is none.
    pub(crate) fn releasable(&self, live: LiveLogs) -> Option<SeqNo> {
        let logs = self.sealed.iter().take_while(|log| log.no < live.oldest);
        logs.map(|log| log.keyspaces.values().max().copied().unwrap_or_default()).max()
    }

    /// Forgets the files that are no longer needed, and names them.
    pub(crate) fn release(&mut self, live: LiveLogs) -> Vec<FileNo> {
        let mut released = Vec::new();
        while self.sealed.front().is_some_and(|log| log.no < live.oldest) {
            released.extend(self.sealed.pop_front().map(|log| log.no));
        }
        self.unsynced.retain(|no| !released.contains(no));
        released
    }

    /// Bytes of the files that hold the log.
    pub(crate) fn bytes(&self) -> u64 {
        let active = self.active.as_ref().map_or(0, |active| active.log.bytes);
        active + self.sealed.iter().map(|log| log.bytes).sum::<u64>()
    }

    /// Bytes of memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let logs = self.sealed.capacity() * size_of::<LiveLog>();
        (logs + self.scratch.capacity() + self.unsynced.capacity() * size_of::<FileNo>()) as u64
    }

    /// The oldest file, if it is no longer appended to.
    pub(crate) fn oldest_sealed(&self) -> Option<&LiveLog> {
        self.sealed.front()
    }

    /// The files that are no longer appended to, oldest first.
    pub(crate) fn sealed(&self) -> impl Iterator<Item = &LiveLog> {
        self.sealed.iter()
    }

    /// The files that hold the log, oldest first.
    pub(crate) fn files(&self) -> Vec<FileNo> {
        let active = self.active.as_ref().map(|active| active.log.no);
        self.sealed.iter().map(|log| log.no).chain(active).collect()
    }

    /// How many files hold the log.
    pub(crate) fn file_count(&self) -> usize {
        self.sealed.len() + usize::from(self.active.is_some())
    }
}
