//! `kiban load`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use clap::Args;
use kiban::{Db, Durability, Keyspace, WriteBatch};

use super::put::durability;
use crate::args::{Global, StoreArgs};
use crate::exit::{Exit, Failure};
use crate::input::{Format, InputError, Origin, Reader, Record, Spec};
use crate::progress::Progress;

/// Records of a batch.
const BATCH_RECORDS: usize = 1_000;
/// A batch of long records ends earlier, so that memory stays bounded.
const BATCH_BYTES: usize = 8 << 20;
/// Lines between two looks at the progress of the check, which writes no batches.
const CHECK_RECORDS: u64 = 10_000;
/// Refused lines that are told one by one when they are skipped.
const SKIPPED_TOLD: u64 = 10;

/// Load records from a file
///
/// A file is read twice: once to check every line, then to load it, so that a malformed line or a damaged file
/// changes nothing. Standard input and pipes are read once; whole batches of 1,000 before a refused line stay loaded.
///
/// Records are written in file order, 1,000 lines a batch (fewer where they are long), each batch all or nothing.
/// A load that is killed leaves a prefix of the file; loading the file again gives the same contents as loading
/// it once. Of lines with the same key the last one counts.
#[derive(Debug, Args)]
#[command(after_help = "\
Formats:
  tsv    key TAB value; the first TAB splits; no escapes, no header; a CR belongs to the value
  csv    a header line; fields quoted as in RFC 4180; --key defaults to the first field, --value to the other one
         where there are two
  jsonl  an object a line; --key defaults to `key`, --value to the whole object; a string stands for its text,
         anything else for its JSON as it is written
  lines  a key a line, empty values
  bin    what `kiban dump` writes
Keys and values of text that begin with `hex:` are hex, as `kiban scan` prints them. Files may be gzip or zstd; their first
bytes tell. Lines end with LF, of csv and jsonl also with CR LF; the last line may lack it.

Examples:
  kiban load store places.tsv.gz
  kiban load store people.csv --key id --value name
  zcat events.jsonl.gz | kiban load store - --format jsonl --key id --skip-bad")]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// The file; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The format; by default what the file's name says (.csv, .jsonl, .ndjson, .bin), else tsv
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The field that is the key: a name, in csv also a number from 1
    #[arg(long, value_name = "FIELD")]
    key: Option<String>,
    /// The field that is the value
    #[arg(long, value_name = "FIELD")]
    value: Option<String>,
    /// Each batch is on the disk before the next one is written
    #[arg(long)]
    sync: bool,
    /// Skip lines that are refused, and say how many
    #[arg(long)]
    skip_bad: bool,
}

impl LoadArgs {
    /// Of a dump.
    pub(super) fn of_dump(store: StoreArgs, file: PathBuf, sync: bool) -> Self {
        Self { store, file, format: Some(Format::Bin), key: None, value: None, sync, skip_bad: false }
    }

    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        let spec = Spec {
            origin: Origin::of(&self.file),
            format: self.format,
            key: self.key.clone(),
            value: self.value.clone(),
        };
        let source = Source { name: spec.origin.name(), spec, skip_bad: self.skip_bad, global };
        // A store that cannot be opened is told before a large file is read. One that is not
        // there is made when the first records are.
        let there = self.store.open_if_there(global)?;
        if source.spec.origin.is_rereadable() {
            source.check()?;
        }
        let mut input = source.open(!global.quiet)?;
        let first = input.next_chunk(&source)?;
        let began = Instant::now();
        let db = there.map_or_else(|| self.store.open_or_make(global), Ok)?;
        let keyspace = db.keyspace(self.store.keyspace_name())?;
        let mut load = Load { db: &db, keyspace, durability: durability(self.sync), records: 0 };
        let result = load.run(&source, &mut input, first);
        let records = load.records;
        input.progress.finish();
        result.map_err(|failure| after(records, failure))?;
        db.close()?;
        if !global.quiet {
            let seconds = began.elapsed().as_secs_f64();
            let rate = records as f64 / seconds.max(1e-9);
            eprintln!(
                "kiban: {}: {records} records loaded in {seconds:.2} s, {rate:.0} records/s",
                source.name
            );
            source.tell_skipped(input.skipped);
        }
        Ok(Exit::Done)
    }
}

/// What is loaded, and how.
struct Source<'a> {
    name: String,
    spec: Spec,
    skip_bad: bool,
    global: Global<'a>,
}

/// The source while it is read.
struct Input {
    reader: Reader,
    consumed: Arc<AtomicU64>,
    progress: Progress,
    skipped: u64,
    /// Refused lines are told; not a second time.
    tells: bool,
}

impl Source<'_> {
    fn open(&self, tells: bool) -> Result<Input, Failure> {
        let consumed = Arc::default();
        let reader = self.spec.open(self.skip_bad, &consumed);
        let reader = reader.map_err(|error| error.into_failure(&self.name))?;
        let progress = Progress::new(self.global, self.spec.origin.len());
        Ok(Input { reader, consumed, progress, skipped: 0, tells })
    }

    /// Reads everything and writes nothing.
    fn check(&self) -> Result<(), Failure> {
        let mut input = self.open(false)?;
        let mut record = Record::default();
        let mut records = 0u64;
        while input.next(&mut record, self)? {
            records += 1;
            if records.is_multiple_of(CHECK_RECORDS) {
                input.tell(|| format!("{}: {records} records checked", self.name));
            }
        }
        input.progress.finish();
        Ok(())
    }

    fn tell_skipped(&self, skipped: u64) {
        if skipped > 0 {
            eprintln!("kiban: {}: lines skipped: {skipped}", self.name);
        }
    }
}

impl Input {
    /// The next record; refused lines are skipped if they may be.
    fn next(&mut self, record: &mut Record, source: &Source<'_>) -> Result<bool, Failure> {
        loop {
            match self.reader.next(record) {
                Ok(more) => return Ok(more),
                Err(error @ InputError::Line { .. }) if source.skip_bad => {
                    self.skipped += 1;
                    if self.tells && self.skipped <= SKIPPED_TOLD {
                        tell_refused(error, &source.name);
                    }
                }
                Err(error) => return Err(error.into_failure(&source.name)),
            }
        }
    }

    /// The records of the next batch; none at the end.
    fn next_chunk(&mut self, source: &Source<'_>) -> Result<Vec<Record>, Failure> {
        let (mut chunk, mut bytes) = (Vec::new(), 0);
        let mut record = Record::default();
        while chunk.len() < BATCH_RECORDS && bytes < BATCH_BYTES && self.next(&mut record, source)? {
            bytes += record.key.len() + record.value.len();
            chunk.push(std::mem::take(&mut record));
        }
        Ok(chunk)
    }

    fn tell(&mut self, what: impl FnOnce() -> String) {
        self.progress.at(self.consumed.load(Ordering::Relaxed), what);
    }
}

/// Writes records.
struct Load<'a> {
    db: &'a Db,
    keyspace: Keyspace,
    durability: Durability,
    /// Written so far.
    records: u64,
}

impl Load<'_> {
    fn run(&mut self, source: &Source<'_>, input: &mut Input, first: Vec<Record>) -> Result<(), Failure> {
        let mut chunk = first;
        while !chunk.is_empty() {
            let mut batch = WriteBatch::new();
            chunk.iter().for_each(|record| batch.put(&self.keyspace, &record.key, &record.value));
            self.write(batch)?;
            input.tell(|| format!("{}: {} records loaded", source.name, self.records));
            chunk = input.next_chunk(source)?;
        }
        Ok(())
    }

    fn write(&mut self, batch: WriteBatch) -> Result<(), Failure> {
        let records = batch.len() as u64;
        self.db.write_with(batch, self.durability)?;
        self.records += records;
        Ok(())
    }
}

fn tell_refused(error: InputError, name: &str) {
    if let Failure::Said { message, .. } = error.into_failure(name) {
        eprintln!("kiban: skipped: {message}");
    }
}

/// A failure in the middle of a load also says what stays.
fn after(records: u64, failure: Failure) -> Failure {
    match failure {
        Failure::Said { exit, message } if records > 0 => {
            Failure::Said { exit, message: format!("{message}; the {records} records before it are loaded") }
        }
        other => other,
    }
}
