//! What the planner may spend.

use super::PolicyError;
use super::error::Place;
use crate::planner::Budget;

/// How indexes are admitted to memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Admission {
    /// What resident indexes may take of the memory budget, 0 to 1. Larger: more indexes on the
    /// heap, fewer cached pages.
    pub max_fraction_of_cache: f64,
    /// By which part another plan must be cheaper than the present one before tables are switched,
    /// 0 to 1. Larger: fewer loads, slower to follow what is read. With equal weights for all
    /// tables a plan depends on sizes alone and has nothing to swing between.
    pub hysteresis: f64,
}

impl Default for Admission {
    fn default() -> Self {
        Self { max_fraction_of_cache: 0.5, hysteresis: 0.2 }
    }
}

impl Admission {
    /// What is left to resident indexes of a memory budget of so many bytes.
    pub fn budget(&self, cache_bytes: u64) -> Budget {
        // A byte count above 2^53 loses its last bits, far above any memory.
        let bytes = (cache_bytes as f64 * self.max_fraction_of_cache) as u64;
        Budget { bytes: bytes.min(cache_bytes) }
    }

    /// Refuses fractions that are none.
    ///
    /// # Errors
    /// The first such field.
    pub(super) fn validate(&self) -> Result<(), PolicyError> {
        let fields = [("max_fraction_of_cache", self.max_fraction_of_cache), ("hysteresis", self.hysteresis)];
        match fields.into_iter().find(|(_, fraction)| !(0.0..=1.0).contains(fraction)) {
            None => Ok(()),
            Some((name, found)) => {
                let place = Place::top().field("admission").field(name);
                Err(place.error(format!("{found} is no fraction; allowed are 0 to 1")))
            }
        }
    }
}
