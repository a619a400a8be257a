//! What `kiban ab` finds and what it does not: an index that was made slower by a quarter, and two that are one.
//!
//! Both take minutes and a quiet machine: `just detects`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kiban::accessor::{
    Accessor, AccessorBuilder, AccessorFile, AccessorFormat, Declined, FormatError, FormatId, Location,
    Params, Plan, PointAccessor, Probe, Registry, Residency, TableShape,
};
use kiban_benches::ab::{AbOptions, AbReport, Progress, Trials, run};
use kiban_benches::report::{Cell, Verdict};

/// `ph4` under another name, with a wait in each lookup.
#[derive(Debug)]
struct Slowed {
    name: &'static str,
    steps: u64,
    ph4: Arc<dyn AccessorFormat>,
}

impl Slowed {
    fn format(name: &'static str, steps: u64) -> Arc<dyn AccessorFormat> {
        let ph4 = Registry::built_in().by_name("ph4").unwrap().clone();
        Arc::new(Self { name, steps, ph4 })
    }
}

impl AccessorFormat for Slowed {
    fn id(&self) -> FormatId {
        FormatId::of_name(self.name)
    }
    fn name(&self) -> &str {
        self.name
    }
    fn plan(&self, shape: &TableShape, params: &Params) -> Plan {
        self.ph4.plan(shape, params)
    }
    fn builder(
        &self,
        shape: &TableShape,
        params: &Params,
        seed: u64,
    ) -> Result<Box<dyn AccessorBuilder>, Declined> {
        self.ph4.builder(shape, params, seed)
    }
    fn open(&self, file: AccessorFile, residency: Residency) -> Result<Accessor, FormatError> {
        let index = self.ph4.open(file, residency)?;
        Ok(Accessor::Plugin(Box::new(SlowedIndex { index, steps: self.steps })))
    }
}

#[derive(Debug)]
struct SlowedIndex {
    index: Accessor,
    steps: u64,
}

impl PointAccessor for SlowedIndex {
    fn locate(&self, probe: &Probe<'_>) -> Location {
        wait(self.steps);
        self.index.locate(probe)
    }
    fn resident_bytes(&self) -> usize {
        self.index.resident_bytes()
    }
    fn rejects_absent(&self) -> bool {
        self.index.rejects_absent()
    }
}

/// Steps of which each waits for the one before.
fn wait(steps: u64) {
    let mut word = black_box(1_u64);
    for _ in 0..steps {
        word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7);
    }
    black_box(word);
}

fn ns_a_step() -> f64 {
    const STEPS: u64 = 10_000_000;
    let round = |_| {
        let began = Instant::now();
        wait(STEPS);
        began.elapsed().as_nanos() as f64 / STEPS as f64
    };
    (0..5).map(round).fold(f64::MAX, f64::min)
}

struct Quiet;

impl Progress for Quiet {
    fn step(&mut self, _done: u64, _total: u64, _what: &str) {}
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn measured(options: &AbOptions) -> AbReport {
    let report = run(options, &mut Quiet).unwrap();
    assert_eq!(report.wrong, Vec::<String>::new());
    assert!(!report.has_failed_cells());
    report
}

fn cell<'a>(report: &'a AbReport, accessor: &str) -> &'a Cell {
    report.report.cells.iter().find(|cell| cell.accessor == accessor).unwrap()
}

/// Points of W1, both accessors plug-ins, the second one slower by so much.
fn pair(steps: u64, seed: u64) -> AbReport {
    measured(&AbOptions {
        shapes: words(&["w1"]),
        n: Some(100_000),
        seed: Some(seed),
        accessors: words(&["even", "slowed"]),
        formats: vec![Slowed::format("even", 0), Slowed::format("slowed", steps)],
        reads: words(&["mmap"]),
        stages: words(&["point"]),
        trials: Trials::Auto,
        time_box: Some(Duration::from_secs(30)),
        ..AbOptions::default()
    })
}

#[test]
#[ignore = "minutes; run by `just detects`"]
fn an_index_that_is_slower_by_a_quarter_is_found_nine_times_in_ten() {
    let p50 = cell(&pair(0, 1), "even").median_of(|trial| trial.p50_ns).unwrap();
    let steps = (p50 / 4.0 / ns_a_step()) as u64;
    let mut found = 0;
    for seed in 2..12 {
        let report = pair(steps, seed);
        let slowed = cell(&report, "slowed");
        let ratio = slowed.ratio_to["even"].p50.unwrap();
        println!("slower by {:.0} of {p50:.0} ns: {ratio:?}, {:?}", p50 / 4.0, slowed.verdict);
        found += u32::from(slowed.verdict == Verdict::Slower);
    }
    assert!(found >= 9, "found {found} times in 10");
}

#[test]
#[ignore = "minutes; run by `just detects`"]
fn an_index_beside_itself_is_no_faster_and_no_slower() {
    let report = measured(&AbOptions {
        shapes: words(&["w1", "uniform", "decimal", "url", "contract-slot"]),
        n: Some(50_000),
        accessors: words(&["ph4", "ph4"]),
        stages: words(&["point", "miss", "multiget", "latest"]),
        trials: Trials::Auto,
        time_box: Some(Duration::from_secs(300)),
        ..AbOptions::default()
    });
    let seconds = report.report.cells.iter().filter(|cell| cell.accessor.starts_with("ph4"));
    let cells: Vec<&Cell> = seconds.collect();
    let verdicts =
        cells.iter().filter(|cell| matches!(cell.verdict, Verdict::Faster | Verdict::Slower)).count();
    for cell in &cells {
        println!("{} {:?} {:?} {}: {:?}", cell.accessor, cell.shape, cell.read, cell.stage, cell.verdict);
    }
    assert!(cells.len() >= 40, "{} cells", cells.len());
    assert!(verdicts <= 3, "{verdicts} verdicts in {} cells", cells.len());
}
