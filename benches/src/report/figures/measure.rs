//! The numbers that bars are about.

use super::super::number::{bytes, digits, ratio};
use super::super::setting::Setting;
use super::super::{Cell, RatioTo, Report, Spread, Status, TrialRow};

/// A number of a cell.
#[derive(Clone, Copy, Debug)]
pub(in crate::report) enum Measure {
    /// Ours over theirs; over the best of them if there are several.
    Ratio { of: Time, to: &'static [&'static str] },
    /// Our operations a second over theirs.
    Throughput { to: &'static str },
    /// Data pages touched per operation.
    DataPages,
    /// Index and filter pages touched per operation.
    IndexPages,
    /// Bytes read from the device per operation.
    DeviceBytes,
    /// Bytes of the accessor file per key.
    BytesPerKey,
    /// Bytes of another accessor's file over ours.
    SmallerThan { other: &'static str },
    /// Bytes on disk above those of keys and values, as a part of them; a record has this many.
    Overhead { record_bytes: f64 },
    /// The p99 of mapped reads over that of `pread`.
    MappedOverPread,
}

/// Which time of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::report) enum Time {
    P50,
    P99,
    /// Time until new tables are published.
    Publish,
    /// Time until the store is at rest.
    Idle,
    /// Processor time until then.
    Cpu,
}

/// A number and how far it may be from the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::report) struct Number {
    pub(in crate::report) value: f64,
    /// None of what is counted and comes out the same each time.
    pub(in crate::report) interval: Option<(f64, f64)>,
}

impl Measure {
    /// What it is, in words.
    pub(super) fn name(self) -> String {
        match self {
            Self::Ratio { of, to } => format!("{} ratio to {}", of.name(), named(to)),
            Self::Throughput { to } => format!("throughput ratio to {}", named(&[to])),
            Self::DataPages => "data pages per operation".to_owned(),
            Self::IndexPages => "index pages per operation".to_owned(),
            Self::DeviceBytes => "device bytes per operation".to_owned(),
            Self::BytesPerKey => "accessor bytes per key".to_owned(),
            Self::SmallerThan { other } => format!("times smaller than {other}"),
            Self::Overhead { .. } => "bytes above the raw records".to_owned(),
            Self::MappedOverPread => "p99 of mmap to pread".to_owned(),
        }
    }

    /// One of its values in words.
    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::DeviceBytes => bytes(value),
            Self::Overhead { .. } => format!("{:+.1} %", value * 100.0),
            Self::Ratio { .. } | Self::Throughput { .. } | Self::MappedOverPread => ratio(value),
            _ => digits(value),
        }
    }

    /// A bound on it in words.
    pub(super) fn show_bound(self, bound: f64) -> String {
        match self {
            Self::Ratio { .. } | Self::Throughput { .. } | Self::MappedOverPread => digits(bound),
            _ => self.show(bound),
        }
    }

    /// Whether it is of files alone, not of how they are read.
    pub(super) fn is_of_files(self) -> bool {
        matches!(self, Self::BytesPerKey | Self::SmallerThan { .. } | Self::Overhead { .. })
    }

    /// Whether a report can say it of a cell: the others are in it.
    pub(super) fn is_of(self, report: &Report, cell: &Cell) -> bool {
        match self {
            Self::Ratio { to, .. } => to.iter().any(|to| is_beside(report, cell, to)),
            Self::Throughput { to } => is_beside(report, cell, to),
            Self::SmallerThan { other } => is_beside(report, cell, other),
            Self::MappedOverPread => beside_read(report, cell).is_some(),
            Self::BytesPerKey => cell.bytes_per_key.is_some(),
            Self::Overhead { .. } => cell.disk_bytes.table.is_some(),
            Self::DataPages | Self::IndexPages | Self::DeviceBytes => true,
        }
    }

    /// It, if the report has what it is made of.
    pub(super) fn number(self, report: &Report, cell: &Cell) -> Option<Number> {
        match self {
            Self::Ratio { of, to } => {
                let spreads = to.iter().filter_map(|to| of.of(report.usable_ratio(cell, to)?));
                spreads.max_by(|a, b| a.median.total_cmp(&b.median)).map(Number::from)
            }
            Self::Throughput { to } => throughput(report, cell, report.beside(cell, to)?),
            Self::DataPages => counted(cell, |trial| trial.data_pages_per_op),
            Self::IndexPages => counted(cell, |trial| trial.index_pages_per_op),
            Self::DeviceBytes => counted(cell, |trial| trial.device_bytes_per_op),
            Self::BytesPerKey => cell.bytes_per_key.map(Number::exact),
            Self::SmallerThan { other } => {
                let (ours, theirs) = (cell.bytes_per_key?, report.beside(cell, other)?.bytes_per_key?);
                (ours > 0.0).then(|| Number::exact(theirs / ours))
            }
            Self::Overhead { record_bytes } => {
                let raw = record_bytes * cell.n as f64;
                // An accessor without a file of its own is part of the table.
                let bytes = cell.disk_bytes.table? as f64 + cell.disk_bytes.accessor.unwrap_or(0) as f64;
                (raw > 0.0).then(|| Number::exact(bytes / raw - 1.0))
            }
            Self::MappedOverPread => {
                let (mapped, pread) = (cell, beside_read(report, cell)?);
                let (mapped, pread) = (range_of_p99(mapped)?, range_of_p99(pread)?);
                let interval = Some((mapped.0 / pread.2, mapped.2 / pread.0));
                (pread.0 > 0.0).then_some(Number { value: mapped.1 / pread.1, interval })
            }
        }
    }
}

impl Time {
    fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::Publish => "publish",
            Self::Idle => "idle",
            Self::Cpu => "CPU",
        }
    }

    fn of(self, ratio: &RatioTo) -> Option<Spread> {
        match self {
            Self::P50 => ratio.p50,
            Self::P99 => ratio.p99,
            Self::Publish => ratio.publish,
            Self::Idle => ratio.idle,
            Self::Cpu => ratio.cpu,
        }
    }
}

impl Number {
    fn exact(value: f64) -> Self {
        Self { value, interval: None }
    }
}

impl From<Spread> for Number {
    fn from(spread: Spread) -> Self {
        Self { value: spread.median, interval: Some((spread.low, spread.high)) }
    }
}

fn named(names: &[&str]) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.trim_start_matches("control:")).collect();
    match &names[..] {
        [one] => (*one).to_owned(),
        several => format!("the best of {}", several.join(" and ")),
    }
}

fn is_beside(report: &Report, cell: &Cell, accessor: &str) -> bool {
    accessor != cell.accessor && report.beside(cell, accessor).is_some()
}

/// The same cell read with `pread`.
fn beside_read<'a>(report: &'a Report, cell: &Cell) -> Option<&'a Cell> {
    let wanted = Setting { read: Some("pread"), ..Setting::of(cell) };
    let is_it = |other: &&Cell| {
        other.accessor == cell.accessor && other.stage == cell.stage && Setting::of(other) == wanted
    };
    report.cells.iter().find(is_it)
}

/// Ratios of paired trials, summed up like those of times.
fn throughput(report: &Report, ours: &Cell, theirs: &Cell) -> Option<Number> {
    if theirs.status == Status::Failed {
        return None;
    }
    let pairs = ours.trials.iter().zip(&theirs.trials);
    let ratios: Option<Vec<f64>> = pairs.map(|(a, b)| Some(a.ops_per_s? / b.ops_per_s?)).collect();
    Spread::of(&ratios?, report.provenance.seed).map(Number::from)
}

/// The median over the trials, with the least and the greatest if they differ.
fn counted(cell: &Cell, of: fn(&TrialRow) -> Option<f64>) -> Option<Number> {
    let numbers: Vec<f64> = cell.trials.iter().filter_map(of).collect();
    let (least, most) = least_and_most(&numbers)?;
    let value = cell.median_of(of)?;
    Some(Number { value, interval: (least < most).then_some((least, most)) })
}

/// Least, median and greatest of the p99 over the trials.
fn range_of_p99(cell: &Cell) -> Option<(f64, f64, f64)> {
    let numbers: Vec<f64> = cell.trials.iter().filter_map(|trial| trial.p99_ns).collect();
    let (least, most) = least_and_most(&numbers)?;
    Some((least, cell.median_of(|trial| trial.p99_ns)?, most))
}

fn least_and_most(numbers: &[f64]) -> Option<(f64, f64)> {
    let least = numbers.iter().copied().reduce(f64::min)?;
    Some((least, numbers.iter().copied().fold(least, f64::max)))
}
