//! The options checked, and the refusal of what this build cannot do.

use std::time::Duration;

use super::AbError;
use super::options::{
    ACCESSORS_DEFAULT, AbOptions, BACKGROUND_THREADS_MAX, CACHE_MIB_DEFAULT, CACHE_MIB_MAX, N_DEFAULT, N_MAX,
    N_UPKEEP, PAIRS_MAX, PAIRS_MIN, READERS_MAX, SEED_DEFAULT, TIME_BOX_DEFAULT, Trials,
};
use crate::cold::ColdStage;
use crate::engine::{Accessor, Family, Layout, SORTED, known};
use crate::keys::KeyShape;
use crate::plan::Stage;
use crate::upkeep::UpkeepStage;
use crate::writes::WriteStage;

/// Other stores that the feature `controls` builds in.
#[cfg(not(feature = "controls"))]
const CONTROLS: [&str; 4] = ["lmdb", "sqlite", "fjall", "redb"];

/// Names that the design has and this build does not, by option: they get another sentence than
/// a misspelt name.
const LATER: &[(&str, &[&str])] = &[
    ("accessors", &["ph2", "ph3", "btree", "kvi", "lemon", "bt", "lines", "shards"]),
    ("controls", &["rocksdb"]),
    ("workload", &["w2", "w4", "w5", "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"]),
];

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
    /// Another generated one.
    Keys(KeyShape),
}

impl Shape {
    /// All with their names.
    fn named() -> Vec<(&'static str, Self)> {
        let keys = KeyShape::ALL.map(|shape| (shape.name(), Self::Keys(shape)));
        [("file", Self::File), ("w1", Self::W1)].into_iter().chain(keys).collect()
    }
}

/// What the system is told of cold reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// They are at random: it reads no more than it is asked for.
    Random,
    /// Nothing: it may read ahead.
    Default,
}

impl Advice {
    const ALL: [Self; 2] = [Self::Random, Self::Default];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Default => "default",
        }
    }
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stages {
    /// Reads of loaded records: those of pages in memory, then those of pages that are not, each with
    /// every advice.
    Reads { warm: Vec<Stage>, cold: Vec<(Advice, ColdStage)> },
    /// Writes, and reads between them.
    Writes(Vec<WriteStage>),
    /// Flushes and compactions.
    Upkeep(Vec<UpkeepStage>),
}

impl Stages {
    fn count(&self) -> usize {
        match self {
            Self::Reads { warm, cold } => warm.len() + cold.len(),
            Self::Writes(stages) => stages.len(),
            Self::Upkeep(stages) => stages.len(),
        }
    }
}

/// Which work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Workload {
    Reads,
    Writes,
    Upkeep,
}

impl Workload {
    /// Records of a generated shape, where no option says how many.
    const fn records(self) -> u64 {
        match self {
            Self::Reads | Self::Writes => N_DEFAULT,
            Self::Upkeep => N_UPKEEP,
        }
    }
}

/// The options, checked and with defaults filled in.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    /// The baseline first.
    pub(crate) families: Vec<Family>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) n: u64,
    pub(crate) seed: u64,
    pub(crate) layouts: Vec<Layout>,
    pub(crate) cache_mib: Vec<u64>,
    pub(crate) reads: Vec<ReadMode>,
    /// Reading threads; of upkeep background threads.
    pub(crate) threads: Vec<u32>,
    pub(crate) stages: Stages,
    pub(crate) trials: Trials,
    pub(crate) time_box: Duration,
}

impl Settled {
    /// How often records are loaded.
    pub(crate) fn inputs(&self) -> usize {
        self.shapes.len() * self.layouts.len()
    }

    /// How many stages are measured on each.
    pub(crate) fn stages_an_input(&self) -> usize {
        self.cache_mib.len() * self.reads.len() * self.threads.len() * self.stages.count()
    }
}

impl AbOptions {
    /// Checks every option and fills in defaults.
    pub(crate) fn settle(&self) -> Result<Settled, AbError> {
        if let Trials::Pairs(pairs) = self.trials {
            range("trials", pairs.into(), PAIRS_MIN.into(), PAIRS_MAX.into())?;
        }
        let cache_mib =
            if self.cache_mib.is_empty() { vec![CACHE_MIB_DEFAULT] } else { self.cache_mib.clone() };
        for mib in &cache_mib {
            range("cache-mib", *mib, 0, CACHE_MIB_MAX)?;
        }
        let workload = self.workload()?;
        let modes = [("mmap", ReadMode::Mmap), ("pread", ReadMode::Pread)];
        let default_modes: &[&str] = match workload {
            Workload::Reads => &["mmap", "pread"],
            Workload::Writes | Workload::Upkeep => &["mmap"],
        };
        let layouts = Layout::ALL.map(|layout| (layout.name(), layout));
        Ok(Settled {
            families: self.families(workload)?,
            shapes: self.shapes()?,
            n: range("n", self.n.unwrap_or(workload.records()), 1, N_MAX)?,
            seed: self.seed.unwrap_or(SEED_DEFAULT),
            layouts: named("layout", self.layouts(workload)?, &[Layout::Bulk.name()], &layouts)?,
            cache_mib,
            reads: named("read", &self.reads, default_modes, &modes)?,
            threads: self.threads(workload)?,
            stages: self.stages(workload)?,
            trials: self.trials,
            time_box: self.time_box.unwrap_or(TIME_BOX_DEFAULT),
        })
    }

    fn workload(&self) -> Result<Workload, AbError> {
        let known = [("w1", Workload::Reads), ("w3", Workload::Upkeep), ("w6", Workload::Writes)];
        let given: Vec<String> = self.workload.iter().cloned().collect();
        let workload = named("workload", &given, &["w1"], &known)?;
        Ok(workload.first().copied().unwrap_or(Workload::Reads))
    }

    fn layouts(&self, workload: Workload) -> Result<&[String], AbError> {
        match (workload, &*self.layouts) {
            (Workload::Upkeep, [_, ..]) => {
                Err(AbError::Usage("--layout: w3 has layouts of its own, leave it out".to_owned()))
            }
            (_, layouts) => Ok(layouts),
        }
    }

    fn threads(&self, workload: Workload) -> Result<Vec<u32>, AbError> {
        let (most, default): (u32, &[u32]) = match workload {
            Workload::Reads => (READERS_MAX, &[1]),
            Workload::Writes => (1, &[1]),
            Workload::Upkeep => (BACKGROUND_THREADS_MAX, &[1, 2]),
        };
        let given = if self.threads.is_empty() { default } else { &self.threads };
        for (at, threads) in given.iter().enumerate() {
            range("threads", u64::from(*threads), 1, most.into())?;
            if given[..at].contains(threads) {
                return Err(AbError::Usage(format!("--threads: {threads} is named twice")));
            }
        }
        if self.pin && workload == Workload::Reads && given != [1] {
            return Err(AbError::Usage("--pin: it holds one reading thread; leave out --threads".to_owned()));
        }
        Ok(given.to_vec())
    }

    /// Shapes that have records, and no option that none of them asks for.
    fn shapes(&self) -> Result<Vec<Shape>, AbError> {
        let default: &[&str] = match (&self.input, &self.workload) {
            (Some(_), _) => &["file"],
            (None, Some(_)) => &["w1"],
            (None, None) => &["file", "w1"],
        };
        let known = Shape::named();
        let shapes = match &*self.shapes {
            [all] if all == "all" => known.into_iter().map(|(_, shape)| shape).collect(),
            given => named("shape", given, default, &known)?,
        };
        let usage = |sentence: &str| Err(AbError::Usage(sentence.to_owned()));
        if self.workload.as_deref() == Some("w1") && shapes != [Shape::W1] {
            return usage("--workload: `w1` is the shape `w1` alone; leave out --workload to read another");
        }
        if self.input.is_some() && !shapes.contains(&Shape::File) {
            return usage("--input: it is not read, because --shape does not name `file`");
        }
        if self.n.is_some() && shapes == [Shape::File] {
            return usage("--n: it is for generated shapes; a file has the records that it has");
        }
        Ok(shapes)
    }

    fn stages(&self, workload: Workload) -> Result<Stages, AbError> {
        let writes = WriteStage::ALL.map(|stage| (stage.name(), stage));
        let upkeep = UpkeepStage::ALL.map(|stage| (stage.name(), stage));
        Ok(match workload {
            Workload::Reads => return self.reads_stages(),
            Workload::Writes => Stages::Writes(named(
                "stages",
                &self.stages,
                &WriteStage::ALL.map(WriteStage::name),
                &writes,
            )?),
            Workload::Upkeep => Stages::Upkeep(named(
                "stages",
                &self.stages,
                &UpkeepStage::ALL.map(UpkeepStage::name),
                &upkeep,
            )?),
        })
    }

    fn reads_stages(&self) -> Result<Stages, AbError> {
        let warm = Stage::ALL.map(|stage| (stage.name(), Some(stage)));
        let known: Vec<(&str, Option<Stage>)> = warm.into_iter().chain([("cold", None)]).collect();
        let named_stages = named("stages", &self.stages, &Stage::DEFAULT.map(Stage::name), &known)?;
        let advices = Advice::ALL.map(|advice| (advice.name(), advice));
        let advices = named("advice", &self.advice, &[Advice::Random.name()], &advices)?;
        let is_cold = named_stages.contains(&None);
        if !is_cold && !self.advice.is_empty() {
            return Err(AbError::Usage("--advice: it is for the stage `cold` alone".to_owned()));
        }
        let cold = advices.iter().filter(|_| is_cold);
        Ok(Stages::Reads {
            warm: named_stages.into_iter().flatten().collect(),
            cold: cold.flat_map(|advice| ColdStage::ALL.map(|stage| (*advice, stage))).collect(),
        })
    }

    /// Kiban with each accessor, then the other stores.
    fn families(&self, workload: Workload) -> Result<Vec<Family>, AbError> {
        let accessors =
            Accessor::all(&self.accessor_names(workload), &self.formats).map_err(|(name, known)| {
                unknown("accessors", &name, known.iter().map(String::as_str).collect())
            })?;
        let controls = self.controls(workload)?;
        if workload == Workload::Upkeep && !controls.is_empty() {
            return Err(AbError::Usage("--controls: w3 is about Kiban alone".to_owned()));
        }
        Ok(accessors.into_iter().map(Family::Kiban).chain(controls).collect())
    }

    fn accessor_names(&self, workload: Workload) -> Vec<String> {
        match (&*self.accessors, workload) {
            ([], Workload::Reads | Workload::Upkeep) => ACCESSORS_DEFAULT.map(str::to_owned).to_vec(),
            ([], Workload::Writes) => vec![SORTED.to_owned()],
            ([all], _) if all == "all" => known(&self.formats),
            (named, _) => named.to_vec(),
        }
    }

    #[cfg(feature = "controls")]
    fn controls(&self, workload: Workload) -> Result<Vec<Family>, AbError> {
        use crate::engine::Control;

        let lmdb: &[Control] = match workload {
            Workload::Reads => &[Control::Lmdb, Control::LmdbReusedTxn],
            // A transaction that began before a write does not see it.
            Workload::Writes | Workload::Upkeep => &[Control::Lmdb],
        };
        let known: [(&str, &[Control]); 4] = [
            ("lmdb", lmdb),
            ("sqlite", &[Control::Sqlite]),
            ("fjall", &[Control::Fjall]),
            ("redb", &[Control::Redb]),
        ];
        let named = named("controls", &self.controls, &[], &known)?;
        Ok(named.into_iter().flatten().copied().map(Family::Control).collect())
    }

    #[cfg(not(feature = "controls"))]
    fn controls(&self, _workload: Workload) -> Result<Vec<Family>, AbError> {
        match self.controls.iter().find(|name| CONTROLS.contains(&name.as_str())) {
            Some(name) => Err(AbError::Usage(format!(
                "--controls: `{name}` is not built into this program; build it with `--features controls`"
            ))),
            None => named("controls", &self.controls, &[], &[]),
        }
    }
}

/// The values behind names, each name once; `default` where none is given.
fn named<T: Clone>(
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
            Some((_, value)) => values.push(value.clone()),
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
mod tests;
