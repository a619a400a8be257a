//! Numbers from the environment.

/// A number from the environment, so that long runs need no other build.
pub(crate) fn env_u64(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}: {text:?} is no number")),
        Err(_) => default,
    }
}
