//! Where the numbers of a run come from, as far as it is known before the run.

use kiban::Settings;

use super::options::AbOptions;
use super::settle::Settled;
use crate::clock::{BestClock, Clock};
use crate::machine::{Facts, load_average};
use crate::report::{ClockFacts, Provenance};

pub(super) fn provenance(options: &AbOptions, settled: &Settled, clock: &BestClock) -> Provenance {
    let facts = Facts::gather();
    Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: facts.commit,
        dirty: facts.dirty,
        binary_xxh3: facts.binary_xxh3,
        command: facts.command,
        input: None,
        seed: settled.seed,
        settings: Settings::default(),
        cpu: facts.cpu,
        cores: facts.cores,
        kernel: facts.kernel,
        file_system: None,
        allocator: format!("system ({})", if cfg!(target_env = "musl") { "musl" } else { "libc" }),
        clock: ClockFacts {
            name: clock.name().to_owned(),
            ticks_per_ns: clock.ticks_per_ns(),
            step_ns: clock.step_ticks() as f64 / clock.ticks_per_ns(),
            cost_ns: clock.cost_ns(),
        },
        pinned: options.pin,
        time_box_s: settled.time_box.as_secs_f64(),
        elapsed_s: None,
        load_average_before: load_average(),
        load_average_after: None,
        steal_max: None,
        other_cpu_max: None,
        warnings: Vec::new(),
    }
}
