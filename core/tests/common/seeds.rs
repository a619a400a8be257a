//! Many seeds on all cores, and the name of each that fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Runs `check` for each seed of `from..from + count`; fails with the seeds that failed and how to
/// run one again.
pub(crate) fn for_each_seed(test: &str, from: u64, count: u64, check: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(from);
    let failed = Mutex::new(Vec::new());
    // Stores wait now and then, before they try again what failed.
    let threads = 4 * thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let failures = failed.lock().map_or(usize::MAX, |failed| failed.len());
                    if seed >= from + count || failures >= 3 {
                        return;
                    }
                    if catch_unwind(AssertUnwindSafe(|| check(seed))).is_err() {
                        eprintln!("{test}: seed {seed} failed");
                        failed.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "seeds {failed:?} failed; again: KIBAN_SEED_FROM={} KIBAN_SEEDS=1 cargo test -p kiban {test}",
        failed[0]
    );
}
