//! The run: each input is loaded once, then measured under each setting, stage by stage.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use kiban::Settings;

use super::AbError;
use super::options::{AbOptions, ReadMode, Settled, Shape};
use super::stage::{StageOutcome, StageRun};
use super::warnings::Warnings;
use crate::answers::Answers;
use crate::clock::{BestClock, Clock};
use crate::engine::{Engine, Floor, KibanStore, build_store};
use crate::input::Records;
use crate::keys::{FileSet, KeySet, W1};
use crate::machine::{Facts, Pin, file_system_of, load_average};
use crate::plan::{Plan, Stage};
use crate::report::{
    Cell, ClockFacts, DiskBytes, Provenance, Report, SCHEMA_VERSION, Status, check_dir, write_dir,
};

/// Untimed gets before the first stage, as a share of the records: W1's 300,000 of 1,000,000.
const WARM_GETS_SHARE: f64 = 0.3;
/// Untimed latest-ten likewise.
const WARM_LATEST_SHARE: f64 = 0.03;

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
        let set: Box<dyn KeySet> = match shape {
            Shape::W1 => Box::new(W1::new(run.settled.n as usize, run.settled.seed)),
            Shape::File => Box::new(FileSet(run.file(options)?)),
        };
        run.input(&work.path().join(set.shape()), &*set)?;
    }
    let finished = run.finish();
    if let Some(out) = &options.out {
        write_dir(&finished.report, out, options.force)?;
    }
    Ok(finished)
}

struct Run<'a> {
    settled: Settled,
    clock: BestClock,
    pin: Option<Pin>,
    progress: &'a mut dyn Progress,
    began: Instant,
    steps_done: u64,
    time_left: Duration,
    stages_left: u32,
    report: Report,
    warnings: Warnings,
    wrong: Vec<String>,
}

impl<'a> Run<'a> {
    fn new(options: &AbOptions, settled: Settled, pin: Option<Pin>, progress: &'a mut dyn Progress) -> Self {
        let clock = BestClock::new();
        let stages =
            settled.shapes.len() * settled.cache_mib.len() * settled.reads.len() * settled.stages.len();
        let provenance = provenance(options, &settled, &clock);
        Self {
            clock,
            pin,
            progress,
            began: Instant::now(),
            steps_done: 0,
            time_left: settled.time_box,
            stages_left: stages as u32,
            report: Report { schema_version: SCHEMA_VERSION, provenance, cells: Vec::new() },
            warnings: Warnings::default(),
            wrong: Vec::new(),
            settled,
        }
    }

    fn facts_of(&mut self, work: &Path) {
        self.report.provenance.file_system = file_system_of(work);
    }

    fn file(&mut self, options: &AbOptions) -> Result<Records, AbError> {
        let records = options.input.clone().map_or_else(Records::places, Ok)?;
        self.report.provenance.input = Some(records.name().to_owned());
        Ok(records)
    }

    fn step(&mut self, what: &str) {
        let stages_and_loads = self.settled.shapes.len()
            * (1 + self.settled.cache_mib.len() * self.settled.reads.len() * self.settled.stages.len());
        self.progress.step(self.steps_done, stages_and_loads as u64, what);
        self.steps_done += 1;
    }

    /// Loads one input and measures it under each setting.
    fn input(&mut self, dir: &Path, set: &dyn KeySet) -> Result<(), AbError> {
        self.step(&format!("{}: load {} records", set.shape(), set.len()));
        let built = build_store(dir, set)?;
        read_files(dir).map_err(|error| AbError::io(dir, error))?;
        let mut floor = Floor::new(set);
        for cache_mib in self.settled.cache_mib.clone() {
            for read in self.settled.reads.clone() {
                let known = self.known(set, cache_mib, read);
                self.setting(dir, set, &mut floor, (&known, built))?;
            }
        }
        fs::remove_dir_all(dir).map_err(|error| AbError::io(dir, error))
    }

    /// Measures all stages with one cache size and read mode.
    fn setting(
        &mut self,
        dir: &Path,
        set: &dyn KeySet,
        floor: &mut Floor,
        (known, built): (&Cell, Duration),
    ) -> Result<(), AbError> {
        let mut stores = self.open_stores(dir, known)?;
        for store in &mut stores {
            warm(store, set, self.settled.seed);
        }
        for stage in self.settled.stages.clone() {
            let setting = known.read.as_deref().unwrap_or_default();
            self.step(&format!("{}, {setting}: {}", set.shape(), stage.name()));
            let mut engines: Vec<&mut dyn Engine> =
                stores.iter_mut().map(|store| store as &mut dyn Engine).collect();
            engines.push(floor);
            let mut outcome = self.stage(stage, &mut engines, set, known);
            for (cell, store) in outcome.cells.iter_mut().zip(&stores) {
                cell.build_ns_per_key = Some(built.as_nanos() as f64 / set.len() as f64);
                cell.disk_bytes = DiskBytes { table: Some(store.table_bytes()), ..DiskBytes::default() };
                cell.resident_bytes = Some(store.resident_bytes());
            }
            self.take(outcome);
        }
        for store in &stores {
            store.close()?;
        }
        Ok(())
    }

    /// One store an accessor. Its threads stay off the measured core.
    fn open_stores(&self, dir: &Path, known: &Cell) -> Result<Vec<KibanStore>, AbError> {
        self.on_core(Pin::leave_core)?;
        let settings = Settings {
            cache_bytes: known.cache_mib.unwrap_or_default() << 20,
            mmap_max_level: (known.read.as_deref() == Some(ReadMode::Mmap.name())).then_some(u32::MAX),
            ..Settings::default()
        };
        let open = |name: &String| KibanStore::open(dir, name, settings.clone());
        let stores = self.settled.accessors.iter().map(open).collect::<kiban::Result<_>>()?;
        self.on_core(Pin::take_core)?;
        Ok(stores)
    }

    fn on_core(&self, action: fn(&Pin) -> io::Result<()>) -> Result<(), AbError> {
        let done = self.pin.as_ref().map_or(Ok(()), action);
        done.map_err(|error| AbError::Usage(format!("--pin: {error}")))
    }

    fn stage(
        &mut self,
        stage: Stage,
        engines: &mut [&mut dyn Engine],
        set: &dyn KeySet,
        known: &Cell,
    ) -> StageOutcome {
        let began = Instant::now();
        let run = StageRun {
            stage,
            trials: self.settled.trials,
            seed: self.settled.seed,
            clock: &self.clock,
            time: self.time_left / self.stages_left.max(1),
        };
        let outcome = run.run(engines, set, known);
        self.time_left = self.time_left.saturating_sub(began.elapsed());
        self.stages_left = self.stages_left.saturating_sub(1);
        outcome
    }

    /// What a cell is known to be before it is measured.
    fn known(&self, set: &dyn KeySet, cache_mib: u64, read: ReadMode) -> Cell {
        Cell {
            cache_mib: Some(cache_mib),
            read: Some(read.name().to_owned()),
            ..Cell::of_shape(set.shape(), set.len() as u64)
        }
    }

    fn take(&mut self, outcome: StageOutcome) {
        if let Some(cell) = outcome.cells.first() {
            let place = format!("{} {} {}", cell.shape, cell.read.as_deref().unwrap_or_default(), cell.stage);
            self.warnings.see(&place, &outcome);
        }
        self.report.cells.extend(outcome.cells);
        self.wrong.extend(outcome.wrong);
    }

    fn finish(mut self) -> AbReport {
        let provenance = &mut self.report.provenance;
        provenance.elapsed_s = Some(self.began.elapsed().as_secs_f64());
        provenance.load_average_after = load_average();
        provenance.steal_max = self.warnings.steal_max();
        provenance.other_cpu_max = self.warnings.other_cpu_max();
        provenance.warnings = self.warnings.sentences();
        AbReport { report: self.report, wrong: self.wrong }
    }
}

/// Brings all files of a store into the page cache.
fn read_files(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        io::copy(&mut File::open(entry?.path())?, &mut io::sink())?;
    }
    Ok(())
}

/// Untimed calls; a failure shows when the answers are checked.
fn warm(engine: &mut dyn Engine, set: &dyn KeySet, seed: u64) {
    let part = |share: f64| ((set.len() as f64 * share) as usize).max(100);
    let mut answers = Answers::default();
    for (stage, calls) in [(Stage::Point, part(WARM_GETS_SHARE)), (Stage::Latest, part(WARM_LATEST_SHARE))] {
        let plan = Plan::new(set, stage, calls, !seed);
        engine.prepare(&plan);
        for call in 0..plan.len() {
            answers.clear();
            if engine.call(&plan, call, &mut answers).is_err() {
                return;
            }
        }
    }
}

fn provenance(options: &AbOptions, settled: &Settled, clock: &BestClock) -> Provenance {
    let facts = Facts::gather();
    Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: facts.commit,
        dirty: facts.dirty,
        binary_xxh3: facts.binary_xxh3,
        command: facts.command,
        input: None,
        seed: settled.seed,
        settings: Settings::default(),
        cpu: facts.cpu,
        cores: facts.cores,
        kernel: facts.kernel,
        file_system: None,
        allocator: format!("system ({})", if cfg!(target_env = "musl") { "musl" } else { "libc" }),
        clock: ClockFacts {
            name: clock.name().to_owned(),
            ticks_per_ns: clock.ticks_per_ns(),
            step_ns: clock.step_ticks() as f64 / clock.ticks_per_ns(),
            cost_ns: clock.cost_ns(),
        },
        pinned: options.pin,
        time_box_s: settled.time_box.as_secs_f64(),
        elapsed_s: None,
        load_average_before: load_average(),
        load_average_after: None,
        steal_max: None,
        other_cpu_max: None,
        warnings: Vec::new(),
    }
}
