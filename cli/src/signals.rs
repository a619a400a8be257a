//! Signals that must not end the program in the middle of a write.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;

/// A write past RLIMIT_FSIZE raises SIGXFSZ, of which a process dies unless it handles it. Handled,
/// the write gives an error like any other, and the store says which file it was.
pub(crate) fn outlive_a_file_that_may_not_grow() {
    // Nobody looks at the flag: what counts is that the signal has a handler. Without one the
    // program works as well, until that signal comes.
    let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// What a first Ctrl-C or SIGTERM sets instead of ending the program; a second one ends it.
///
/// # Errors
/// What the system says against handling them.
pub(crate) fn stop_when_interrupted() -> io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the second signal finds what the first has set.
        flag::register_conditional_default(signal, stop.clone())?;
        flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}
