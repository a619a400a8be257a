//! What `kiban ab` is asked to do, and the refusal of what this build cannot do.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::AbError;
use crate::input::Records;
use crate::plan::Stage;

/// Fewest pairs of trials in a cell; no time box goes below it.
pub const PAIRS_MIN: u32 = 5;
/// Fewest pairs of [`Trials::Auto`] where time allows. The interval of fewer reaches from the least
/// to the greatest.
pub const AUTO_PAIRS_MIN: u32 = 10;
/// Most pairs of trials in a cell.
pub const PAIRS_MAX: u32 = 1_000;
/// Default of [`AbOptions::n`].
pub const N_DEFAULT: u64 = 100_000;
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

/// Names that the design has and this build does not, by option: they get another sentence than
/// a misspelt name.
const LATER: &[(&str, &[&str])] = &[
    ("accessors", &["ph2", "ph3", "ph4", "btree", "kvi", "lemon", "all"]),
    ("shape", &["uniform", "uniform8", "decimal", "url", "path", "contract-slot", "contract-hashed"]),
    ("layout", &["normal"]),
    ("stages", &["scan", "cold"]),
    ("controls", &["lmdb", "sqlite", "fjall", "redb", "rocksdb"]),
];

/// What to measure. An empty list means the default.
#[derive(Clone, Debug)]
pub struct AbOptions {
    /// The user's own records, for the shape `file`; `None`: the shipped places.
    pub input: Option<Records>,
    /// Accessor names, the baseline first. Default: `sorted`.
    pub accessors: Vec<String>,
    /// Input shapes. Default: `file` if there is an input, else `file` and `w1`.
    pub shapes: Vec<String>,
    /// Records of each generated shape. Default: [`N_DEFAULT`].
    pub n: Option<u64>,
    /// Seed of keys, values, probes and resampling. Default: [`SEED_DEFAULT`].
    pub seed: Option<u64>,
    /// Layouts. Default: `bulk`.
    pub layouts: Vec<String>,
    /// Cache sizes in MiB. Default: [`CACHE_MIB_DEFAULT`].
    pub cache_mib: Vec<u64>,
    /// Read modes, `mmap` or `pread`. Default: both.
    pub reads: Vec<String>,
    /// Stages. Default: `point`, `miss`, `multiget`, `latest`.
    pub stages: Vec<String>,
    /// Other stores to measure beside.
    pub controls: Vec<String>,
    /// Reading threads. Default: 1.
    pub threads: Option<u32>,
    /// Pairs of trials in a cell. Default: `Auto`.
    pub trials: Trials,
    /// Time for all trials. Shortens trials, never below [`PAIRS_MIN`] pairs. Default:
    /// [`TIME_BOX_DEFAULT`].
    pub time_box: Option<Duration>,
    /// Holds the measured thread on one core and keeps background threads off it.
    pub pin: bool,
    /// Where to build the stores; they are removed at the end. Default: the directory for
    /// temporary files.
    pub work_dir: Option<PathBuf>,
    /// Where to write `ab.json`, `ab.csv` and `ab.md`; made if missing.
    pub out: Option<PathBuf>,
    /// Overwrite a report in `out`.
    pub force: bool,
}

impl Default for AbOptions {
    fn default() -> Self {
        Self {
            input: None,
            accessors: Vec::new(),
            shapes: Vec::new(),
            n: None,
            seed: None,
            layouts: Vec::new(),
            cache_mib: Vec::new(),
            reads: Vec::new(),
            stages: Vec::new(),
            controls: Vec::new(),
            threads: None,
            trials: Trials::Auto,
            time_box: None,
            pin: false,
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

/// How table pages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReadMode {
    /// Through a memory map of the table.
    Mmap,
    /// By `pread` into the engine's cache.
    Pread,
}

impl ReadMode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mmap => "mmap",
            Self::Pread => "pread",
        }
    }
}

/// Where records come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// The given or the shipped file.
    File,
    /// The generated workload W1.
    W1,
}

/// The options, checked and with defaults filled in.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    pub(crate) accessors: Vec<String>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) n: u64,
    pub(crate) seed: u64,
    pub(crate) cache_mib: Vec<u64>,
    pub(crate) reads: Vec<ReadMode>,
    pub(crate) stages: Vec<Stage>,
    pub(crate) trials: Trials,
    pub(crate) time_box: Duration,
}

impl AbOptions {
    /// Checks every option and fills in defaults.
    pub(crate) fn settle(&self) -> Result<Settled, AbError> {
        let default_shapes: &[&str] = if self.input.is_some() { &["file"] } else { &["file", "w1"] };
        let _: Vec<()> = named("layout", &self.layouts, &["bulk"], &[("bulk", ())])?;
        let _: Vec<()> = named("controls", &self.controls, &[], &[])?;
        range("threads", u64::from(self.threads.unwrap_or(1)), 1, 1)?;
        if let Trials::Pairs(pairs) = self.trials {
            range("trials", pairs.into(), PAIRS_MIN.into(), PAIRS_MAX.into())?;
        }
        let cache_mib =
            if self.cache_mib.is_empty() { vec![CACHE_MIB_DEFAULT] } else { self.cache_mib.clone() };
        for mib in &cache_mib {
            range("cache-mib", *mib, 0, CACHE_MIB_MAX)?;
        }
        let accessors: Vec<&str> = named("accessors", &self.accessors, &["sorted"], &[("sorted", "sorted")])?;
        let modes = [("mmap", ReadMode::Mmap), ("pread", ReadMode::Pread)];
        let stages = Stage::ALL.map(|stage| (stage.name(), stage));
        Ok(Settled {
            accessors: accessors.into_iter().map(str::to_owned).collect(),
            shapes: named(
                "shape",
                &self.shapes,
                default_shapes,
                &[("file", Shape::File), ("w1", Shape::W1)],
            )?,
            n: range("n", self.n.unwrap_or(N_DEFAULT), 1, N_MAX)?,
            seed: self.seed.unwrap_or(SEED_DEFAULT),
            cache_mib,
            reads: named("read", &self.reads, &["mmap", "pread"], &modes)?,
            stages: named("stages", &self.stages, &Stage::ALL.map(Stage::name), &stages)?,
            trials: self.trials,
            time_box: self.time_box.unwrap_or(TIME_BOX_DEFAULT),
        })
    }
}

/// The values behind names, each name once; `default` where none is given.
fn named<T: Copy>(
    option: &str,
    given: &[String],
    default: &[&str],
    known: &[(&str, T)],
) -> Result<Vec<T>, AbError> {
    let given: Vec<&str> =
        if given.is_empty() { default.to_vec() } else { given.iter().map(String::as_str).collect() };
    let mut values = Vec::with_capacity(given.len());
    for (at, name) in given.iter().enumerate() {
        if given[..at].contains(name) {
            return Err(AbError::Usage(format!("--{option}: `{name}` is named twice")));
        }
        match known.iter().find(|(known, _)| known == name) {
            Some((_, value)) => values.push(*value),
            None => return Err(unknown(option, name, known.iter().map(|(name, _)| *name).collect())),
        }
    }
    Ok(values)
}

fn unknown(option: &str, name: &str, built: Vec<&str>) -> AbError {
    let later = LATER.iter().any(|(of, names)| *of == option && names.contains(&name));
    let problem = if later { "is not built into this version" } else { "is not known" };
    let built = if built.is_empty() { "none".to_owned() } else { built.join(", ") };
    AbError::Usage(format!("--{option}: `{name}` {problem}; built: {built}"))
}

fn range(option: &str, value: u64, least: u64, most: u64) -> Result<u64, AbError> {
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    let allowed = if least == most { least.to_string() } else { format!("{least} to {most}") };
    Err(AbError::Usage(format!("--{option}: {value} is not possible; allowed: {allowed}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn refusal(options: &AbOptions) -> String {
        match options.settle() {
            Err(AbError::Usage(message)) => message,
            other => panic!("a usage error was expected, found {other:?}"),
        }
    }

    #[test]
    fn defaults_are_the_file_and_w1_with_all_stages() {
        let settled = AbOptions::default().settle().unwrap();
        assert_eq!(settled.shapes, [Shape::File, Shape::W1]);
        assert_eq!(settled.stages, Stage::ALL);
        assert_eq!((settled.n, settled.accessors), (N_DEFAULT, names(&["sorted"])));
    }

    #[test]
    fn an_input_of_ones_own_is_measured_alone() {
        let input = Some(Records::new("mine", [("a", "1")]).unwrap());
        let settled = AbOptions { input, ..AbOptions::default() }.settle().unwrap();
        assert_eq!(settled.shapes, [Shape::File]);
    }

    #[test]
    fn what_is_not_built_is_refused_by_the_name_of_its_option() {
        let standard = AbOptions::default;
        let bad = [
            (
                "--accessors: `ph4` is not built",
                AbOptions { accessors: names(&["sorted", "ph4"]), ..standard() },
            ),
            ("--accessors: `x` is not known", AbOptions { accessors: names(&["x"]), ..standard() }),
            (
                "--accessors: `sorted` is named twice",
                AbOptions { accessors: names(&["sorted", "sorted"]), ..standard() },
            ),
            ("--shape: `url` is not built", AbOptions { shapes: names(&["url"]), ..standard() }),
            ("--layout: `normal` is not built", AbOptions { layouts: names(&["normal"]), ..standard() }),
            ("--stages: `cold` is not built", AbOptions { stages: names(&["cold"]), ..standard() }),
            (
                "--read: `direct` is not known; built: mmap, pread",
                AbOptions { reads: names(&["direct"]), ..standard() },
            ),
            (
                "--controls: `lmdb` is not built into this version; built: none",
                AbOptions { controls: names(&["lmdb"]), ..standard() },
            ),
            ("--threads: 2 is not possible; allowed: 1", AbOptions { threads: Some(2), ..standard() }),
            ("--n: 0", AbOptions { n: Some(0), ..standard() }),
            ("--trials: 4", AbOptions { trials: Trials::Pairs(4), ..standard() }),
            ("--cache-mib:", AbOptions { cache_mib: vec![u64::MAX], ..standard() }),
        ];
        for (expected, options) in bad {
            let message = refusal(&options);
            assert!(message.starts_with(expected), "{message}");
        }
    }

    #[test]
    fn trials_are_a_number_in_range_or_auto() {
        assert_eq!("auto".parse(), Ok(Trials::Auto));
        assert_eq!("7".parse(), Ok(Trials::Pairs(7)));
        assert!("4".parse::<Trials>().is_err());
        assert!("many".parse::<Trials>().is_err());
    }
}
