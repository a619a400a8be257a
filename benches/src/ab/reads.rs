//! Stages of reads: an input is loaded once a store, then measured under each setting.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use kiban::Durability;

use super::AbError;
use super::cold::ColdStores;
use super::run::{Run, Setting};
use super::settle::Advice;
use super::stage::StageRun;
use crate::answers::Answers;
use crate::cold::ColdStage;
use crate::engine::{Engine, Family, Floor, Layout, Load, Sizes, Store};
use crate::keys::KeySet;
use crate::machine::Pin;
use crate::machine::page_cache::{files_below, read_files};
use crate::plan::{Plan, Stage};
use crate::report::{Cell, DiskBytes};

/// Untimed gets before the first stage, as a share of the records: W1's 300,000 of 1,000,000.
const WARM_GETS_SHARE: f64 = 0.3;
/// Untimed latest-ten likewise.
const WARM_LATEST_SHARE: f64 = 0.03;

/// One input, loaded.
struct Loaded<'a> {
    dir: &'a Path,
    set: &'a dyn KeySet,
    /// How long loading took, by family.
    built: Vec<Duration>,
}

impl Run<'_> {
    /// Loads one input and measures it under each setting.
    pub(super) fn reads(
        &mut self,
        dir: &Path,
        (set, layout): (&dyn KeySet, Layout),
        (stages, cold): (&[Stage], &[(Advice, ColdStage)]),
    ) -> Result<(), AbError> {
        self.step(&format!("{}, {}: load {} records", set.shape(), layout.name(), set.len()));
        let Some(built) = self.load(dir, set, layout)? else { return remove(dir) };
        let loaded = Loaded { dir, set, built };
        if !stages.is_empty() {
            let mut floor = Floor::new(set);
            for setting in self.settings(layout) {
                if self.is_stopped() {
                    break;
                }
                self.setting(&loaded, &mut floor, setting, stages)?;
            }
        }
        if !cold.is_empty() {
            let stores = ColdStores::new(dir, set)?;
            for setting in self.settings(layout) {
                for (advice, stage) in cold {
                    if self.is_stopped() {
                        break;
                    }
                    self.cold(&stores, (setting, *advice), *stage, &loaded.built);
                }
            }
        }
        remove(dir)
    }

    /// Loads the records once for Kiban and once for each control; the stores of accessors have links
    /// to the same tables. `None`: the run was stopped.
    pub(super) fn load(
        &mut self,
        dir: &Path,
        set: &dyn KeySet,
        layout: Layout,
    ) -> Result<Option<Vec<Duration>>, AbError> {
        let load = Load { set, layout, seed: self.settled.seed };
        let mut loaded: Vec<(String, Duration)> = Vec::new();
        let mut built = Vec::new();
        self.on_core(Pin::leave_core)?;
        for family in &self.settled.families {
            if self.is_stopped() {
                return Ok(None);
            }
            let name = family.data_name();
            let data = dir.join(&name);
            let took = match loaded.iter().find(|(copy, _)| *copy == name) {
                Some((_, took)) => *took,
                None => {
                    fs::create_dir_all(&data).map_err(|error| AbError::io(&data, error))?;
                    let took = family.build(&data, &load)?;
                    loaded.push((name, took));
                    took
                }
            };
            let own = dir.join(family.dir_name());
            built.push(took + family.make(&data, &own)?);
            let files = files_below(&own).map_err(|error| AbError::io(&own, error))?;
            read_files(&files).map_err(|error| AbError::io(&own, error))?;
        }
        self.on_core(Pin::take_core)?;
        Ok(Some(built))
    }

    /// Measures all stages with one cache size and read mode.
    fn setting(
        &mut self,
        loaded: &Loaded<'_>,
        floor: &mut Floor,
        setting: Setting,
        stages: &[Stage],
    ) -> Result<(), AbError> {
        let set = loaded.set;
        let known = self.known(set, setting);
        let mut stores = self.open_stores(loaded.dir, setting)?;
        stores.iter_mut().for_each(|store| warm(&mut **store, set, self.settled.seed));
        for stage in stages {
            if self.is_stopped() {
                break;
            }
            let place = format!("{}, {}, {}", set.shape(), setting.layout.name(), setting.read.name());
            self.step(&format!("{place}: {}", stage.name()));
            let began = Instant::now();
            let mut engines: Vec<&mut dyn Engine> =
                stores.iter_mut().map(|store| &mut **store as &mut dyn Engine).collect();
            engines.push(floor);
            let run = StageRun { stage: *stage, rules: self.rules() };
            let mut outcome = run.run(&mut engines, set, &known);
            for ((cell, store), built) in outcome.cells.iter_mut().zip(&stores).zip(&loaded.built) {
                cell.build_ns_per_key = Some(built.as_nanos() as f64 / cell.n as f64);
                note_sizes(cell, store.sizes());
            }
            self.take(began, outcome);
        }
        self.close(stores)
    }

    /// One store a family. Its threads stay off the measured core.
    fn open_stores(&self, dir: &Path, setting: Setting) -> Result<Vec<Box<dyn Store>>, AbError> {
        self.on_core(Pin::leave_core)?;
        let opening = setting.opening(Durability::Buffered);
        let open = |family: &Family| family.open(&dir.join(family.dir_name()), opening);
        let stores = self.settled.families.iter().map(open).collect::<Result<_, _>>()?;
        self.on_core(Pin::take_core)?;
        Ok(stores)
    }

    fn close(&self, stores: Vec<Box<dyn Store>>) -> Result<(), AbError> {
        for (family, store) in self.settled.families.iter().zip(stores) {
            store.close().map_err(|problem| family.trouble(problem))?;
        }
        Ok(())
    }
}

/// Takes away what was built.
pub(super) fn remove(dir: &Path) -> Result<(), AbError> {
    if !dir.exists() {
        return Ok(());
    }
    fs::remove_dir_all(dir).map_err(|error| AbError::io(dir, error))
}

pub(super) fn note_sizes(cell: &mut Cell, sizes: Sizes) {
    cell.disk_bytes =
        DiskBytes { table: sizes.table_bytes, accessor: sizes.accessor_bytes, ..DiskBytes::default() };
    cell.bytes_per_key = sizes.accessor_bytes.map(|bytes| bytes as f64 / cell.n as f64);
    cell.fallbacks = sizes.fallbacks;
    cell.resident_bytes = sizes.resident_bytes;
}

/// Untimed calls; a failure shows when the answers are checked.
fn warm(engine: &mut dyn Store, set: &dyn KeySet, seed: u64) {
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
