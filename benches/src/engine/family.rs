//! Kinds of stores, by name.

use std::path::Path;
use std::time::{Duration, Instant};

#[cfg(feature = "controls")]
use super::controls::Control;
use super::load::Load;
use super::{Accessor, Opening, Store, kiban_store};
use crate::ab::AbError;

/// A kind of store, one name in reports.
#[derive(Clone, Debug)]
pub(crate) enum Family {
    /// Kiban with this accessor.
    Kiban(Accessor),
    /// Another store.
    #[cfg(feature = "controls")]
    Control(Control),
}

impl Family {
    /// Its name in reports.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Kiban(accessor) => accessor.label(),
            #[cfg(feature = "controls")]
            Self::Control(control) => control.name(),
        }
    }

    /// The accessor, if it is Kiban.
    pub(crate) fn accessor(&self) -> Option<&Accessor> {
        match self {
            Self::Kiban(accessor) => Some(accessor),
            #[cfg(feature = "controls")]
            Self::Control(_) => None,
        }
    }

    /// Name of the directory into which the records are loaded: all accessors have the same.
    pub(crate) fn data_name(&self) -> String {
        match self {
            Self::Kiban(_) => "kiban".to_owned(),
            #[cfg(feature = "controls")]
            Self::Control(_) => self.dir_name(),
        }
    }

    /// Name of the directory of its store.
    pub(crate) fn dir_name(&self) -> String {
        match self {
            Self::Kiban(accessor) => format!("kiban-{}", accessor.label()),
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

    /// Makes the store from what was loaded into `data`: an accessor gets links to the same tables,
    /// and its own files beside them. Tells how long the latter took.
    pub(crate) fn make(&self, data: &Path, dir: &Path) -> Result<Duration, AbError> {
        match self {
            Self::Kiban(accessor) => Ok(kiban_store::make(data, dir, accessor)?),
            #[cfg(feature = "controls")]
            Self::Control(_) => Ok(Duration::ZERO),
        }
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
