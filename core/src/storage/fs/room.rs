//! Room ahead of what is appended, so that a sync of an append need not write a new length.

use std::fs::File;
use std::io;

/// Allocates `bytes` bytes behind `appended`, which read as zeros, and makes the file that long.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn reserve(file: &File, appended: u64, bytes: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::process::{Resource, getrlimit};

    // Past its limit the process would get a signal, and the appends may never come so far.
    let limit = getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX);
    if appended.saturating_add(bytes) > limit {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    fallocate(file, FallocateFlags::empty(), appended, bytes).map_err(|error| {
        // A disk that is full may have given what it had left.
        let _ = file.set_len(appended);
        error.into()
    })
}

/// Nowhere else is the system known to allocate without writing.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn reserve(_file: &File, _appended: u64, _bytes: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
