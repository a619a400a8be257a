//! What the machine takes for a load that waits for the one before, and for a read of 4 KiB: what every
//! index is made of. `p50 / load latency` says how often a lookup stops.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;

use crate::machine::page_cache::{CachedPages, drop_cached};
use crate::rng::SplitMix;

/// A line of a cache.
const LINE_BYTES: usize = 64;
const READ_BYTES: usize = 4096;
/// The smallest working set; each further one is four times as large.
const LEAST_BYTES: u64 = 16 << 10;
const LOADS: usize = 1 << 20;
const ROUNDS: usize = 5;
const CACHED_READS: usize = 20_000;
const COLD_READS: usize = 200;
/// Of a file of which more is in the page cache a read is not cold.
const CACHED_SHARE_MAX: f64 = 0.01;

/// What is measured, and where.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MemlatOptions {
    /// Working sets are at most so large; bytes.
    pub memory_bytes_max: u64,
    /// Of the file that is read; bytes.
    pub file_bytes: u64,
    /// Where the file is; it is removed afterwards.
    pub dir: PathBuf,
}

impl Default for MemlatOptions {
    /// Working sets to 256 MiB, a file of 64 MiB in the directory for temporary files.
    fn default() -> Self {
        Self { memory_bytes_max: 256 << 20, file_bytes: 64 << 20, dir: std::env::temp_dir() }
    }
}

/// What one kind of step takes: the median of some rounds, the least and the greatest.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Latency {
    /// `load`: a dependent load of a random line; `pread_cached`, `pread_cold`: 4 KiB at a random place
    /// of a file that is in the page cache, or is not.
    pub step: &'static str,
    /// Bytes that are read from.
    pub working_set_bytes: u64,
    /// Nanoseconds a step; `None`: it cannot be measured here, and `note` says why.
    pub median_ns: Option<f64>,
    /// The quickest round.
    pub min_ns: Option<f64>,
    /// The slowest round.
    pub max_ns: Option<f64>,
    /// Why there are no numbers.
    pub note: Option<String>,
}

/// Measures loads of working sets from 16 KiB on, then reads of a file. Some seconds.
///
/// # Errors
/// The system's, of a file that cannot be written or read.
pub fn measure(options: &MemlatOptions) -> io::Result<Vec<Latency>> {
    let sizes = std::iter::successors(Some(LEAST_BYTES), |bytes| bytes.checked_mul(4));
    let sizes = sizes.take_while(|bytes| *bytes <= options.memory_bytes_max.max(LEAST_BYTES));
    let mut all: Vec<Latency> = sizes.map(load).collect();
    let mut file = tempfile::NamedTempFile::new_in(&options.dir)?;
    let pages = (options.file_bytes / READ_BYTES as u64).max(1);
    let mut rng = SplitMix::new(7);
    for _ in 0..pages {
        let page: Vec<u8> = (0..READ_BYTES / 8).flat_map(|_| rng.next().to_le_bytes()).collect();
        file.write_all(&page)?;
    }
    file.as_file().sync_all()?;
    let rounds = (0..ROUNDS).map(|round| reads(file.as_file(), pages, CACHED_READS, round));
    let cached = rounds.collect::<io::Result<Vec<f64>>>()?;
    all.push(Latency::of("pread_cached", pages * READ_BYTES as u64, cached));
    all.push(cold(file.path(), pages)?);
    Ok(all)
}

impl Latency {
    fn of(step: &'static str, working_set_bytes: u64, mut rounds: Vec<f64>) -> Self {
        rounds.sort_by(f64::total_cmp);
        let median_ns = rounds.get(rounds.len() / 2).copied();
        let (min_ns, max_ns) = (rounds.first().copied(), rounds.last().copied());
        Self { step, working_set_bytes, median_ns, min_ns, max_ns, note: None }
    }
}

/// Nanoseconds a step of a walk along one cycle through all lines, in random order: the processor cannot
/// guess the next one. Pages are of the system's size, so what a miss of their addresses takes is in it.
fn load(bytes: u64) -> Latency {
    let cycle = cycle(bytes as usize / LINE_BYTES);
    let mut at = 0;
    let mut walk = |loads: usize| {
        for _ in 0..loads {
            at = cycle[at].next;
        }
        black_box(at);
    };
    // Brings in what fits.
    walk(cycle.len());
    let rounds = (0..ROUNDS).map(|_| {
        let began = Instant::now();
        walk(LOADS);
        began.elapsed().as_nanos() as f64 / LOADS as f64
    });
    Latency::of("load", bytes, rounds.collect())
}

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line {
    next: usize,
}

/// One cycle through all lines (Sattolo, 1986).
fn cycle(lines: usize) -> Vec<Line> {
    let mut order: Vec<usize> = (0..lines).collect();
    let mut rng = SplitMix::new(lines as u64);
    for last in (1..lines).rev() {
        order.swap(last, rng.below(last));
    }
    order.into_iter().map(|next| Line { next }).collect()
}

/// Nanoseconds a read at random places.
fn reads(file: &File, pages: u64, count: usize, round: usize) -> io::Result<f64> {
    let mut rng = SplitMix::part(11, round as u64);
    let mut page = [0; READ_BYTES];
    let began = Instant::now();
    for _ in 0..count {
        file.read_exact_at(&mut page, rng.below(pages as usize) as u64 * READ_BYTES as u64)?;
        black_box(&page);
    }
    Ok(began.elapsed().as_nanos() as f64 / count as f64)
}

/// The same of a file that is not in the page cache, which is proven before each round.
fn cold(path: &Path, pages: u64) -> io::Result<Latency> {
    let files = [path.to_owned()];
    let mut rounds = Vec::new();
    let mut note = None;
    for round in 0..ROUNDS {
        let share = drop_cached(&files).and_then(|()| CachedPages::of(&files)).map(CachedPages::share);
        match share {
            Ok(share) if share <= CACHED_SHARE_MAX => {
                let file = File::open(path)?;
                #[cfg(target_os = "linux")]
                rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random)?;
                rounds.push(reads(&file, pages, COLD_READS.min(pages as usize), round)?);
            }
            Ok(share) => note = Some(format!("{:.0} % of the file stay in the page cache", share * 100.0)),
            Err(error) => note = Some(error.to_string()),
        }
    }
    let measured = Latency::of("pread_cold", pages * READ_BYTES as u64, rounds);
    Ok(Latency { note: note.filter(|_| measured.median_ns.is_none()), ..measured })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_goes_through_every_line_before_it_comes_back() {
        for lines in [1, 2, 3, 256, 1_000] {
            let cycle = cycle(lines);
            let (mut at, mut steps) = (cycle[0].next, 1);
            while at != 0 {
                (at, steps) = (cycle[at].next, steps + 1);
            }
            assert_eq!(steps, lines);
        }
    }

    #[test]
    fn each_working_set_and_both_kinds_of_reads_are_measured() {
        let dir = tempfile::tempdir().unwrap();
        let (memory_bytes_max, file_bytes) = (256 << 10, 1 << 20);
        let options = MemlatOptions { memory_bytes_max, file_bytes, dir: dir.path().to_owned() };
        let all = measure(&options).unwrap();
        let steps: Vec<(&str, u64)> = all.iter().map(|one| (one.step, one.working_set_bytes)).collect();
        let loads = [16, 64, 256].map(|kib| ("load", kib << 10));
        assert_eq!(steps, [&loads[..], &[("pread_cached", 1 << 20), ("pread_cold", 1 << 20)]].concat());
        for one in &all {
            let measured = one.min_ns.is_some_and(|ns| ns > 0.0) && one.min_ns <= one.max_ns;
            assert!(measured != one.note.is_some(), "{one:?}");
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file is gone");
    }
}
