//! One trial of cold reads.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::ColdStage;
use super::page_check::{Files, io_failure};
use crate::clock::Clock;
use crate::engine::{ColdFloor, Engine, FLOOR, Family, Opening, Sizes, Store};
use crate::keys::KeySet;
use crate::machine::Pin;
use crate::machine::page_cache::files_below;
use crate::plan::Plan;
use crate::trial::{Failure, Shared, Trial, check_used};

/// Says of an engine's failure whether it is a wrong answer, and gives a sentence about it.
type Tell = fn(&mut dyn Engine, &Plan, &dyn KeySet, &Failure) -> (bool, String);

/// What a trial opens, and where.
#[derive(Clone, Copy)]
pub(crate) enum ColdSite<'a> {
    /// A loaded store.
    Store(&'a Family, &'a Path),
    /// The floor's file, in its directory.
    Floor(&'a ColdFloor, &'a Path),
}

/// A site's store or file, open.
enum Opened {
    Store(Box<dyn Store>),
    Floor(Box<dyn Engine>),
}

/// What trials of a cold stage do.
pub(crate) struct ColdTrial<'a, C> {
    pub(crate) stage: ColdStage,
    pub(crate) opening: Opening,
    pub(crate) pin: Option<&'a Pin>,
    pub(crate) plan: &'a Plan,
    pub(crate) clock: &'a C,
    pub(crate) threads: usize,
}

impl<'a> ColdSite<'a> {
    /// Its name in reports.
    pub(crate) fn name(&self) -> &'a str {
        match *self {
            Self::Store(family, _) => family.name(),
            Self::Floor(..) => FLOOR,
        }
    }

    fn open(&self, opening: Opening) -> Result<Opened, Failure> {
        match self {
            Self::Store(family, dir) => {
                let store = family.open(dir, opening).map_err(|error| Failure::Error(error.to_string()))?;
                Ok(Opened::Store(store))
            }
            Self::Floor(floor, _) => {
                floor.open(opening).map(Opened::Floor).map_err(|error| io_failure(&error))
            }
        }
    }

    /// Its files as they are now. Which of them are the index's an open store knows.
    fn files(&self, opened: Option<&Opened>) -> Result<Files, Failure> {
        let (Self::Store(_, dir) | Self::Floor(_, dir)) = self;
        let all = files_below(dir).map_err(|error| io_failure(&error))?;
        let is_index =
            |path: &PathBuf| matches!(opened, Some(Opened::Store(store)) if store.is_index_file(path));
        let (index, data) = all.into_iter().partition(is_index);
        Ok(Files { data, index })
    }
}

impl Opened {
    fn engine(&mut self) -> &mut dyn Engine {
        match self {
            Self::Store(store) => &mut **store,
            Self::Floor(reader) => &mut **reader,
        }
    }

    fn close(self) -> Result<(), Failure> {
        match self {
            Self::Store(store) => store.close().map_err(Failure::Error),
            Self::Floor(_) => Ok(()),
        }
    }
}

impl<C: Clock + Sync> ColdTrial<'_, C> {
    /// Makes these calls on a store that is cold.
    pub(crate) fn run(&self, site: &ColdSite<'_>, calls: Range<usize>) -> Result<Trial, Failure> {
        site.files(None)?.drop_closed()?;
        let mut opened = self.open(site)?;
        if let Some(problem) = opened.engine().unready() {
            return Err(Failure::Error(problem));
        }
        site.files(Some(&opened))?.drop_opened(self.stage)?;
        let Self { plan, clock, threads, .. } = *self;
        let trial = Shared { plan, calls, clock, threads, is_warm: false }.run(opened.engine())?;
        opened.close()?;
        Ok(trial)
    }

    /// Compares every answer in full, wherever the pages are. Gives how many there were, and the sizes of
    /// a store. `tell` makes a sentence of a wrong answer.
    pub(crate) fn check(
        &self,
        site: &ColdSite<'_>,
        set: &dyn KeySet,
        tell: Tell,
    ) -> Result<(u64, Option<Sizes>), Failure> {
        let mut opened = self.open(site)?;
        let engine = opened.engine();
        if let Some(problem) = engine.unready() {
            return Err(Failure::Error(problem));
        }
        let told = |engine: &mut dyn Engine, failure| match tell(engine, self.plan, set, &failure) {
            (true, sentence) => Failure::Told(sentence),
            (false, _) => failure,
        };
        let checked = check_used(engine, self.plan, set).map_err(|failure| told(engine, failure))?;
        let sizes = match &opened {
            Opened::Store(store) => Some(store.sizes()),
            Opened::Floor(_) => None,
        };
        opened.close()?;
        Ok((checked, sizes))
    }

    /// Threads of the store stay off the measured core.
    fn open(&self, site: &ColdSite<'_>) -> Result<Opened, Failure> {
        self.pin.map_or(Ok(()), Pin::leave_core).map_err(|error| io_failure(&error))?;
        let opened = site.open(self.opening)?;
        self.pin.map_or(Ok(()), Pin::take_core).map_err(|error| io_failure(&error))?;
        Ok(opened)
    }
}
