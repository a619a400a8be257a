//! The run: each input is loaded once, then measured under each setting, stage by stage.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::AbError;
use super::options::AbOptions;
use super::outcome::StageOutcome;
use super::provenance::provenance;
use super::settle::{ReadMode, Settled, Shape, Stages};
use super::stage::Rules;
use super::warnings::Warnings;
use crate::clock::BestClock;
use crate::engine::{Layout, Opening, Warmth};
use crate::input::Records;
use crate::keys::{FileSet, Generated, KeySet, W1};
use crate::machine::{Pin, file_system_of, load_average};
use crate::report::{Cell, Report, SCHEMA_VERSION, Status, check_dir, write_dir};

/// Hears how far a run is.
pub trait Progress {
    /// Step `done` of `total` begins; `what` is a few words.
    fn step(&mut self, done: u64, total: u64, what: &str);
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct AbReport {
    /// What was measured.
    pub report: Report,
    /// A sentence for each wrong answer: accessor, key, expected, got. Empty if all were right.
    pub wrong: Vec<String>,
    /// The files that were written, if `out` was given.
    pub files: Vec<PathBuf>,
}

impl AbReport {
    /// Whether a cell could not be measured; a wrong answer is one reason.
    pub fn has_failed_cells(&self) -> bool {
        self.report.cells.iter().any(|cell| cell.status == Status::Failed)
    }
}

/// Runs the comparison, and writes the report if `out` is given.
///
/// # Errors
/// `Usage` that names the option, before anything is measured; `Store` and `Io` if a store
/// cannot be built or a file cannot be written. A wrong answer, or an engine that fails while it
/// is measured, is no error but part of the report.
pub fn run(options: &AbOptions, progress: &mut dyn Progress) -> Result<AbReport, AbError> {
    let settled = options.settle()?;
    if let Some(out) = &options.out {
        check_dir(out, options.force)?;
    }
    let work_dir = options.work_dir.clone().unwrap_or_else(std::env::temp_dir);
    let work = tempfile::Builder::new().prefix("kiban-ab-").tempdir_in(&work_dir);
    let work = work.map_err(|error| AbError::io(&work_dir, error))?;
    let pin = match options.pin {
        true => Some(Pin::new().map_err(|error| AbError::Usage(format!("--pin: {error}")))?),
        false => None,
    };
    let mut run = Run::new(options, settled, pin, progress);
    run.facts_of(work.path());
    for shape in run.settled.shapes.clone() {
        if run.is_stopped() {
            break;
        }
        let set: Box<dyn KeySet> = match shape {
            Shape::W1 => Box::new(W1::new(run.settled.n as usize, run.settled.seed)),
            Shape::Keys(shape) => Box::new(Generated::new(shape, run.settled.n as usize, run.settled.seed)),
            Shape::File => Box::new(FileSet(run.file(options)?)),
        };
        for layout in run.settled.layouts.clone() {
            if run.is_stopped() {
                break;
            }
            let dir = work.path().join(format!("{}-{}", set.shape(), layout.name()));
            match run.settled.stages.clone() {
                Stages::Reads { warm, cold } => run.reads(&dir, (&*set, layout), (&warm, &cold))?,
                Stages::Writes(stages) => run.writes(&dir, (&*set, layout), &stages)?,
                Stages::Upkeep(stages) => run.upkeep(&dir, &*set, &stages)?,
            }
        }
    }
    let mut finished = run.finish();
    if let Some(out) = &options.out {
        finished.files = write_dir(&finished.report, out, options.force)?;
    }
    Ok(finished)
}

/// Under what a stage is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) layout: Layout,
    pub(super) cache_mib: u64,
    pub(super) read: ReadMode,
    pub(super) threads: u32,
}

impl Setting {
    /// How stores are opened for it.
    pub(super) fn opening(self, durability: kiban::Durability) -> Opening {
        let is_mapped = self.read == ReadMode::Mmap;
        Opening { cache_bytes: self.cache_mib << 20, is_mapped, durability, warmth: Warmth::Warm }
    }
}

/// A run on its way.
pub(super) struct Run<'a> {
    pub(super) settled: Settled,
    clock: BestClock,
    pin: Option<Pin>,
    progress: &'a mut dyn Progress,
    began: Instant,
    steps_done: u64,
    time_left: Duration,
    stages_left: u32,
    stop: Option<Arc<AtomicBool>>,
    report: Report,
    warnings: Warnings,
    wrong: Vec<String>,
}

impl<'a> Run<'a> {
    fn new(options: &AbOptions, settled: Settled, pin: Option<Pin>, progress: &'a mut dyn Progress) -> Self {
        let clock = BestClock::new();
        let provenance = provenance(options, &settled, &clock);
        Self {
            clock,
            pin,
            progress,
            began: Instant::now(),
            steps_done: 0,
            time_left: settled.time_box,
            stages_left: (settled.inputs() * settled.stages_an_input()) as u32,
            stop: options.stop.clone(),
            report: Report { schema_version: SCHEMA_VERSION, provenance, cells: Vec::new() },
            warnings: Warnings::default(),
            wrong: Vec::new(),
            settled,
        }
    }

    /// Whether to end early.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn facts_of(&mut self, work: &Path) {
        self.report.provenance.file_system = file_system_of(work);
    }

    fn file(&mut self, options: &AbOptions) -> Result<Records, AbError> {
        let records = options.input.clone().map_or_else(Records::places, Ok)?;
        self.report.provenance.input = Some(records.name().to_owned());
        Ok(records)
    }

    /// Tells that a step begins: the loading of an input, or a stage.
    pub(super) fn step(&mut self, what: &str) {
        let total = self.settled.inputs() * (1 + self.settled.stages_an_input());
        self.progress.step(self.steps_done, total as u64, what);
        self.steps_done += 1;
    }

    /// Every combination of cache size, read mode and threads, on records laid out so.
    pub(super) fn settings(&self, layout: Layout) -> Vec<Setting> {
        let Settled { cache_mib, reads, threads, .. } = &self.settled;
        let mut settings = Vec::new();
        for &cache_mib in cache_mib {
            for &read in reads {
                settings.extend(threads.iter().map(|&threads| Setting { layout, cache_mib, read, threads }));
            }
        }
        settings
    }

    /// Where the next stage ends, and what it is run with.
    pub(super) fn rules(&self) -> Rules<'_> {
        Rules {
            trials: self.settled.trials,
            seed: self.settled.seed,
            clock: &self.clock,
            time: self.time_left / self.stages_left.max(1),
            stop: self.stop.as_deref(),
        }
    }

    pub(super) fn on_core(&self, action: fn(&Pin) -> io::Result<()>) -> Result<(), AbError> {
        let done = self.pin.as_ref().map_or(Ok(()), action);
        done.map_err(|error| AbError::Usage(format!("--pin: {error}")))
    }

    pub(super) fn pin(&self) -> Option<&Pin> {
        self.pin.as_ref()
    }

    /// What cells are known to be before they are measured.
    pub(super) fn known(&self, set: &dyn KeySet, setting: Setting) -> Cell {
        Cell {
            layout: setting.layout.name().to_owned(),
            cache_mib: Some(setting.cache_mib),
            read: Some(setting.read.name().to_owned()),
            threads: setting.threads,
            ..Cell::of_shape(set.shape(), set.len() as u64)
        }
    }

    /// Takes what came of a stage that began then.
    pub(super) fn take(&mut self, began: Instant, outcome: StageOutcome) {
        self.time_left = self.time_left.saturating_sub(began.elapsed());
        self.stages_left = self.stages_left.saturating_sub(1);
        if let Some(cell) = outcome.cells.first() {
            let place = format!("{} {} {}", cell.shape, cell.read.as_deref().unwrap_or_default(), cell.stage);
            self.warnings.see(&place, &outcome);
        }
        self.report.cells.extend(outcome.cells);
        self.wrong.extend(outcome.wrong);
    }

    fn finish(mut self) -> AbReport {
        if self.is_stopped() {
            self.warnings.interrupted(self.stages_left);
        }
        let provenance = &mut self.report.provenance;
        provenance.elapsed_s = Some(self.began.elapsed().as_secs_f64());
        provenance.load_average_after = load_average();
        provenance.steal_max = self.warnings.steal_max();
        provenance.other_cpu_max = self.warnings.other_cpu_max();
        provenance.warnings = self.warnings.sentences();
        AbReport { report: self.report, wrong: self.wrong, files: Vec::new() }
    }
}
