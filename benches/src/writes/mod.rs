//! The write workload W6: what is written in one stage, and one trial of it.
//!
//! | stage | store before | timed, one by one |
//! |---|---|---|
//! | `write_buffered` | new and empty | 10,000 `Buffered` puts of different keys, in random order |
//! | `write_sync` | new and empty | 1,000 `Sync` puts of different keys, in random order |
//! | `mixed` | a copy of the loaded records | 10,000 operations on random keys: nine gets, then on average one `Buffered` put over a value |
//!
//! Every trial has a store of its own, so that no side is measured on what another trial left.
//! After it the store is closed, opened again and read in full: every record must be there with
//! its last value, and no other.

mod plan;
mod trial;

pub(crate) use plan::{WritePlan, WriteStage};
pub(crate) use trial::{Site, run_write_trial};
