//! Progress on standard error: a bar on a terminal, a line every few seconds elsewhere.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::args::Global;

/// Time between lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(3);

/// Progress of one piece of work.
pub(crate) struct Progress {
    display: Display,
    total: Option<u64>,
}

enum Display {
    Nothing,
    Bar(ProgressBar),
    Lines { told: Instant },
}

impl Progress {
    /// Begins; `total` is where the work ends, if that is known.
    pub(crate) fn new(global: Global<'_>, total: Option<u64>) -> Self {
        let display = match (global.quiet, io::stderr().is_terminal()) {
            (true, _) => Display::Nothing,
            (false, true) => Display::Bar(bar(total)),
            (false, false) => Display::Lines { told: Instant::now() },
        };
        Self { display, total: total.filter(|total| *total > 0) }
    }

    /// Tells that the work is at `done`; `what` is asked only if something is shown.
    pub(crate) fn at(&mut self, done: u64, what: impl FnOnce() -> String) {
        match &mut self.display {
            Display::Nothing => {}
            Display::Bar(bar) => {
                bar.set_position(done);
                bar.set_message(what());
            }
            Display::Lines { told } => {
                if told.elapsed() >= LINE_EVERY {
                    *told = Instant::now();
                    eprintln!("kiban: {}{}", what(), share(done, self.total));
                }
            }
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(self) {
        if let Display::Bar(bar) = self.display {
            bar.finish_and_clear();
        }
    }
}

fn bar(total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{msg} {wide_bar} {percent} % {eta}"),
        None => (ProgressBar::new_spinner(), "{spinner} {msg} {elapsed}"),
    };
    // A template that cannot be read would be a mistake here, not the user's; the default shows.
    bar.with_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn share(done: u64, total: Option<u64>) -> String {
    total.map_or(String::new(), |total| format!(", {} %", (done.saturating_mul(100) / total).min(100)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_told_where_the_end_is_known() {
        assert_eq!(share(1, Some(3)), ", 33 %");
        assert_eq!(share(4, Some(3)), ", 100 %");
        assert_eq!(share(4, None), "");
    }
}
