//! Where the numbers of a report come from.

use serde::{Deserialize, Serialize};

/// The program, its settings, the machine, and what disturbed it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Version of the program.
    pub version: String,
    /// Commit of the work tree that the program was built from.
    pub commit: Option<String>,
    /// Whether that tree has changes.
    pub dirty: Option<bool>,
    /// XXH3-64 of the running program.
    pub binary_xxh3: Option<String>,
    /// The words of the command.
    pub command: Vec<String>,
    /// Name of the file behind the shape `file`.
    pub input: Option<String>,
    /// Seed of keys, values, probes and resampling.
    pub seed: u64,
    /// The engine's settings; `cache_bytes` and `mmap_max_level` are as each cell says.
    pub settings: kiban::Settings,
    /// Model of the processor.
    pub cpu: Option<String>,
    /// Processors that may be used.
    pub cores: Option<u64>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Type of the file system that held the stores.
    pub file_system: Option<String>,
    /// Allocator of the program.
    pub allocator: String,
    /// The clock of single calls.
    pub clock: ClockFacts,
    /// Whether the measured thread was held on a core.
    pub pinned: bool,
    /// Length of the time box in seconds.
    pub time_box_s: f64,
    /// Elapsed seconds of the whole run.
    pub elapsed_s: Option<f64>,
    /// Load average over one minute, before the run.
    pub load_average_before: Option<f64>,
    /// And after it.
    pub load_average_after: Option<f64>,
    /// Greatest share of processor time in a trial that the hypervisor took away.
    pub steal_max: Option<f64>,
    /// Greatest share of processor time in a trial that other processes used.
    pub other_cpu_max: Option<f64>,
    /// What a reader must know before believing the numbers.
    pub warnings: Vec<String>,
}

/// The clock of single calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockFacts {
    /// What it is.
    pub name: String,
    /// Its ticks in a nanosecond.
    pub ticks_per_ns: f64,
    /// Its least step; times within a step are spread evenly over it.
    pub step_ns: f64,
    /// What it adds to every timed call; not taken off.
    pub cost_ns: f64,
}
