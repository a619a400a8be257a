//! The write-ahead log: a chain of files, each naming the one before it.
//!
//! A new file is made at the first write after an open, and when the file is full. Its header
//! says which bytes of the file before hold frames, so that what a crash left behind them is
//! never read again, nothing is ever cut off, and opening a store changes no file.

mod journal;
mod replay;
#[cfg(test)]
mod tests;

pub(crate) use journal::Journal;
pub(crate) use replay::{FileInput, LiveLog, Recovered, Replay};
