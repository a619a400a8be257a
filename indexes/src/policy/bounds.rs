//! A least and a greatest number, either of which may be open.

use std::ops::{Bound, RangeBounds};

use super::PolicyError;
use super::error::Place;

/// From `min` to `max`, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
}

impl Bounds {
    /// A range of levels. One without a level has a `min` above its `max`.
    pub(super) fn of_levels(range: &impl RangeBounds<u32>) -> Self {
        let min = match range.start_bound() {
            Bound::Included(&first) => Some(u64::from(first)),
            Bound::Excluded(&before) => Some(u64::from(before) + 1),
            Bound::Unbounded => None,
        };
        match range.end_bound() {
            Bound::Included(&last) => Self { min, max: Some(u64::from(last)) },
            Bound::Excluded(&0) => Self { min: Some(1), max: Some(0) },
            Bound::Excluded(&after) => Self { min, max: Some(u64::from(after) - 1) },
            Bound::Unbounded => Self { min, max: None },
        }
    }

    pub(super) fn contains(&self, number: u64) -> bool {
        self.min.is_none_or(|min| min <= number) && self.max.is_none_or(|max| number <= max)
    }

    /// Refuses numbers above `most`, and a range that no number is in.
    ///
    /// # Errors
    /// The field, which is `min_` or `max_` and the name of the quantity.
    pub(super) fn validate(&self, place: &Place, quantity: &str, most: u64) -> Result<(), PolicyError> {
        for (end, number) in [("min", self.min), ("max", self.max)] {
            if let Some(number) = number.filter(|&number| number > most) {
                let field = place.field(&format!("{end}_{quantity}"));
                return Err(field.error(format!("{number} is too large; allowed are 0 to {most}")));
            }
        }
        match (self.min, self.max) {
            (Some(min), Some(max)) if min > max => Err(place.field(&format!("min_{quantity}")).error(format!(
                "{min} is above max_{quantity}, which is {max}: no table can match; allowed are 0 to {max}"
            ))),
            _ => Ok(()),
        }
    }
}
