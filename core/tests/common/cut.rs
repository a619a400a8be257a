//! Logs that lost their end.

use std::path::Path;

use kiban::storage::MemStorage;

use super::log_file::written;

/// Cuts so many bytes of what was written to a log, and the room behind it.
pub(crate) fn cut_log(disk: &MemStorage, log: &Path, bytes: usize) {
    let whole = disk.bytes(log).unwrap();
    disk.set_bytes(log, whole[..written(&whole).len() - bytes].to_vec());
}
