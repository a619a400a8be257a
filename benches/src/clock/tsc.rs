//! The time stamp counter of x86-64, one of the named `unsafe` modules.
//!
//! `lfence` waits until all instructions before it have completed and holds back those after
//! it; `rdtscp` waits for those before it by itself. Source: Intel, "How to Benchmark Code
//! Execution Times on Intel IA-32 and IA-64", 2010, with `lfence` in place of `cpuid`, which a
//! virtual machine traps.

use std::arch::x86_64::{__cpuid, __rdtscp, _mm_lfence, _rdtsc};
use std::time::{Duration, Instant};

/// A counter that runs at one rate whatever the core does, with that rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct TscClock {
    ticks_per_ns: f64,
}

impl TscClock {
    /// `None` if the processor does not promise an even rate, or has no `rdtscp`.
    pub(super) fn calibrate(over: Duration) -> Option<Self> {
        if !is_even() {
            return None;
        }
        let (began, start) = (Instant::now(), read_before());
        std::thread::sleep(over);
        let (ticks, elapsed) = (read_after().checked_sub(start)?, began.elapsed());
        let ticks_per_ns = ticks as f64 / elapsed.as_nanos() as f64;
        (ticks_per_ns > 0.1).then_some(Self { ticks_per_ns })
    }

    #[inline(always)]
    pub(super) fn start(&self) -> u64 {
        read_before()
    }

    #[inline(always)]
    pub(super) fn stop(&self) -> u64 {
        read_after()
    }

    pub(super) fn ticks_per_ns(&self) -> f64 {
        self.ticks_per_ns
    }
}

/// Whether the counter is invariant and `rdtscp` is there: leaf 0x8000_0007, EDX bit 8, and
/// leaf 0x8000_0001, EDX bit 27.
fn is_even() -> bool {
    const EXTENDED: u32 = 0x8000_0000;
    __cpuid(EXTENDED).eax >= EXTENDED + 7
        && __cpuid(EXTENDED + 7).edx & 1 << 8 != 0
        && __cpuid(EXTENDED + 1).edx & 1 << 27 != 0
}

#[inline(always)]
fn read_before() -> u64 {
    // SAFETY: x86-64 has SSE2, and with it `lfence`; `rdtsc` reads a counter and touches no
    // memory. `calibrate` read the counter here before a value of this type existed, so the
    // system does not forbid it.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

#[inline(always)]
fn read_after() -> u64 {
    let mut core = 0;
    // SAFETY: `is_even` saw that `rdtscp` is there before anything calls this; it writes only
    // to `core`.
    unsafe {
        let ticks = __rdtscp(&mut core);
        _mm_lfence();
        ticks
    }
}
