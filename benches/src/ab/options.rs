//! What `kiban ab` is asked to do.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use kiban::accessor::AccessorFormat;

use crate::input::Records;

/// Fewest pairs of trials in a cell; no time box goes below it.
pub const PAIRS_MIN: u32 = 5;
/// Fewest pairs of [`Trials::Auto`] where time allows. The interval of fewer reaches from the least
/// to the greatest.
pub const AUTO_PAIRS_MIN: u32 = 10;
/// Most pairs of trials in a cell.
pub const PAIRS_MAX: u32 = 1_000;
/// Default of [`AbOptions::n`].
pub const N_DEFAULT: u64 = 100_000;
/// Default of [`AbOptions::n`] for the workload `w3`.
pub const N_UPKEEP: u64 = 1_000_000;
/// Most background threads; the engine refuses more.
pub const BACKGROUND_THREADS_MAX: u32 = 256;
/// Most reading threads.
pub const READERS_MAX: u32 = 64;
/// Most records of a generated shape: ranks and offsets stay far from overflow.
pub const N_MAX: u64 = 1_000_000_000;
/// Default of [`AbOptions::time_box`]. Loading, warming and checking come on top, and the whole
/// stays under two minutes.
pub const TIME_BOX_DEFAULT: Duration = Duration::from_secs(60);
/// Default of [`AbOptions::seed`].
pub const SEED_DEFAULT: u64 = 0x6b69_6261_6e00_0001;
/// Default of [`AbOptions::cache_mib`]: the engine's own default.
pub const CACHE_MIB_DEFAULT: u64 = kiban::defaults::CACHE_BYTES >> 20;
/// Most MiB of cache; the engine refuses more.
pub const CACHE_MIB_MAX: u64 = kiban::defaults::BYTES_MAX >> 20;

/// Default of [`AbOptions::accessors`].
pub const ACCESSORS_DEFAULT: [&str; 2] = ["sorted", "ph4"];

/// What to measure. An empty list means the default.
#[derive(Clone, Debug)]
pub struct AbOptions {
    /// The user's own records, for the shape `file`; `None`: the shipped places.
    pub input: Option<Records>,
    /// Accessor names, the baseline first; `all` is every one. A name that stands there twice is
    /// measured twice. Default: [`ACCESSORS_DEFAULT`]; of writes `sorted`.
    pub accessors: Vec<String>,
    /// Formats beside Kiban's own: `accessors` may name them.
    pub formats: Vec<Arc<dyn AccessorFormat>>,
    /// Which work: `w1`, reads of the shape `w1`; `w3`, flush and compaction; `w6`, writes. Default:
    /// reads.
    pub workload: Option<String>,
    /// Input shapes: `file`, `w1`, `uniform`, `uniform8`, `decimal`, `url`, `path`, `contract-slot`,
    /// `contract-hashed`; `all` is every one. Default: `file` if there is an input, else `w1` if there is a workload, else
    /// both.
    pub shapes: Vec<String>,
    /// Records of each generated shape; an error if none is. Default: [`N_DEFAULT`]; of `w3`
    /// [`N_UPKEEP`].
    pub n: Option<u64>,
    /// Seed of keys, values, probes and resampling. Default: [`SEED_DEFAULT`].
    pub seed: Option<u64>,
    /// Layouts, `bulk` or `normal`; `w3` has its own. Default: `bulk`.
    pub layouts: Vec<String>,
    /// Cache sizes in MiB. Default: [`CACHE_MIB_DEFAULT`].
    pub cache_mib: Vec<u64>,
    /// Read modes, `mmap` or `pread`. Default: both; of `w3` and `w6` `mmap`.
    pub reads: Vec<String>,
    /// What the system is told of cold reads: `random`, that it need not read ahead, or `default`,
    /// nothing. Default: `random`.
    pub advice: Vec<String>,
    /// Stages. Default: `point`, `miss`, `multiget`, `latest`; `scan` and `cold` if they are named, the latter as
    /// `cold_index_warm` and as `cold_all`. Of writes `write_buffered`,
    /// `write_sync`, `mixed`; of `w3` `flush`, `compact`.
    pub stages: Vec<String>,
    /// Other stores to measure beside, `lmdb`, `sqlite`, `fjall`, `redb`; none without the feature
    /// `controls`.
    pub controls: Vec<String>,
    /// Reading threads, default 1; of `w3` background threads, default 1 and 2.
    pub threads: Vec<u32>,
    /// Pairs of trials in a cell. Default: `Auto`.
    pub trials: Trials,
    /// Time for all trials. Shortens trials, never below [`PAIRS_MIN`] pairs. Default:
    /// [`TIME_BOX_DEFAULT`].
    pub time_box: Option<Duration>,
    /// Holds the measured thread on one core and keeps background threads off it.
    pub pin: bool,
    /// Whether to end early, set by another thread or a signal: no trial is begun any more, stages that
    /// are on their way become partial, and the report is written.
    pub stop: Option<Arc<AtomicBool>>,
    /// Where to build the stores; they are removed at the end. Default: the directory for
    /// temporary files.
    pub work_dir: Option<PathBuf>,
    /// Where to write `ab.json`, `ab.csv`, `ab.md` and `ab.html`; made if missing.
    pub out: Option<PathBuf>,
    /// Overwrite a report in `out`.
    pub force: bool,
}

impl Default for AbOptions {
    fn default() -> Self {
        Self {
            input: None,
            accessors: Vec::new(),
            formats: Vec::new(),
            workload: None,
            shapes: Vec::new(),
            n: None,
            seed: None,
            layouts: Vec::new(),
            cache_mib: Vec::new(),
            reads: Vec::new(),
            advice: Vec::new(),
            stages: Vec::new(),
            controls: Vec::new(),
            threads: Vec::new(),
            trials: Trials::Auto,
            time_box: None,
            pin: false,
            stop: None,
            work_dir: None,
            out: None,
            force: false,
        }
    }
}

/// How many pairs of trials a cell gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trials {
    /// This many, [`PAIRS_MIN`] to [`PAIRS_MAX`].
    Pairs(u32),
    /// At least [`AUTO_PAIRS_MIN`]; pairs are added until the smallest difference that could be found is at most 5 %, or the
    /// time box ends.
    Auto,
}

impl Trials {
    /// Fewest and most pairs where time allows.
    pub(crate) fn bounds(self) -> (u32, u32) {
        match self {
            Self::Pairs(pairs) => (pairs, pairs),
            Self::Auto => (AUTO_PAIRS_MIN, PAIRS_MAX),
        }
    }
}

impl FromStr for Trials {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        match text.parse() {
            Ok(pairs) if (PAIRS_MIN..=PAIRS_MAX).contains(&pairs) => Ok(Self::Pairs(pairs)),
            _ => Err(format!("trials: `{text}`; allowed are `auto` and {PAIRS_MIN} to {PAIRS_MAX}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_a_number_in_range_or_auto() {
        assert_eq!("auto".parse(), Ok(Trials::Auto));
        assert_eq!("7".parse(), Ok(Trials::Pairs(7)));
        assert!("4".parse::<Trials>().is_err());
        assert!("many".parse::<Trials>().is_err());
    }
}
