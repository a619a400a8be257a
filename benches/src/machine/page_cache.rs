//! Which pages of files the system holds in memory, and taking them away. One of the named `unsafe`
//! modules: to ask for them a file must be in the address space.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Pages of files, and how many of them are in the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CachedPages {
    pub(crate) all: u64,
    pub(crate) cached: u64,
}

impl CachedPages {
    /// Of these files together, by `mincore`. What is read or dropped meanwhile may or may not count.
    pub(crate) fn of(files: &[PathBuf]) -> io::Result<Self> {
        let mut sum = Self::default();
        for path in files {
            let pages = system::cached_pages(path).map_err(|error| named(path, &error))?;
            sum = Self { all: sum.all + pages.all, cached: sum.cached + pages.cached };
        }
        Ok(sum)
    }

    /// The part that is in the page cache; of no pages none is.
    pub(crate) fn share(self) -> f64 {
        if self.all == 0 { 0.0 } else { self.cached as f64 / self.all as f64 }
    }
}

/// Makes files durable, then drops those of their pages that nobody has mapped.
pub(crate) fn drop_cached(files: &[PathBuf]) -> io::Result<()> {
    files.iter().try_for_each(|path| system::drop_cached(path).map_err(|error| named(path, &error)))
}

/// Brings files into the page cache.
pub(crate) fn read_files(files: &[PathBuf]) -> io::Result<()> {
    let read_file = |path: &Path| io::copy(&mut File::open(path)?, &mut io::sink());
    files.iter().try_for_each(|path| read_file(path).map(drop).map_err(|error| named(path, &error)))
}

/// The files of a directory and of those in it.
pub(crate) fn files_below(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => files.extend(files_below(&entry.path())?),
            kind if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
    Ok(files)
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    use memmap2::MmapOptions;
    use rustix::fs::{Advice, fadvise};
    use rustix::param::page_size;

    use super::CachedPages;

    pub(super) fn drop_cached(path: &Path) -> io::Result<()> {
        let file = File::open(path)?;
        // Pages that are not written yet would stay.
        file.sync_all()?;
        Ok(fadvise(&file, 0, None, Advice::DontNeed)?)
    }

    pub(super) fn cached_pages(path: &Path) -> io::Result<CachedPages> {
        let file = File::open(path)?;
        let len = usize::try_from(file.metadata()?.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        if len == 0 {
            return Ok(CachedPages::default());
        }
        // SAFETY: no byte of the map is read, here or by who gets it: `mincore` looks at the system's
        // tables alone. So it does not matter that others write the file, or shorten it, meanwhile.
        let map = unsafe { MmapOptions::new().len(len).map(&file) }?;
        let mut states = vec![0_u8; len.div_ceil(page_size())];
        // SAFETY: the range is the map's, which begins at a page and lives until the end of this
        // function; `states` has a byte for each of its pages, and `mincore` writes no more.
        let done = unsafe { libc::mincore(map.as_ptr().cast_mut().cast(), len, states.as_mut_ptr().cast()) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        let cached = states.iter().filter(|state| **state & 1 != 0).count();
        Ok(CachedPages { all: states.len() as u64, cached: cached as u64 })
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;
    use std::path::Path;

    use super::CachedPages;

    const REFUSAL: &str = "this system is not asked to drop pages, or which it holds";

    pub(super) fn drop_cached(_path: &Path) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, REFUSAL))
    }

    pub(super) fn cached_pages(_path: &Path) -> io::Result<CachedPages> {
        Err(io::Error::new(io::ErrorKind::Unsupported, REFUSAL))
    }
}

/// A directory on a disk, for tests; `None`, told, where temporary files are in memory.
#[cfg(test)]
pub(crate) fn dir_on_disk() -> Option<tempfile::TempDir> {
    let dir = tempfile::tempdir().unwrap();
    if super::file_system_of(dir.path()).as_deref() == Some("tmpfs") {
        eprintln!("skipped: {} has no page cache to drop", dir.path().display());
        return None;
    }
    Some(dir)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::param::page_size;

    use super::*;

    #[test]
    fn what_is_written_is_cached_until_it_is_dropped_and_after_it_is_read() {
        let Some(dir) = dir_on_disk() else { return };
        fs::create_dir(dir.path().join("below")).unwrap();
        fs::write(dir.path().join("below/file"), vec![1; 100 * page_size() + 1]).unwrap();
        fs::write(dir.path().join("empty"), []).unwrap();
        let files = files_below(dir.path()).unwrap();
        assert_eq!(CachedPages::of(&files).unwrap(), CachedPages { all: 101, cached: 101 });
        drop_cached(&files).unwrap();
        assert_eq!(CachedPages::of(&files).unwrap().cached, 0);
        read_files(&files).unwrap();
        assert_eq!(CachedPages::of(&files).unwrap().share(), 1.0);
    }

    #[test]
    fn a_file_that_is_gone_is_named() {
        let error = drop_cached(&["no/such/file".into()]).unwrap_err();
        assert!(error.to_string().starts_with("no/such/file: "), "{error}");
    }
}
