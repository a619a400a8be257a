//! Facts that do not change while a run lasts.

use std::fs;
use std::path::Path;
use std::process::Command;

use xxhash_rust::xxh3::xxh3_64;

/// The program and the machine it runs on.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) commit: Option<String>,
    pub(crate) dirty: Option<bool>,
    pub(crate) binary_xxh3: Option<String>,
    pub(crate) cpu: Option<String>,
    pub(crate) cores: Option<u64>,
    pub(crate) kernel: Option<String>,
    pub(crate) command: Vec<String>,
}

impl Facts {
    pub(crate) fn gather() -> Self {
        let cores = std::thread::available_parallelism().ok();
        Self {
            commit: git(&["rev-parse", "HEAD"]),
            dirty: git(&["status", "--porcelain", "--untracked-files=no"]).map(|changes| !changes.is_empty()),
            binary_xxh3: binary_hash(),
            cpu: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| cpu_model(&text)),
            cores: cores.map(|cores| cores.get() as u64),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|text| text.trim().to_owned()),
            command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        }
    }
}

/// What git says of the work tree that this program was built from, if it is still there.
fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(env!("CARGO_MANIFEST_DIR")).args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn binary_hash() -> Option<String> {
    let bytes = fs::read(std::env::current_exe().ok()?).ok()?;
    Some(format!("{:016x}", xxh3_64(&bytes)))
}

fn cpu_model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The type of the file system that holds `path`.
pub(crate) fn file_system_of(path: &Path) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    file_system_in(&mounts, &path.canonicalize().ok()?)
}

/// From `/proc/self/mountinfo`: the deepest mount above `path`, of equals the last one mounted.
fn file_system_in(mounts: &str, path: &Path) -> Option<String> {
    let mount = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let point = left.split(' ').nth(4)?.replace("\\040", " ");
        Some((point, right.split(' ').next()?.to_owned()))
    };
    let above = mounts.lines().filter_map(mount).filter(|(point, _)| path.starts_with(point));
    above.max_by_key(|(point, _)| point.len()).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_mount_names_the_file_system() {
        let mounts = "22 1 0:5 / / rw shared:1 - ext4 /dev/a rw\n\
                      23 22 0:6 / /tmp rw - tmpfs none rw\n\
                      24 22 0:7 / /my\\040disk rw - xfs /dev/b rw\n";
        let found = |path| file_system_in(mounts, Path::new(path));
        assert_eq!(found("/tmp/x").as_deref(), Some("tmpfs"));
        assert_eq!(found("/tmpx").as_deref(), Some("ext4"));
        assert_eq!(found("/my disk/x").as_deref(), Some("xfs"));
        assert_eq!(file_system_in("nonsense", Path::new("/")), None);
    }

    #[test]
    fn the_processor_is_named() {
        assert_eq!(cpu_model("vendor: x\nmodel name\t: Fast 9 \n").as_deref(), Some("Fast 9"));
        assert_eq!(cpu_model("vendor: x\n"), None);
    }

    #[test]
    fn the_running_program_has_a_hash() {
        assert_eq!(binary_hash().map(|hash| hash.len()), Some(16));
    }
}
