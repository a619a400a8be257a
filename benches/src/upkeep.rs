//! The maintenance workload W3: what it costs to build indexes while tables are written.
//!
//! | stage | store before | timed |
//! |---|---|---|
//! | `flush` | all records in one memtable, in random order, the log synced | `flush`, until the store is at rest |
//! | `compact` | all records in level 0, in eight parts that overlap, each table with its index | `compact`, until the store is at rest |
//!
//! Nothing is flushed or compacted that is not asked for, and nothing holds the work back. Every
//! trial has a store of its own. After it every table must be read by its index, and answers are
//! compared with the oracle.

use std::time::{Duration, Instant};

use crate::compare::Sample;
use crate::engine::UpkeepStore;
use crate::machine::{Reading, Spent};
use crate::report::{RatioTo, Spread, TrialRow, UpkeepRow};

/// Which upkeep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpkeepStage {
    /// A memtable becomes tables of level 0.
    Flush,
    /// Tables of level 0 become one sorted run.
    Compact,
}

impl UpkeepStage {
    pub(crate) const ALL: [Self; 2] = [Self::Flush, Self::Compact];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Flush => "flush",
            Self::Compact => "compact",
        }
    }
}

/// What one trial measured.
#[derive(Clone, Debug)]
pub(crate) struct UpkeepTrial {
    publish: Duration,
    idle: Duration,
    publish_heap_bytes: u64,
    idle_heap_bytes: u64,
    /// From the beginning to the store at rest.
    spent: Spent,
}

impl UpkeepTrial {
    /// Does the work of a stage in a store that is ready for it.
    pub(crate) fn run(store: &UpkeepStore, stage: UpkeepStage) -> kiban::Result<Self> {
        let before = Reading::now();
        let began = Instant::now();
        match stage {
            UpkeepStage::Flush => store.flush()?,
            UpkeepStage::Compact => store.compact()?,
        }
        let publish = began.elapsed();
        let publish_heap_bytes = store.heap_bytes();
        store.wait_idle()?;
        let idle = began.elapsed();
        let spent = Reading::now().since(&before);
        Ok(Self { publish, idle, publish_heap_bytes, idle_heap_bytes: store.heap_bytes(), spent })
    }
}

impl Sample for UpkeepTrial {
    fn judged(&self) -> f64 {
        self.idle.as_secs_f64()
    }

    fn ratios(spread: impl Fn(fn(&Self) -> f64) -> Option<Spread>) -> RatioTo {
        RatioTo {
            publish: spread(|trial| trial.publish.as_secs_f64()),
            idle: spread(|trial| trial.idle.as_secs_f64()),
            cpu: spread(|trial| trial.spent.processor_time.as_secs_f64()),
            // No ratio where one side is not known.
            written: spread(|trial| trial.spent.written_bytes.map_or(f64::NAN, |bytes| bytes as f64)),
            ..RatioTo::default()
        }
    }

    fn row(&self) -> TrialRow {
        TrialRow {
            p50_ns: None,
            p99_ns: None,
            p999_ns: None,
            mean_ns: None,
            ops_per_s: None,
            major_faults_per_op: None,
            minor_faults_per_op: None,
            data_pages_per_op: None,
            index_pages_per_op: None,
            device_bytes_per_op: None,
            steal: self.spent.steal,
            other_cpu: self.spent.other_cpu,
            histogram: Vec::new(),
            upkeep: Some(UpkeepRow {
                publish_s: self.publish.as_secs_f64(),
                idle_s: self.idle.as_secs_f64(),
                cpu_s: self.spent.processor_time.as_secs_f64(),
                bytes_written: self.spent.written_bytes,
                publish_heap_bytes: self.publish_heap_bytes,
                idle_heap_bytes: self.idle_heap_bytes,
            }),
        }
    }
}
