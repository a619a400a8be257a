//! Signals that must not end the program in the middle of a write.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGXFSZ;

/// A write past RLIMIT_FSIZE raises SIGXFSZ, of which a process dies unless it handles it. Handled,
/// the write gives an error like any other, and the store says which file it was.
pub(crate) fn outlive_a_file_that_may_not_grow() {
    // Nobody looks at the flag: what counts is that the signal has a handler. Without one the
    // program works as well, until that signal comes.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}
