//! The options checked, and the refusal of what this build cannot do.

use std::time::Duration;

use super::AbError;
use super::options::{
    ACCESSORS_DEFAULT, AbOptions, CACHE_MIB_DEFAULT, CACHE_MIB_MAX, N_DEFAULT, N_MAX, PAIRS_MAX, PAIRS_MIN,
    SEED_DEFAULT, TIME_BOX_DEFAULT, Trials,
};
use crate::engine::{Accessor, Family, Layout, SORTED, known};
use crate::plan::Stage;
use crate::writes::WriteStage;

/// Other stores that the feature `controls` builds in.
#[cfg(not(feature = "controls"))]
const CONTROLS: [&str; 2] = ["lmdb", "fjall"];

/// Names that the design has and this build does not, by option: they get another sentence than
/// a misspelt name.
const LATER: &[(&str, &[&str])] = &[
    ("accessors", &["ph2", "ph3", "btree", "kvi", "lemon", "bt", "lines", "shards"]),
    ("shape", &["uniform", "uniform8", "decimal", "url", "path", "contract-slot", "contract-hashed"]),
    ("stages", &["scan", "cold"]),
    ("controls", &["sqlite", "redb", "rocksdb"]),
    ("workload", &["w2", "w3", "w4", "w5", "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"]),
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
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stages {
    /// Reads of loaded records.
    Reads(Vec<Stage>),
    /// Writes, and reads between them.
    Writes(Vec<WriteStage>),
}

impl Stages {
    fn count(&self) -> usize {
        match self {
            Self::Reads(stages) => stages.len(),
            Self::Writes(stages) => stages.len(),
        }
    }
}

/// Which work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Workload {
    Reads,
    Writes,
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
        self.cache_mib.len() * self.reads.len() * self.stages.count()
    }
}

impl AbOptions {
    /// Checks every option and fills in defaults.
    pub(crate) fn settle(&self) -> Result<Settled, AbError> {
        range("threads", u64::from(self.threads.unwrap_or(1)), 1, 1)?;
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
            Workload::Writes => &["mmap"],
        };
        let layouts = Layout::ALL.map(|layout| (layout.name(), layout));
        Ok(Settled {
            families: self.families(workload)?,
            shapes: self.shapes()?,
            n: range("n", self.n.unwrap_or(N_DEFAULT), 1, N_MAX)?,
            seed: self.seed.unwrap_or(SEED_DEFAULT),
            layouts: named("layout", &self.layouts, &[Layout::Bulk.name()], &layouts)?,
            cache_mib,
            reads: named("read", &self.reads, default_modes, &modes)?,
            stages: self.stages(workload)?,
            trials: self.trials,
            time_box: self.time_box.unwrap_or(TIME_BOX_DEFAULT),
        })
    }

    fn workload(&self) -> Result<Workload, AbError> {
        let known = [("w1", Workload::Reads), ("w6", Workload::Writes)];
        let given: Vec<String> = self.workload.iter().cloned().collect();
        let workload = named("workload", &given, &["w1"], &known)?;
        Ok(workload.first().copied().unwrap_or(Workload::Reads))
    }

    /// Shapes that have records, and no option that none of them asks for.
    fn shapes(&self) -> Result<Vec<Shape>, AbError> {
        let default: &[&str] = match (&self.input, &self.workload) {
            (Some(_), _) => &["file"],
            (None, Some(_)) => &["w1"],
            (None, None) => &["file", "w1"],
        };
        let shapes = named("shape", &self.shapes, default, &[("file", Shape::File), ("w1", Shape::W1)])?;
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
        let reads = Stage::ALL.map(|stage| (stage.name(), stage));
        let writes = WriteStage::ALL.map(|stage| (stage.name(), stage));
        Ok(match workload {
            Workload::Reads => {
                Stages::Reads(named("stages", &self.stages, &Stage::ALL.map(Stage::name), &reads)?)
            }
            Workload::Writes => Stages::Writes(named(
                "stages",
                &self.stages,
                &WriteStage::ALL.map(WriteStage::name),
                &writes,
            )?),
        })
    }

    /// Kiban with each accessor, then the other stores.
    fn families(&self, workload: Workload) -> Result<Vec<Family>, AbError> {
        let accessors =
            Accessor::all(&self.accessor_names(workload), &self.formats).map_err(|(name, known)| {
                unknown("accessors", &name, known.iter().map(String::as_str).collect())
            })?;
        Ok(accessors.into_iter().map(Family::Kiban).chain(self.controls(workload)?).collect())
    }

    fn accessor_names(&self, workload: Workload) -> Vec<String> {
        match (&*self.accessors, workload) {
            ([], Workload::Reads) => ACCESSORS_DEFAULT.map(str::to_owned).to_vec(),
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
            Workload::Writes => &[Control::Lmdb],
        };
        let known = [("lmdb", lmdb), ("fjall", &[Control::Fjall])];
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
mod tests {
    use super::*;
    use crate::input::Records;

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
        assert_eq!(settled.stages, Stages::Reads(Stage::ALL.to_vec()));
        assert_eq!((settled.n, settled.layouts), (N_DEFAULT, vec![Layout::Bulk]));
        let names: Vec<&str> = settled.families.iter().map(Family::name).collect();
        assert_eq!(names, ACCESSORS_DEFAULT);
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
                "--accessors: `ph3` is not built",
                AbOptions { accessors: names(&["sorted", "ph3"]), ..standard() },
            ),
            ("--accessors: `x` is not known", AbOptions { accessors: names(&["x"]), ..standard() }),
            (
                "--layout: `bulk` is named twice",
                AbOptions { layouts: names(&["bulk", "bulk"]), ..standard() },
            ),
            ("--shape: `url` is not built", AbOptions { shapes: names(&["url"]), ..standard() }),
            ("--layout: `sorted` is not known", AbOptions { layouts: names(&["sorted"]), ..standard() }),
            ("--workload: `w3` is not built", AbOptions { workload: Some("w3".to_owned()), ..standard() }),
            ("--controls: `rocksdb` is not built", AbOptions { controls: names(&["rocksdb"]), ..standard() }),
            ("--stages: `cold` is not built", AbOptions { stages: names(&["cold"]), ..standard() }),
            (
                "--read: `direct` is not known; built: mmap, pread",
                AbOptions { reads: names(&["direct"]), ..standard() },
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
    fn w1_is_its_shape_and_w6_writes() {
        let workload = |name: &str| AbOptions { workload: Some(name.to_owned()), ..AbOptions::default() };
        let reads = workload("w1").settle().unwrap();
        assert_eq!((reads.shapes, reads.stages), (vec![Shape::W1], Stages::Reads(Stage::ALL.to_vec())));
        let writes = workload("w6").settle().unwrap();
        assert_eq!(writes.stages, Stages::Writes(WriteStage::ALL.to_vec()));
        assert_eq!((writes.shapes, writes.reads), (vec![Shape::W1], vec![ReadMode::Mmap]));
        let message = refusal(&AbOptions { stages: names(&["point"]), ..workload("w6") });
        assert!(message.starts_with("--stages: `point` is not known; built: write_buffered"), "{message}");
        let message = refusal(&AbOptions { shapes: names(&["file"]), ..workload("w1") });
        assert!(message.starts_with("--workload: `w1`"), "{message}");
    }

    #[test]
    fn options_that_no_shape_asks_for_are_refused() {
        let input = || Some(Records::new("mine", [("a", "1")]).unwrap());
        let unread = AbOptions { input: input(), shapes: names(&["w1"]), ..AbOptions::default() };
        assert!(refusal(&unread).starts_with("--input: it is not read"));
        let uncounted = AbOptions { input: input(), n: Some(5), ..AbOptions::default() };
        assert!(refusal(&uncounted).starts_with("--n: it is for generated shapes"));
        let shipped = AbOptions { shapes: names(&["file"]), n: Some(5), ..AbOptions::default() };
        assert!(refusal(&shipped).starts_with("--n: "));
        let both =
            AbOptions { input: input(), n: Some(5), shapes: names(&["file", "w1"]), ..AbOptions::default() };
        assert_eq!(both.settle().unwrap().n, 5);
    }

    #[cfg(feature = "controls")]
    #[test]
    fn lmdb_is_read_in_two_ways_and_written_in_one() {
        let named = |workload: &str| {
            let workload = Some(workload.to_owned());
            let options = AbOptions { controls: names(&["lmdb", "fjall"]), workload, ..AbOptions::default() };
            let families = options.settle().unwrap().families;
            families.iter().map(|family| family.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(
            named("w1"),
            ["sorted", "ph4", "control:lmdb", "control:lmdb-reused-txn", "control:fjall"]
        );
        assert_eq!(named("w6"), ["sorted", "control:lmdb", "control:fjall"]);
    }

    #[cfg(not(feature = "controls"))]
    #[test]
    fn a_control_that_is_not_built_in_is_refused_with_its_feature() {
        let message = refusal(&AbOptions { controls: names(&["lmdb"]), ..AbOptions::default() });
        assert_eq!(
            message,
            "--controls: `lmdb` is not built into this program; build it with `--features controls`"
        );
    }
}
