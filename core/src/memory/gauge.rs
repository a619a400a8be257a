//! Bytes that are taken for a while, outside the budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The sum of all shares. Cloning shares it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gauge(Arc<AtomicU64>);

/// What one user adds to a gauge, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    gauge: Gauge,
    bytes: u64,
}

impl Gauge {
    /// The bytes of all shares.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// A share of nothing yet.
    pub(crate) fn share(&self) -> Share {
        Share { gauge: self.clone(), bytes: 0 }
    }
}

impl Share {
    /// How many bytes its user takes now.
    pub(crate) fn set(&mut self, bytes: u64) {
        if bytes != self.bytes {
            // Wraps where it is less: the sum comes out right.
            self.gauge.0.fetch_add(bytes.wrapping_sub(self.bytes), Ordering::Relaxed);
            self.bytes = bytes;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_is_the_sum_of_its_shares() {
        let gauge = Gauge::default();
        let (mut a, mut b) = (gauge.share(), gauge.share());
        a.set(100);
        b.set(30);
        a.set(10);
        assert_eq!(gauge.bytes(), 40);
        drop(b);
        assert_eq!(gauge.bytes(), 10);
        drop(a);
        assert_eq!(gauge.bytes(), 0);
    }
}
