//! An open index, without a virtual call for Kiban's own.

use enum_dispatch::enum_dispatch;

use crate::Ph4;
use crate::contract::{Location, PointAccessor, Presence, Probe};

/// An open index of a table.
#[derive(Debug)]
#[enum_dispatch(PointAccessor)]
#[non_exhaustive]
pub enum Accessor {
    /// A perfect hash.
    Ph4(Box<Ph4>),
    /// Of a registered format of somebody else.
    Plugin(Box<dyn PointAccessor>),
}

const _: () = assert!(size_of::<Accessor>() <= 64);

/// Forwards every method: one that is left out would be the trait's default, and the format's own
/// would never be called.
#[deny(clippy::missing_trait_methods)]
impl<T: PointAccessor + ?Sized> PointAccessor for Box<T> {
    #[inline]
    fn locate(&self, probe: &Probe<'_>) -> Location {
        (**self).locate(probe)
    }

    fn locate_many(&self, probes: &[Probe<'_>], out: &mut [Location]) {
        (**self).locate_many(probes, out);
    }

    fn prefetch(&self, hash: u64) {
        (**self).prefetch(hash);
    }

    fn presence(&self, probe: &Probe<'_>) -> Presence {
        (**self).presence(probe)
    }

    fn resident_bytes(&self) -> usize {
        (**self).resident_bytes()
    }

    fn rejects_absent(&self) -> bool {
        (**self).rejects_absent()
    }
}
