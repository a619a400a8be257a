//! Logs that lost their end.

use std::path::Path;

use kiban::storage::MemStorage;

/// Cuts so many bytes of what was written to a log: what was reserved behind that is zeros, which
/// go with it.
pub(crate) fn cut_log(disk: &MemStorage, log: &Path, bytes: usize) {
    let whole = disk.bytes(log).unwrap();
    let written = whole.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    disk.set_bytes(log, whole[..written - bytes].to_vec());
}
