//! What is measured: something that answers the calls of a plan, and stores that do.
//!
//! A [`Family`] makes stores of one kind: it builds one from a set of records and opens it under
//! the settings of a cell. A [`Store`] is an [`Engine`] that can be written to and read back.

mod accessor;
mod cold_floor;
#[cfg(feature = "controls")]
mod controls;
mod family;
mod floor;
mod kiban_store;
mod load;
mod upkeep_store;

use std::path::Path;

use crate::answers::Answers;
use crate::plan::Plan;

pub(crate) use accessor::{Accessor, SORTED, known};
pub(crate) use cold_floor::ColdFloor;
#[cfg(feature = "controls")]
pub(crate) use controls::Control;
pub(crate) use family::Family;
pub(crate) use floor::Floor;
pub(crate) use load::{Layout, Load, shuffled};
pub(crate) use upkeep_store::{UpkeepOpening, UpkeepStore};

/// Name of the floor in reports.
pub(crate) const FLOOR: &str = "floor";

/// Something that answers the calls of a plan.
pub(crate) trait Engine {
    /// Its name in reports.
    fn name(&self) -> &str;

    /// What may be done before the calls of a plan are timed.
    fn prepare(&mut self, _plan: &Plan) {}

    /// Answers one call, copied into `answers`, which is empty. `Err` says what went wrong.
    fn call(&mut self, plan: &Plan, call: usize, answers: &mut Answers) -> Result<(), String>;

    /// Why what it says would not be about what its name says; `None`: it would be.
    fn unready(&self) -> Option<String> {
        None
    }

    /// Lookups that its accessor was asked since it was opened, if it has one and counts them.
    fn lookups(&self) -> Option<u64> {
        None
    }

    /// Pages touched since it was opened, if it counts them.
    fn pages(&self) -> Option<Pages> {
        None
    }

    /// What makes a reader of the same records, in the thread that will use it.
    fn for_thread(&self) -> Result<MakeReader, String> {
        Err(format!("`{}` is read by one thread", self.name()))
    }
}

/// Makes an engine in another thread: an engine itself need not go from one to another.
pub(crate) type MakeReader = Box<dyn FnOnce() -> Result<Box<dyn Engine>, String> + Send>;

/// An open store.
pub(crate) trait Store: Engine {
    /// Appends the value of a key, or its absence.
    fn get(&mut self, key: &[u8], answers: &mut Answers) -> Result<(), String>;

    /// Sets a key to a value, as durable as the store was opened for.
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), String>;

    /// Hands over all records in key order.
    fn scan(&mut self, each: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), String>;

    /// Whether a file, by its name, holds nothing but the index that is measured.
    fn is_index_file(&self, _name: &Path) -> bool {
        false
    }

    /// Bytes of it, as far as it tells.
    fn sizes(&self) -> Sizes;

    /// Ends it in an orderly way; another may open its directory.
    fn close(self: Box<Self>) -> Result<(), String>;
}

/// How a store is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    pub(crate) cache_bytes: u64,
    /// Table pages through a memory map, where the store has a choice.
    pub(crate) is_mapped: bool,
    /// Of every put.
    pub(crate) durability: kiban::Durability,
    pub(crate) warmth: Warmth,
}

/// Where pages are when they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warmth {
    /// In memory, as far as they fit.
    Warm,
    /// On the device, indexes too: they are mapped, not copied to the heap. Unless the system reads ahead,
    /// it is told that reads are at random.
    Cold { read_ahead: bool },
}

impl Warmth {
    /// Whether the system is told that reads are at random.
    pub(crate) fn is_advised(self) -> bool {
        self == Self::Cold { read_ahead: false }
    }
}

/// Bytes of a store.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sizes {
    /// On disk, of all records in their tables.
    pub(crate) table_bytes: Option<u64>,
    /// That open tables and accessors hold in memory beside the cache.
    pub(crate) resident_bytes: Option<u64>,
    /// On disk, of all accessor files in use.
    pub(crate) accessor_bytes: Option<u64>,
    /// Lookups that the accessor could not answer.
    pub(crate) fallbacks: Option<u64>,
}

impl Pages {
    /// Those since `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        Self { data: self.data.saturating_sub(before.data), index: self.index.saturating_sub(before.index) }
    }
}

/// Pages that an engine touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pages {
    pub(crate) data: u64,
    pub(crate) index: u64,
}
