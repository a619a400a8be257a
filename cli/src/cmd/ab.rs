//! `kiban ab`: options for the runner in `kiban_benches::ab`, and its report on standard output.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use clap::{Args, ValueEnum};
use kiban_benches::ab::{self, AbOptions, AbReport, Trials};
use kiban_benches::input::Records;
use kiban_benches::report::{Report, SCHEMA, Status, write_dir};

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::input::{Format, Origin, Record, Spec};
use crate::output::Out;
use crate::progress::Progress;

/// Measure point indexes and other stores side by side, every answer checked
///
/// Without arguments: the shipped file of real places and W1 at 100,000 records, in under two minutes. Trials run in
/// interleaved pairs; a verdict is given only outside the noise floor of the run. The floor is a program that
/// only reads, checks and copies the record, its address known.
///
/// The exit code is 1 if an answer was wrong, 3 if something could not be measured. Ctrl-C ends the run after
/// the trial at hand, and what was measured is reported; a second one ends the program.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kiban ab
  kiban ab --input my.tsv.gz --accessors sorted,ph4 --cache-mib 32 --read mmap --stages point,miss
  kiban ab --shape w1 --n 1000000 --trials 9 --out report
  kiban ab --workload w3 --threads 1
  kiban ab --workload w6 --controls fjall,lmdb
  kiban ab --render report/ab.json --format html > report.html")]
pub(crate) struct AbArgs {
    /// Your own records, as `kiban load` reads them
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    input: Option<PathBuf>,
    /// The input's format; by default what its name says, else tsv
    #[arg(long, value_enum, requires = "input", help_heading = "Input")]
    input_format: Option<Format>,
    /// The field of the input that is the key
    #[arg(long, value_name = "FIELD", requires = "input", help_heading = "Input")]
    key: Option<String>,
    /// The field of the input that is the value
    #[arg(long, value_name = "FIELD", requires = "input", help_heading = "Input")]
    value: Option<String>,
    /// Work: `w1` (reads of the shape w1), `w3` (flush and compaction), `w6` (writes); without it, reads of all inputs
    #[arg(long, value_name = "WORK", help_heading = "Input")]
    workload: Option<String>,
    /// Inputs: `file` (yours or the shipped one), `w1`; keys of one shape: `uniform` (20 bytes), `uniform8`, `decimal`,
    /// `url`, `path`, `contract-slot`, `contract-hashed`; `all` is every one [default: file and w1]
    #[arg(long, value_name = "SHAPE", value_delimiter = ',', help_heading = "Input")]
    shape: Vec<String>,
    /// Records of a generated input, not of a file [default: 100000; of w3 1000000]
    #[arg(long, value_name = "N", help_heading = "Input")]
    n: Option<u64>,
    /// Seed of keys, values and questions
    #[arg(long, value_name = "SEED", help_heading = "Input")]
    seed: Option<u64>,

    /// What to measure, `all` is everything; the first is the baseline [default: sorted,ph4; of w6 sorted]
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = "Comparison")]
    accessors: Vec<String>,
    /// Other stores to measure beside: `lmdb`, `sqlite`, `fjall`, `redb`; needs a program built with `--features controls`
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = "Comparison")]
    controls: Vec<String>,
    /// Questions: `point`, `miss`, `multiget`, `latest`, `scan` and `cold` (hits in files dropped from memory); of w3
    /// `flush`, `compact`; of w6 `write_buffered`, `write_sync`, `mixed`; every one but `scan` and `cold` if not given
    #[arg(long, value_name = "STAGE", value_delimiter = ',', help_heading = "Comparison")]
    stages: Vec<String>,
    /// How the records are loaded: `bulk` (in key order, one sorted run), `normal` (shuffled batches, flushed and
    /// compacted) [default: bulk]
    #[arg(long, value_name = "LAYOUT", value_delimiter = ',', help_heading = "Comparison")]
    layout: Vec<String>,
    /// What the system is told of cold reads: `random` (not to read ahead), `default` (nothing) [default: random]
    #[arg(long, value_name = "ADVICE", value_delimiter = ',', help_heading = "Comparison")]
    advice: Vec<String>,
    /// Cache sizes in MiB
    #[arg(long, value_name = "MIB", value_delimiter = ',', help_heading = "Comparison")]
    cache_mib: Vec<u64>,
    /// How pages are read: `mmap`, `pread`; both if not given, of w3 and w6 mmap
    #[arg(long, value_name = "MODE", value_delimiter = ',', help_heading = "Comparison")]
    read: Vec<String>,
    /// Reading threads [default: 1]; of w3 background threads [default: 1,2]
    #[arg(long, value_name = "N", value_delimiter = ',', help_heading = "Comparison")]
    threads: Vec<u32>,
    /// Pairs of trials, or `auto`: until the noise is small or the time is over [default: auto]
    #[arg(long, value_name = "PAIRS", help_heading = "Comparison")]
    trials: Option<Trials>,
    /// Time for all trials, as 90s, 30m or 2h [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Comparison")]
    time_box: Option<Duration>,
    /// Keep the measured thread on one core
    #[arg(long, help_heading = "Comparison")]
    pin: bool,
    /// Where the stores are built [default: the directory for temporary files]
    #[arg(long, value_name = "DIR", help_heading = "Comparison")]
    work_dir: Option<PathBuf>,

    /// How to print the report
    #[arg(long, value_enum, default_value_t, help_heading = "Report")]
    format: ReportFormat,
    /// Write ab.json, ab.csv, ab.md and ab.html there
    #[arg(long, value_name = "DIR", help_heading = "Report")]
    out: Option<PathBuf>,
    /// Overwrite a report in --out
    #[arg(long, requires = "out", help_heading = "Report")]
    force: bool,
    /// Print a report again from its JSON, with --out write its files again, and measure nothing
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Report",
        conflicts_with_all = [
            "input", "workload", "shape", "n", "seed", "accessors", "controls", "stages", "layout", "advice", "cache_mib", "read", "threads",
            "trials", "time_box", "pin", "work_dir",
        ]
    )]
    render: Option<PathBuf>,
    /// Print the JSON Schema of ab.json
    #[arg(long, help_heading = "Report", exclusive = true)]
    schema: bool,
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// columns for people
    #[default]
    Table,
    /// the whole report, the source of the others
    Json,
    /// a line a cell and ratio
    Csv,
    /// a Markdown table
    Markdown,
    /// one page with plots
    Html,
}

impl AbArgs {
    pub(crate) fn run(&self, global: Global<'_>) -> Result<Exit, Failure> {
        if self.schema {
            print_text(SCHEMA)?;
            return Ok(Exit::Done);
        }
        if let Some(file) = &self.render {
            return self.render(file, global);
        }
        let options = self.options(global)?;
        let mut shown = Shown { global, progress: None };
        let result = ab::run(&options, &mut shown);
        shown.end();
        let finished = result?;
        self.print(&finished.report)?;
        tell_files(&finished.files, global);
        finished.wrong.iter().for_each(|wrong| eprintln!("kiban: wrong answer: {wrong}"));
        Ok(verdict(&finished))
    }

    /// A report that was measured before.
    fn render(&self, file: &Path, global: Global<'_>) -> Result<Exit, Failure> {
        let report = read_report(file)?;
        let files = match &self.out {
            Some(out) => write_dir(&report, out, self.force)?,
            None => Vec::new(),
        };
        self.print(&report)?;
        tell_files(&files, global);
        Ok(Exit::Done)
    }

    fn options(&self, global: Global<'_>) -> Result<AbOptions, Failure> {
        Ok(AbOptions {
            input: self.input.as_deref().map(|file| self.records(file)).transpose()?,
            accessors: self.accessors.clone(),
            formats: global.formats.to_vec(),
            workload: self.workload.clone(),
            shapes: self.shape.clone(),
            n: self.n,
            seed: self.seed,
            layouts: self.layout.clone(),
            cache_mib: self.cache_mib.clone(),
            reads: self.read.clone(),
            advice: self.advice.clone(),
            stages: self.stages.clone(),
            controls: self.controls.clone(),
            threads: self.threads.clone(),
            trials: self.trials.unwrap_or(Trials::Auto),
            time_box: self.time_box,
            pin: self.pin,
            work_dir: self.work_dir.clone(),
            stop: stop_flag()?,
            out: self.out.clone(),
            force: self.force,
        })
    }

    /// The user's own records, all in memory.
    fn records(&self, file: &Path) -> Result<Records, Failure> {
        let (key, value) = (self.key.clone(), self.value.clone());
        let spec = Spec { origin: Origin::of(file), format: self.input_format, key, value };
        let name = spec.origin.name();
        let mut reader = spec.open(false, &Arc::default()).map_err(|error| error.into_failure(&name))?;
        let mut pairs = Vec::new();
        let mut record = Record::default();
        while reader.next(&mut record).map_err(|error| error.into_failure(&name))? {
            let Record { key, value } = std::mem::take(&mut record);
            pairs.push((key, value));
        }
        Ok(Records::new(name, pairs)?)
    }

    fn print(&self, report: &Report) -> Result<(), Failure> {
        let text = match self.format {
            ReportFormat::Table => report.table(),
            ReportFormat::Markdown => report.markdown(),
            ReportFormat::Csv => report.csv(),
            ReportFormat::Html => report.html(),
            ReportFormat::Json => report
                .json()
                .map_err(|error| Failure::trouble(format!("cannot write the report: {error}")))?,
        };
        print_text(&text)
    }
}

fn print_text(text: &str) -> Result<(), Failure> {
    let mut out = Out::new();
    out.raw(text.as_bytes())?;
    out.finish()
}

fn tell_files(files: &[PathBuf], global: Global<'_>) {
    if !global.quiet {
        files.iter().for_each(|file| eprintln!("wrote {}", file.display()));
    }
}

fn read_report(file: &Path) -> Result<Report, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::io("read", file, &error))?;
    Report::from_json(&text).map_err(|error| Failure::io("read", file, &error))
}

/// A wrong answer is a finding; a cell that failed for another reason is trouble.
fn verdict(finished: &AbReport) -> Exit {
    let failed = finished.report.cells.iter().filter(|cell| cell.status == Status::Failed).count();
    if failed > finished.wrong.len() {
        Exit::Trouble
    } else if !finished.wrong.is_empty() {
        Exit::Finding
    } else {
        Exit::Done
    }
}

/// Shows how far the run is.
struct Shown<'a> {
    global: Global<'a>,
    progress: Option<Progress>,
}

impl Shown<'_> {
    fn end(&mut self) {
        if let Some(progress) = self.progress.take() {
            progress.finish();
        }
    }
}

impl ab::Progress for Shown<'_> {
    fn step(&mut self, done: u64, total: u64, what: &str) {
        let progress = self.progress.get_or_insert_with(|| Progress::new(self.global, Some(total)));
        progress.at(done, || format!("ab: {what}"));
    }
}

/// Set by Ctrl-C.
#[cfg(unix)]
fn stop_flag() -> Result<Option<Arc<AtomicBool>>, Failure> {
    let stop = crate::signals::stop_when_interrupted();
    stop.map(Some).map_err(|error| Failure::trouble(format!("cannot handle signals: {error}")))
}

#[cfg(not(unix))]
fn stop_flag() -> Result<Option<Arc<AtomicBool>>, Failure> {
    Ok(None)
}

/// A time as a whole number and a unit.
fn time(text: &str) -> Result<Duration, String> {
    let units = [("s", 1), ("m", 60), ("h", 3_600)];
    let found = units.iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, *seconds)));
    let seconds = found.and_then(|(count, unit)| count.parse::<u64>().ok()?.checked_mul(unit));
    match seconds {
        Some(seconds) if seconds > 0 => Ok(Duration::from_secs(seconds)),
        _ => Err("allowed are whole numbers above 0 with a unit: 90s, 30m, 2h".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(time("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(time("30m"), Ok(Duration::from_secs(1_800)));
        assert_eq!(time("2h"), Ok(Duration::from_secs(7_200)));
        for bad in [
            "",
            "s",
            "5",
            "0s",
            "-1s",
            "1.5h",
            "5 m",
            "5min",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }
}
