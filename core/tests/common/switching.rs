//! Indexes that come, go and change while a store is used.

use std::io;
use std::path::{Path, PathBuf};

use kiban::IndexPolicy;
use kiban::storage::Storage;

use super::rng::Rng;

/// Any policy: none, the automatic one, an index resident, mapped, where there is room, and never used.
pub(crate) fn policy(rng: &mut Rng) -> IndexPolicy {
    let kept = |residency: &str| {
        let toml = format!("[[rule]]\nbuild = [\"ph4\"]\nresidency = \"{residency}\"");
        IndexPolicy::from_toml(&toml).unwrap()
    };
    match rng.below(6) {
        0 => IndexPolicy::sorted_only(),
        1 => IndexPolicy::auto(),
        2 => IndexPolicy::always("ph4"),
        3 => kept("resident"),
        4 => kept("mapped"),
        _ => kept("off"),
    }
}

/// The sidecars in a store's directory.
pub(crate) fn sidecars(storage: &dyn Storage, dir: &Path) -> io::Result<Vec<PathBuf>> {
    let names = storage.list(dir)?.into_iter().map(|entry| entry.name);
    Ok(names.filter(|name| name.ends_with(".ph4")).map(|name| dir.join(name)).collect())
}
