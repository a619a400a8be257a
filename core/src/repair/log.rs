//! The log, up to the first damage.

use kiban_formats::SeqNo;

use super::found::Found;
use super::spaces::Spaces;
use crate::db::DbBuilder;
use crate::error::Result;
use crate::files;
use crate::settings::RecoveryMode;

/// What was taken from the log.
pub(super) struct Read {
    pub(super) operations: u64,
    pub(super) last_seq: SeqNo,
    /// The names of files that were not read to their end.
    pub(super) unread: Vec<String>,
}

/// Hands all operations of the log to the keyspaces.
pub(super) fn replay(builder: &DbBuilder, spaces: &mut Spaces<'_>, found: &Found) -> Result<Read> {
    let logs = found.logs();
    let mode = if found.log_problem.is_none() { RecoveryMode::Strict } else { RecoveryMode::PointInTime };
    let replay = found.replay(builder, &logs, mode)?;
    let oldest = replay.live.oldest;
    let mut operations = 0;
    let recovered = replay.run(|seq, op| {
        operations += u64::from(spaces.apply(seq, op)?);
        Ok(())
    })?;
    let mut unread = Vec::new();
    if let Some(problem) = &found.log_problem {
        let behind = recovered.discarded.iter().filter(|no| **no >= oldest).map(|no| files::log(*no));
        unread.extend(behind.chain([problem.file.clone()]));
    }
    Ok(Read { operations, last_seq: recovered.last_seq, unread })
}
