//! Counters of the read path: a line of its own for each thread, so that counting neither makes
//! threads wait for each other nor locks the bus.

use std::array;
use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::sync::lock;

const SHARDS: usize = 32;
/// Of threads that came when all others were taken.
const SHARED: usize = SHARDS - 1;
const UNKNOWN: usize = usize::MAX;

/// Counts of `N` things.
#[derive(Debug)]
pub(crate) struct Tally<const N: usize>([Shard<N>; SHARDS]);

/// Two cache lines, because processors fetch them in pairs.
#[derive(Debug)]
#[repr(align(128))]
struct Shard<const N: usize>([AtomicU64; N]);

impl<const N: usize> Default for Tally<N> {
    fn default() -> Self {
        Self(array::from_fn(|_| Shard(array::from_fn(|_| AtomicU64::new(0)))))
    }
}

impl<const N: usize> Tally<N> {
    /// Counts one of `what`, which is below `N`.
    #[inline]
    pub(crate) fn count(&self, what: usize) {
        let mine = shard();
        let counter = &self.0[mine].0[what];
        if mine == SHARED {
            counter.fetch_add(1, Ordering::Relaxed);
        } else {
            // Nobody else writes it.
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// How many of `what` all threads counted.
    pub(crate) fn sum(&self, what: usize) -> u64 {
        self.0.iter().map(|shard| shard.0[what].load(Ordering::Relaxed)).sum()
    }
}

thread_local! {
    static MINE: Cell<usize> = const { Cell::new(UNKNOWN) };
    static TAKEN: Taken = Taken::new();
}

/// This thread's shard.
#[inline]
fn shard() -> usize {
    match MINE.get() {
        UNKNOWN => take(),
        mine => mine,
    }
}

#[cold]
fn take() -> usize {
    // A thread that is ending has given its own back.
    let mine = TAKEN.try_with(|taken| taken.0).unwrap_or(SHARED);
    MINE.set(mine);
    mine
}

/// Shards that threads have of their own.
struct Numbers {
    next: usize,
    given_back: Vec<usize>,
}

impl Numbers {
    const fn new() -> Self {
        Self { next: 0, given_back: Vec::new() }
    }

    fn take(&mut self) -> usize {
        self.given_back.pop().unwrap_or_else(|| {
            let number = self.next.min(SHARED);
            self.next = number + 1;
            number
        })
    }

    fn give_back(&mut self, number: usize) {
        if number != SHARED {
            self.given_back.push(number);
        }
    }
}

static NUMBERS: Mutex<Numbers> = Mutex::new(Numbers::new());

/// A shard, given back when its thread ends.
struct Taken(usize);

impl Taken {
    fn new() -> Self {
        Self(lock(&NUMBERS).take())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        MINE.set(SHARED);
        lock(&NUMBERS).give_back(self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    #[test]
    fn nothing_is_lost_with_more_threads_than_shards_and_with_threads_that_come_and_go() {
        const THREADS: usize = 2 * SHARDS;
        let tally = Tally::<3>::default();
        for _ in 0..4 {
            let all_run = Barrier::new(THREADS);
            thread::scope(|scope| {
                for thread in 0..THREADS {
                    let (tally, all_run) = (&tally, &all_run);
                    scope.spawn(move || {
                        tally.count(2);
                        all_run.wait();
                        (0..1_000).for_each(|_| tally.count(thread % 2));
                    });
                }
            });
        }
        let half = 4 * 1_000 * THREADS as u64 / 2;
        assert_eq!([0, 1, 2].map(|what| tally.sum(what)), [half, half, 4 * THREADS as u64]);
    }

    #[test]
    fn a_number_is_one_threads_until_it_is_given_back() {
        let mut numbers = Numbers::new();
        let own: Vec<usize> = (0..SHARED).map(|_| numbers.take()).collect();
        assert_eq!(own, (0..SHARED).collect::<Vec<_>>());
        assert_eq!([numbers.take(), numbers.take()], [SHARED; 2]);
        numbers.give_back(SHARED);
        numbers.give_back(7);
        assert_eq!([numbers.take(), numbers.take()], [7, SHARED]);
    }
}
