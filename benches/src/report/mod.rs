//! `ab.json`: the types of a report, and what is rendered from it.
//!
//! JSON is the source of truth; the table, CSV, Markdown and the page are made from it. A value that is
//! not known is `null`, never 0. Times are in nanoseconds, sizes in bytes.

mod csv;
mod figures;
mod html;
mod markup;
mod notes;
mod number;
mod provenance;
#[cfg(test)]
mod sample;
mod schema;
mod setting;
mod svg;
mod text;
mod upkeep;
mod write;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use provenance::{ClockFacts, Provenance};
pub use schema::SCHEMA;
pub use write::{REPORT_FILES, check_dir, write_dir};

/// Version of the JSON. Fields may be added without a new one.
pub const SCHEMA_VERSION: u32 = 1;

/// A whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Where the numbers come from.
    pub provenance: Provenance,
    /// Accessor x input x stage.
    pub cells: Vec<Cell>,
}

/// Whether a cell can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Measured, every answer right.
    Ok,
    /// Fewer trials than asked for; `error` says why.
    Partial,
    /// No numbers, or a wrong answer; `error` says which.
    Failed,
}

/// What a cell says against the first accessor named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Less time, by more than the noise.
    Faster,
    /// More time, by more than the noise.
    Slower,
    /// No difference found, and one of 5 % would have been.
    Same,
    /// The noise hides any answer.
    None,
}

/// One accessor on one input in one stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Whether it can be believed.
    pub status: Status,
    /// What is wrong with it.
    pub error: Option<String>,
    /// Accessor, `control:NAME`, or `floor`.
    pub accessor: String,
    /// Shape of the input.
    pub shape: String,
    /// Records.
    pub n: u64,
    /// How the records were loaded: `bulk` or `normal`; `empty` if the store held none.
    pub layout: String,
    /// Cache in MiB; of the floor, and of a control without one: the cache of the accessors it
    /// ran beside.
    pub cache_mib: Option<u64>,
    /// `mmap` or `pread`; of the floor and of controls: of the accessors they ran beside.
    pub read: Option<String>,
    /// Of cold reads what the system was told: `random`, not to read ahead, or `default`, nothing.
    pub advice: Option<String>,
    /// What was asked.
    pub stage: String,
    /// Reading threads; of `flush` and `compact` background threads.
    pub threads: u32,
    /// The trials, in the order they ran.
    pub trials: Vec<TrialRow>,
    /// Ours over theirs, by the other's name. The baseline's ratio to itself is from A/A pairs.
    pub ratio_to: BTreeMap<String, RatioTo>,
    /// How far A/A pairs reached, as a ratio - 1.
    pub noise_floor: Option<f64>,
    /// The smallest difference that could have been found, as a ratio - 1.
    pub min_detectable: Option<f64>,
    /// Against the first accessor named, by p50.
    pub verdict: Verdict,
    /// Loading, and writing tables and accessors, per key.
    pub build_ns_per_key: Option<f64>,
    /// Bytes on disk by kind.
    pub disk_bytes: DiskBytes,
    /// Bytes of the accessor file per key.
    pub bytes_per_key: Option<f64>,
    /// The same by part.
    pub bytes_per_key_parts: Option<BTreeMap<String, f64>>,
    /// Bytes that the accessor holds in memory.
    pub resident_bytes: Option<u64>,
    /// Most memory of the process up to the end of the cell.
    pub peak_rss_bytes: Option<u64>,
    /// Lookups that the accessor could not answer.
    pub fallbacks: Option<u64>,
    /// Answers compared with the oracle in full.
    pub checked: Option<u64>,
}

/// Bytes on disk by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskBytes {
    /// Tables, with their sorted index.
    pub table: Option<u64>,
    /// Accessor files.
    pub accessor: Option<u64>,
    /// Filters, which are part of the tables' files.
    pub filter: Option<u64>,
}

/// One trial: every call of the plan once, timed one by one, then a part of it again without
/// the clock for the throughput.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRow {
    /// Half of the operations took at most this.
    pub p50_ns: Option<f64>,
    /// 99 in 100.
    pub p99_ns: Option<f64>,
    /// 999 in 1,000.
    pub p999_ns: Option<f64>,
    /// The mean.
    pub mean_ns: Option<f64>,
    /// Operations a second, without the clock of single calls.
    pub ops_per_s: Option<f64>,
    /// Page faults that waited for a device.
    pub major_faults_per_op: Option<f64>,
    /// Page faults that did not.
    pub minor_faults_per_op: Option<f64>,
    /// Data pages that the engine touched.
    pub data_pages_per_op: Option<f64>,
    /// Index and filter pages that the engine touched.
    pub index_pages_per_op: Option<f64>,
    /// Bytes read from the device.
    pub device_bytes_per_op: Option<f64>,
    /// Share of processor time that the hypervisor took away.
    pub steal: Option<f64>,
    /// Share of processor time that other processes used.
    pub other_cpu: Option<f64>,
    /// Upper ends and counts of the buckets that are not empty.
    pub histogram: Vec<(f64, u64)>,
    /// Of `flush` and `compact`; no other number of the trial is known then.
    pub upkeep: Option<UpkeepRow>,
}

/// One flush or compaction of all records, and what followed until the store was at rest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpkeepRow {
    /// Seconds until the new tables were published: the call returned.
    pub publish_s: f64,
    /// Seconds until the store was at rest, indexes built.
    pub idle_s: f64,
    /// Seconds of processor time that the process used until then.
    pub cpu_s: f64,
    /// Bytes that the process handed to the system to write until then.
    pub bytes_written: Option<u64>,
    /// Heap bytes of the store when the tables were published.
    pub publish_heap_bytes: u64,
    /// Heap bytes of the store at rest.
    pub idle_heap_bytes: u64,
}

/// Ours over theirs by measure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RatioTo {
    /// Of p50.
    pub p50: Option<Spread>,
    /// Of p99.
    pub p99: Option<Spread>,
    /// Of the mean.
    pub mean: Option<Spread>,
    /// Of the time until new tables were published.
    pub publish: Option<Spread>,
    /// Of the time until the store was at rest.
    pub idle: Option<Spread>,
    /// Of processor time until then.
    pub cpu: Option<Spread>,
    /// Of bytes written until then.
    pub written: Option<Spread>,
}

/// Paired ratios, summed up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
    /// Lower end of the 95 % bootstrap interval of the median.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
}

impl Cell {
    /// A cell of which nothing is measured yet.
    pub(crate) fn of_shape(shape: &str, n: u64) -> Self {
        Self {
            status: Status::Ok,
            error: None,
            accessor: String::new(),
            shape: shape.to_owned(),
            n,
            layout: "bulk".to_owned(),
            cache_mib: None,
            read: None,
            advice: None,
            stage: String::new(),
            threads: 1,
            trials: Vec::new(),
            ratio_to: BTreeMap::new(),
            noise_floor: None,
            min_detectable: None,
            verdict: Verdict::None,
            build_ns_per_key: None,
            disk_bytes: DiskBytes::default(),
            bytes_per_key: None,
            bytes_per_key_parts: None,
            resident_bytes: None,
            peak_rss_bytes: None,
            fallbacks: None,
            checked: None,
        }
    }

    /// The median over the trials of one of their numbers.
    pub fn median_of(&self, number: impl Fn(&TrialRow) -> Option<f64>) -> Option<f64> {
        let mut numbers: Vec<f64> = self.trials.iter().filter_map(number).collect();
        numbers.sort_unstable_by(f64::total_cmp);
        (!numbers.is_empty()).then(|| crate::stats::median(&numbers))
    }
}
