//! Files that other code of this process has open.

use std::io;
use std::path::Path;

/// Says of each open file of a directory that it is read at random. The advice belongs to the open
/// file, so it is given through a second descriptor of the same one: opening the path again would
/// make another. Returns how many files there were.
#[cfg(target_os = "linux")]
pub(crate) fn expect_random_reads(dir: &Path) -> io::Result<usize> {
    use std::fs;

    use rustix::fs::{Advice, fadvise};
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

    let dir = dir.canonicalize()?;
    let process = pidfd_open(getpid(), PidfdFlags::empty())?;
    let mut advised = 0;
    for entry in fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        // The descriptor that lists them is gone when it is looked at.
        let Ok(path) = fs::read_link(entry.path()) else { continue };
        let number = entry.file_name().to_str().and_then(|number| number.parse().ok());
        if let Some(number) = number.filter(|_| path.starts_with(&dir) && path.is_file()) {
            let file = pidfd_getfd(&process, number, PidfdGetfdFlags::empty())?;
            fadvise(&file, 0, None, Advice::Random)?;
            advised += 1;
        }
    }
    Ok(advised)
}

/// Always `Unsupported`.
#[cfg(not(target_os = "linux"))]
pub(crate) fn expect_random_reads(_dir: &Path) -> io::Result<usize> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this system takes no advice about open files"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::fs::File;
    use std::os::unix::fs::FileExt as _;

    use super::super::page_cache::{CachedPages, dir_on_disk, drop_cached};
    use super::*;

    #[test]
    fn a_file_that_somebody_else_opened_is_not_read_ahead() {
        let Some(dir) = dir_on_disk() else { return };
        let path = dir.path().join("file");
        fs::write(&path, vec![1; 1 << 20]).unwrap();
        let files = [path.clone()];
        let file = File::open(&path).unwrap();
        let cached_after_a_read = || {
            drop_cached(&files).unwrap();
            // What begins at the beginning looks like a sequential read.
            file.read_exact_at(&mut [0; 100], 0).unwrap();
            CachedPages::of(&files).unwrap().cached
        };
        assert!(cached_after_a_read() > 1, "the system reads ahead of any file");
        assert_eq!(expect_random_reads(dir.path()).unwrap(), 1);
        assert_eq!(cached_after_a_read(), 1);
    }
}
