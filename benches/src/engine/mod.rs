//! What is measured: something that answers the calls of a plan.

mod floor;
mod kiban_store;

use crate::answers::Answers;
use crate::plan::Plan;

pub(crate) use floor::Floor;
pub(crate) use kiban_store::{KibanStore, build_store};

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

    /// Pages touched since it was opened, if it counts them.
    fn pages(&self) -> Option<Pages> {
        None
    }
}

/// Pages that an engine touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pages {
    pub(crate) data: u64,
    pub(crate) index: u64,
}
