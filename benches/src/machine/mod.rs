//! What the system says of itself, read from `/proc`. Where it says nothing the answer is
//! `None`, never 0.

mod facts;
#[cfg(any(test, feature = "controls"))]
mod open_files;
pub(crate) mod page_cache;
mod pin;

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub(crate) use facts::{Facts, file_system_of};
#[cfg(feature = "controls")]
pub(crate) use open_files::expect_random_reads;
pub(crate) use pin::Pin;

/// The system counts processor time in ticks of some 10 ms; no share of fewer is told.
const TICKS_MIN: u64 = 50;

/// Counters of the calling thread, the process and the machine at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    minor_faults: Option<u64>,
    major_faults: Option<u64>,
    device_bytes: Option<u64>,
    written_bytes: Option<u64>,
    processor_time: Duration,
    own_ticks: Option<u64>,
    cpu: Option<CpuTicks>,
}

/// What happened between two readings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// Faults of the calling thread that needed no device.
    pub(crate) minor_faults: Option<u64>,
    /// Faults of the calling thread that waited for a device.
    pub(crate) major_faults: Option<u64>,
    /// Bytes the process read from a device.
    pub(crate) device_bytes: Option<u64>,
    /// Bytes the process handed to the system to write.
    pub(crate) written_bytes: Option<u64>,
    /// Processor time of all threads of the process.
    pub(crate) processor_time: Duration,
    /// Share of all processor time that the hypervisor took away.
    pub(crate) steal: Option<f64>,
    /// Share of all processor time that other processes used.
    pub(crate) other_cpu: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuTicks {
    total: u64,
    idle: u64,
    steal: u64,
}

impl Reading {
    pub(crate) fn now() -> Self {
        let thread = fs::read_to_string("/proc/thread-self/stat").ok();
        let process = fs::read_to_string("/proc/self/stat").ok();
        let io = fs::read_to_string("/proc/self/io").ok();
        let cpu = fs::read_to_string("/proc/stat").ok();
        Self {
            minor_faults: thread.as_deref().and_then(|text| stat_field(text, 10)),
            major_faults: thread.as_deref().and_then(|text| stat_field(text, 12)),
            device_bytes: io.as_deref().and_then(|text| labelled(text, "read_bytes:")),
            written_bytes: io.as_deref().and_then(|text| labelled(text, "wchar:")),
            processor_time: processor_time(),
            own_ticks: process
                .as_deref()
                .and_then(|text| Some(stat_field(text, 14)? + stat_field(text, 15)?)),
            cpu: cpu.as_deref().and_then(cpu_ticks),
        }
    }

    /// What happened since `before`.
    pub(crate) fn since(&self, before: &Self) -> Spent {
        let spent = |now: Option<u64>, before: Option<u64>| now?.checked_sub(before?);
        let own = spent(self.own_ticks, before.own_ticks);
        let cpu = self.cpu.zip(before.cpu).and_then(|(now, before)| now.since(&before));
        let share =
            |ticks: u64, cpu: CpuTicks| (cpu.total >= TICKS_MIN).then(|| ticks as f64 / cpu.total as f64);
        Spent {
            minor_faults: spent(self.minor_faults, before.minor_faults),
            major_faults: spent(self.major_faults, before.major_faults),
            device_bytes: spent(self.device_bytes, before.device_bytes),
            written_bytes: spent(self.written_bytes, before.written_bytes),
            processor_time: self.processor_time.saturating_sub(before.processor_time),
            steal: cpu.and_then(|cpu| share(cpu.steal, cpu)),
            other_cpu: cpu.zip(own).and_then(|(cpu, own)| {
                share(cpu.total.saturating_sub(cpu.idle + cpu.steal).saturating_sub(own), cpu)
            }),
        }
    }
}

impl CpuTicks {
    fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            total: self.total.checked_sub(before.total)?,
            idle: self.idle.checked_sub(before.idle)?,
            steal: self.steal.checked_sub(before.steal)?,
        })
    }
}

fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Most memory the process has had, in bytes.
pub(crate) fn peak_rss_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    labelled(&status, "VmHWM:")?.checked_mul(1024)
}

/// The load average over one minute.
pub(crate) fn load_average() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// A field of `/proc/*/stat` by its number in proc(5), 4 or more. The name, field 2, may hold
/// spaces and parentheses, so counting begins after the last one.
fn stat_field(text: &str, number: usize) -> Option<u64> {
    let after_name = &text[text.rfind(')')? + 1..];
    after_name.split_whitespace().nth(number - 3)?.parse().ok()
}

/// The number after a label at the beginning of a line.
fn labelled(text: &str, label: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(label))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The first line of `/proc/stat`: user nice system idle iowait irq softirq steal. What guests
/// used is part of `user` already.
fn cpu_ticks(text: &str) -> Option<CpuTicks> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
    let [_, _, _, idle, iowait, _, _, steal] = ticks[..] else { return None };
    Some(CpuTicks { total: ticks.iter().sum(), idle: idle + iowait, steal })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_field_is_found_behind_a_strange_name() {
        let text = "17 (a (b) c) S 1 2 3 4 5 6 77 8 99 10 111 122";
        assert_eq!(stat_field(text, 10), Some(77));
        assert_eq!(stat_field(text, 12), Some(99));
        assert_eq!(stat_field(text, 15), Some(122));
        assert_eq!(stat_field(text, 16), None);
    }

    #[test]
    fn shares_are_of_all_processor_time() {
        let reading = |cpu, own_ticks| Reading {
            cpu: cpu_ticks(cpu),
            own_ticks: Some(own_ticks),
            ..Reading::default()
        };
        let before = reading("cpu  100 0 100 800 0 0 0 0 0 0", 50);
        let after = reading("cpu  150 0 110 810 10 0 0 20 0 0", 90);
        let spent = after.since(&before);
        assert_eq!(spent.steal, Some(0.2));
        assert_eq!(spent.other_cpu, Some(0.2));
        assert_eq!(before.since(&before).steal, None);
    }

    #[test]
    fn work_takes_processor_time() {
        let before = Reading::now();
        let sum: u64 = (0..5_000_000).map(std::hint::black_box).sum();
        assert!(Reading::now().since(&before).processor_time > Duration::ZERO, "{sum}");
    }

    #[test]
    fn what_the_system_does_not_say_is_none() {
        assert_eq!(cpu_ticks("cpu  1 2 3"), None);
        assert_eq!(cpu_ticks("intr 1"), None);
        let spent = Reading::default().since(&Reading::default());
        assert_eq!((spent.minor_faults, spent.device_bytes), (None, None));
        assert_eq!(labelled("rchar: 4\nread_bytes: 12\n", "read_bytes:"), Some(12));
        assert_eq!(labelled("rchar: 4\n", "read_bytes:"), None);
    }
}
