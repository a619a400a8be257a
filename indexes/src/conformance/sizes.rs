//! Sizes as they are said to be, beside what the allocator says.

use std::sync::Arc;

use super::answers::probe;
use super::builds::Maker;
use super::sidecar;
use super::table::Table;
use crate::contract::{FileBytes, Location, PointAccessor, Residency};

/// What need not be counted: boxes, and what the allocator rounds up.
const SLACK_BYTES: usize = 256;

/// A table, and who counts.
pub(super) struct Sizes<'a> {
    pub(super) maker: Maker<'a>,
    pub(super) table: &'a Table,
    pub(super) allocated: &'a dyn Fn() -> usize,
}

impl Sizes<'_> {
    /// A builder holds what it says, within a tenth.
    pub(super) fn builder(&self) -> Result<(), String> {
        let shape = self.table.shape();
        let before = (self.allocated)();
        let builder = self.maker.fill(self.table, &shape).map_err(|declined| declined.to_string())?;
        let held = (self.allocated)().saturating_sub(before);
        within(builder.memory_bytes(), held, 10)
    }

    /// An open index holds what it says, within a twentieth, also after it was asked. The bytes of
    /// a resident file are its own, those of a map are not.
    pub(super) fn index(&self, file: &[u8], residency: Residency) -> Result<(), String> {
        let asks = self.table.newest();
        let probes: Vec<_> = asks.iter().map(probe).collect();
        let mut out = vec![Location::Unknown; probes.len()];
        let mut before = (self.allocated)();
        let map: FileBytes = Arc::new(Box::<[u8]>::from(file));
        if residency == Residency::Mapped {
            before = (self.allocated)();
        }
        let kept = (residency == Residency::Mapped).then(|| map.clone());
        let opened = sidecar::read(file, map).and_then(|file| self.maker.format.open(file, residency));
        let accessor = opened.map_err(|error| error.to_string())?;
        let held = || (self.allocated)().saturating_sub(before);
        within(accessor.resident_bytes(), held(), 20)?;
        accessor.locate_many(&probes, &mut out);
        let checked = within(accessor.resident_bytes(), held(), 20);
        drop((accessor, kept));
        checked
    }
}

/// What is said is what is held, but for one part in so many.
fn within(said: usize, held: usize, one_in: usize) -> Result<(), String> {
    match said.abs_diff(held) <= held / one_in + SLACK_BYTES {
        true => Ok(()),
        false => Err(format!("{said} bytes are said to be held, {held} were allocated")),
    }
}
