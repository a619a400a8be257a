//! The hard memory budget: what may stay in memory of what can be read again.
//!
//! ```text
//! Budget            cache_bytes: reservations, and the rest for pages
//!   Reservation     bytes of a table handle or a filter, given back when it is dropped
//!   FrameTable      pages read by `pread`, found by (file, page), evicted by a clock
//!     Frame         one page; a pin is a reference count
//! ```
//!
//! Every byte of the budget is either reserved or a frame's. A reservation shrinks what the
//! frame table may hold, at once. Outside the budget, and counted apart: frames that a value or
//! an iterator of the caller still holds after the table let go of them.

mod budget;
mod frame;
mod frames;
mod gauge;

pub(crate) use budget::{Budget, Reservation};
pub(crate) use frame::Frame;
pub(crate) use frames::Worth;
pub(crate) use gauge::{Gauge, Share};
