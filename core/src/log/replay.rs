//! Reading the log at open.
//!
//! Files are read in the order in which they name each other. History ends at the first place
//! that is not whole. If something later says that what is missing there was once durable, that
//! is damage, and a strict open refuses; else it is what a power cut may leave, and what follows
//! is dropped: never a hole.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiban_formats::frame::{
    FILE_HEADER_BYTES, FileHeader, FileKind, Frame, FrameReader, Input, Next, ReadError, Tail,
};
use kiban_formats::log::{BATCH, END, LogBatch, LogOp};
use kiban_formats::manifest::{LiveLogs, LogEnd};
use kiban_formats::{FileNo, FormatError, KeyspaceId, Problem, SeqNo, StoreId};

use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::settings::RecoveryMode;
use crate::storage::{ReadFile, Storage};

/// A log file that is still needed.
#[derive(Clone, Debug)]
pub(crate) struct LiveLog {
    pub(crate) no: FileNo,
    /// The greatest sequence of each keyspace in it.
    pub(crate) keyspaces: BTreeMap<KeyspaceId, SeqNo>,
    /// Its bytes up to the end of its frames.
    pub(crate) bytes: u64,
}

impl LiveLog {
    /// Whether all operations in it are in tables, or no longer wanted, as `is_flushed` says.
    pub(crate) fn is_unneeded(&self, is_flushed: impl Fn(KeyspaceId, SeqNo) -> bool) -> bool {
        self.keyspaces.iter().all(|(keyspace, last)| is_flushed(*keyspace, *last))
    }
}

/// What was found in the log.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// Operations handed out.
    pub(crate) operations: u64,
    /// The sequence of the last one, or of the last one in tables.
    pub(crate) last_seq: SeqNo,
    /// All operations up to this sequence are durable: those in tables, and those of the log that
    /// had to be durable before a table was.
    pub(crate) durable: SeqNo,
    /// Bytes behind the last whole frame that are no zeros.
    pub(crate) truncated_bytes: u64,
    /// The files that hold it, oldest first.
    pub(crate) logs: Vec<LiveLog>,
    /// The newest of them, or 0, and how many bytes of it hold frames.
    pub(crate) previous: FileNo,
    pub(crate) previous_len: u64,
    /// Files that are not part of history.
    pub(crate) discarded: Vec<FileNo>,
}

/// What a replay needs to know.
#[derive(Debug)]
pub(crate) struct Replay<'a> {
    pub(crate) storage: &'a dyn Storage,
    pub(crate) dir: &'a Path,
    pub(crate) store_id: StoreId,
    /// All log files of the directory, rising.
    pub(crate) files: &'a [FileNo],
    /// What the manifest says is needed.
    pub(crate) live: LiveLogs,
    /// Where the log ended when the store was last closed in order.
    pub(crate) end: LogEnd,
    /// The greatest sequence that the manifest knows of.
    pub(crate) last_seq: SeqNo,
    pub(crate) mode: RecoveryMode,
}

/// A log file with a header that was read.
struct LogFile {
    header: FileHeader,
    path: PathBuf,
    len: u64,
}

impl LogFile {
    /// Opens the file again: not all files of a long log are open at once.
    fn input(&self, storage: &dyn Storage) -> Result<FileInput> {
        FileInput::open(storage, &self.path).map_err(|source| Error::io("read", &self.path, source))
    }
}

impl Replay<'_> {
    /// Hands out all operations in order.
    pub(crate) fn run(&self, mut apply: impl FnMut(SeqNo, &LogOp<'_>) -> Result<()>) -> Result<Recovered> {
        let mut chain = self.chain()?;
        let mut recovered = Recovered {
            operations: 0,
            last_seq: self.last_seq,
            durable: self.last_seq,
            truncated_bytes: 0,
            logs: Vec::new(),
            previous: FileNo(0),
            previous_len: 0,
            discarded: Vec::new(),
        };
        let begin = chain.first().filter(|log| self.begins(&log.header)).map(|log| log.header.first_seq);
        let mut next_seq = begin.unwrap_or(SeqNo(self.last_seq.0 + 1));
        let mut read = 0;
        while read < chain.len() {
            let log = &chain[read];
            let goes_on = match read.checked_sub(1) {
                None => begin.is_some(),
                Some(before) => self.follows(&log.header, &chain[before].header, next_seq, &recovered),
            };
            if !goes_on {
                break;
            }
            next_seq = next_seq.max(log.header.first_seq);
            // Only the file that follows this one says where its frames end.
            let next = chain.get(read + 1).filter(|next| next.header.previous == log.header.no);
            let end = next.map_or(u64::MAX, |next| next.header.previous_len);
            let (offset, whole) = self.read(log, end, &mut next_seq, &mut recovered, &mut apply)?;
            recovered.previous = log.header.no;
            recovered.previous_len = offset;
            if log.header.no == self.end.no && offset < self.end.bytes {
                self.refuse(self.shorter(&log.path, offset))?;
            }
            read += 1;
            if !whole {
                break;
            }
        }
        let dropped = chain.split_off(read);
        self.check_unproven(&dropped, next_seq)?;
        if let Some(newest) = chain.last().filter(|_| next_seq <= self.last_seq) {
            let what = format!("operation {next_seq} was durable before a table was and is missing");
            self.refuse(Error::corruption(&newest.path, what))?;
        }
        recovered.truncated_bytes += dropped.iter().map(|log| log.len).sum::<u64>();
        let kept = |no: &FileNo| !recovered.logs.iter().any(|log| log.no == *no);
        recovered.discarded = self.files.iter().copied().filter(kept).collect();
        recovered.last_seq = recovered.last_seq.max(SeqNo(next_seq.0 - 1));
        Ok(recovered)
    }

    /// The needed files in the order in which they name each other, then those that nothing
    /// leads to.
    fn chain(&self) -> Result<Vec<LogFile>> {
        let mut logs = Vec::new();
        for no in self.files.iter().filter(|no| **no >= self.live.oldest) {
            logs.extend(self.open(*no)?);
        }
        if self.live.newest.0 != 0 && self.live.oldest <= self.live.newest {
            for needed in [self.live.oldest, self.live.newest] {
                if !logs.iter().any(|log| log.header.no == needed) {
                    let path = self.dir.join(files::log(needed));
                    self.refuse(Error::corruption(
                        &path,
                        "the manifest needs this log, and it is not there",
                    ))?;
                }
            }
        }
        self.check_end(&logs)?;
        // Of two files that follow the same one, or none, the earlier was dropped by a recovery.
        let mut chain: Vec<LogFile> = Vec::new();
        for log in logs {
            while chain.last().is_some_and(|last| last.header.no > log.header.previous) {
                chain.pop();
            }
            chain.push(log);
        }
        Ok(chain)
    }

    /// Refuses a log that lost what it held when the store was closed. Nothing that comes later
    /// could tell: a power cut may take the end of a log that was not closed.
    fn check_end(&self, logs: &[LogFile]) -> Result<()> {
        let LogEnd { no, bytes } = self.end;
        if no.0 == 0 || no < self.live.oldest {
            return Ok(());
        }
        match logs.iter().find(|log| log.header.no == no) {
            None => {
                let what = "the store was closed with this log, and it is not there";
                self.refuse(Error::corruption(&self.dir.join(files::log(no)), what))
            }
            Some(log) if log.len < bytes => self.refuse(self.shorter(&log.path, log.len)),
            Some(_) => Ok(()),
        }
    }

    /// What a log has lost of what it held when the store was closed.
    fn shorter(&self, path: &Path, bytes: u64) -> Error {
        let what = format!("it has {bytes} bytes, and had {} when the store was closed", self.end.bytes);
        Error::corruption(path, what)
    }

    /// Opens a file and reads its header; `None` if the header never reached the disk.
    fn open(&self, no: FileNo) -> Result<Option<LogFile>> {
        let path = self.dir.join(files::log(no));
        let failed = |source| Error::io("read", &path, source);
        let file = FileInput::open(self.storage, &path).map_err(failed)?;
        let mut bytes = [0; FILE_HEADER_BYTES];
        let have = bytes.len().min(usize::try_from(file.len()).unwrap_or(bytes.len()));
        file.read_at(&mut bytes[..have], 0).map_err(failed)?;
        if have < bytes.len() || bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let header = FileHeader::decode(&bytes, FileKind::Log).map_err(|error| Error::format(&path, error));
        let header = header.and_then(|header| self.check_owner(&path, no, header));
        match header {
            Ok(header) => Ok(Some(LogFile { header, path, len: file.len() })),
            Err(error) if error.kind() == ErrorKind::Corruption => self.refuse(error).map(|()| None),
            Err(error) => Err(error),
        }
    }

    fn check_owner(&self, path: &Path, no: FileNo, header: FileHeader) -> Result<FileHeader> {
        let foreign = |found: String, expected: String| {
            Err(Error::format(path, FormatError::new("log header", 16, Problem::Foreign { found, expected })))
        };
        if header.store_id != self.store_id {
            return foreign(format!("store {}", header.store_id), format!("store {}", self.store_id));
        }
        if header.no != no {
            return foreign(format!("log {}", header.no), format!("log {no}"));
        }
        Ok(header)
    }

    /// Whether all history before this file is in tables.
    fn begins(&self, header: &FileHeader) -> bool {
        let nothing_before = header.previous.0 == 0 || header.previous < self.live.oldest;
        nothing_before && header.first_seq.0 <= self.last_seq.0 + 1
    }

    /// Whether history goes on in this file: it says that it follows the file read before, up to
    /// where that one was read, and begins with the next sequence. A later one is right where
    /// [`RecoveryMode::PointInTime`] once left out operations among those that tables hold.
    fn follows(
        &self,
        header: &FileHeader,
        before: &FileHeader,
        next_seq: SeqNo,
        recovered: &Recovered,
    ) -> bool {
        let in_tables = next_seq < header.first_seq && header.first_seq.0 <= self.last_seq.0 + 1;
        header.previous == before.no
            && header.previous_len == recovered.previous_len
            && (header.first_seq == next_seq || in_tables)
    }

    /// Reads one file. Where its frames end, and whether that is its whole.
    fn read(
        &self,
        log: &LogFile,
        end: u64,
        next_seq: &mut SeqNo,
        recovered: &mut Recovered,
        apply: &mut impl FnMut(SeqNo, &LogOp<'_>) -> Result<()>,
    ) -> Result<(u64, bool)> {
        let mut live =
            LiveLog { no: log.header.no, keyspaces: BTreeMap::new(), bytes: FILE_HEADER_BYTES as u64 };
        let input = log.input(self.storage)?;
        let mut reader = FrameReader::new(&input, &log.header, FILE_HEADER_BYTES as u64, end);
        let whole = loop {
            let start = reader.offset();
            live.bytes = start;
            match reader.next(next_seq.0) {
                Ok(Next::Frame(frame)) => {
                    match self.read_frame(log, &frame, next_seq, recovered, &mut live, apply) {
                        Ok(()) => {}
                        Err(error) if error.kind() == ErrorKind::Corruption => {
                            self.refuse(error)?;
                            recovered.logs.push(live);
                            return Ok((start, false));
                        }
                        Err(error) => return Err(error),
                    }
                }
                Ok(Next::End(tail)) => {
                    recovered.truncated_bytes += if tail == Tail::Torn { reader.torn_bytes() } else { 0 };
                    break tail == Tail::Clean || end == u64::MAX;
                }
                Err(ReadError::Io(source)) => return Err(Error::io("read", &log.path, source)),
                Err(ReadError::Format(error)) => {
                    self.refuse(Error::format(&log.path, error))?;
                    recovered.truncated_bytes += log.len.min(end) - start;
                    break false;
                }
            }
        };
        recovered.logs.push(live);
        Ok((reader.offset(), whole))
    }

    fn read_frame(
        &self,
        log: &LogFile,
        frame: &Frame<'_>,
        next_seq: &mut SeqNo,
        recovered: &mut Recovered,
        live: &mut LiveLog,
        apply: &mut impl FnMut(SeqNo, &LogOp<'_>) -> Result<()>,
    ) -> Result<()> {
        let wrong = |error: FormatError| Error::format(&log.path, error.moved_by(frame.offset));
        match frame.kind {
            END => return Ok(()),
            BATCH => {}
            kind => return Err(wrong(FormatError::invalid("log", 0, format!("unknown record kind {kind}")))),
        }
        let batch = LogBatch::decode(frame.payload).map_err(wrong)?;
        if batch.base != *next_seq {
            let what = format!("sequence {} where {next_seq} should be", batch.base);
            return Err(wrong(FormatError::invalid("log", 0, what)));
        }
        // All or nothing: what cannot be read to its end is not begun.
        batch.clone().ops().try_for_each(|op| op.map(|_| ())).map_err(wrong)?;
        for op in batch.ops() {
            let (seq, op) = op.map_err(wrong)?;
            live.keyspaces.insert(op.keyspace, seq);
            recovered.operations += 1;
            apply(seq, &op)?;
            *next_seq = SeqNo(seq.0 + 1);
        }
        Ok(())
    }

    /// Damage: an error, or with [`RecoveryMode::PointInTime`] the end of history.
    fn refuse(&self, error: Error) -> Result<()> {
        match self.mode {
            RecoveryMode::Strict => Err(error),
            RecoveryMode::PointInTime => Ok(()),
        }
    }

    /// Refuses to drop files if one of them says that operations from `next_seq` on, which are
    /// missing, were durable.
    fn check_unproven(&self, dropped: &[LogFile], next_seq: SeqNo) -> Result<()> {
        for log in dropped {
            let proven = log.header.durable_seq >= next_seq || {
                let input = log.input(self.storage)?;
                let mut reader = FrameReader::new(&input, &log.header, FILE_HEADER_BYTES as u64, u64::MAX);
                reader.proves(next_seq.0).map_err(|error| match error {
                    ReadError::Io(source) => Error::io("read", &log.path, source),
                    ReadError::Format(error) => Error::format(&log.path, error),
                })?
            };
            if proven {
                let what = format!("operation {next_seq}, before this log, was durable and is missing");
                self.refuse(Error::corruption(&log.path, what))?;
            }
        }
        Ok(())
    }
}

/// A file as the frame reader takes it.
#[derive(Debug)]
pub(crate) struct FileInput {
    file: Arc<dyn ReadFile>,
    len: u64,
}

impl FileInput {
    pub(crate) fn open(storage: &dyn Storage, path: &Path) -> io::Result<Self> {
        let file = storage.open(path)?;
        let len = file.len()?;
        Ok(Self { file, len })
    }
}

impl Input for FileInput {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(buf, offset)
    }
}
