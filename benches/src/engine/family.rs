//! Kinds of stores, by name.

use std::path::Path;
use std::time::{Duration, Instant};

#[cfg(feature = "controls")]
use super::controls::Control;
use super::load::Load;
use super::{Opening, Store, kiban_store};
use crate::ab::AbError;

/// A kind of store, one name in reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Kiban with this accessor.
    Kiban(String),
    /// Another store.
    #[cfg(feature = "controls")]
    Control(Control),
}

impl Family {
    /// Its name in reports.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Kiban(accessor) => accessor,
            #[cfg(feature = "controls")]
            Self::Control(control) => control.name(),
        }
    }

    /// Name of the directory of its data. Accessors stand beside one copy; a control has its own.
    pub(crate) fn dir_name(&self) -> String {
        match self {
            Self::Kiban(_) => "kiban".to_owned(),
            #[cfg(feature = "controls")]
            Self::Control(control) => control.name().replace(':', "-"),
        }
    }

    /// Loads records into a new store, closes it, and tells how long that took.
    pub(crate) fn build(&self, dir: &Path, load: &Load<'_>) -> Result<Duration, AbError> {
        let began = Instant::now();
        match self {
            Self::Kiban(_) => kiban_store::build(dir, load)?,
            #[cfg(feature = "controls")]
            Self::Control(control) => control.build(dir, load).map_err(|problem| self.trouble(problem))?,
        }
        Ok(began.elapsed())
    }

    /// Opens a store; a new one if there is none.
    pub(crate) fn open(&self, dir: &Path, opening: Opening) -> Result<Box<dyn Store>, AbError> {
        match self {
            Self::Kiban(accessor) => Ok(kiban_store::open(dir, accessor, opening)?),
            #[cfg(feature = "controls")]
            Self::Control(control) => control.open(dir, opening).map_err(|problem| self.trouble(problem)),
        }
    }

    /// An error of this store.
    pub(crate) fn trouble(&self, problem: String) -> AbError {
        AbError::Engine { name: self.name().to_owned(), problem }
    }
}
