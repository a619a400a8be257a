//! Index policies and formats that the command line names.

use std::path::Path;

use kiban::IndexPolicy;

use crate::args::Global;
use crate::exit::Failure;

/// Reads a policy, and refuses one that names a format that the program does not know.
pub(crate) fn read(file: &Path, global: Global<'_>) -> Result<IndexPolicy, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| Failure::io("read", file, &error))?;
    let wrong = |error: kiban::policy::PolicyError| Failure::usage(format!("{}: {error}", file.display()));
    let policy = IndexPolicy::from_toml(&text).map_err(wrong)?;
    policy.check(global.registry).map_err(wrong)?;
    Ok(policy)
}

/// Refuses a name that is no format's.
pub(crate) fn check_format(option: &str, name: &str, global: Global<'_>) -> Result<(), Failure> {
    if global.registry.by_name(name).is_some() {
        return Ok(());
    }
    let known: Vec<&str> = global.registry.formats().map(|format| format.name()).collect();
    Err(Failure::usage(format!("{option}: `{name}` is not known; known: {}", known.join(", "))))
}
