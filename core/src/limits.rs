//! Hard limits, checked before anything is logged.

use crate::error::{Error, Result};

/// Longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 131_072;
/// Longest value, in bytes.
pub const VALUE_BYTES_MAX: u64 = u32::MAX as u64;
/// Most operations in one batch.
pub const BATCH_OPERATIONS_MAX: u64 = u32::MAX as u64;
/// Most bytes in one batch.
pub const BATCH_BYTES_MAX: u64 = 8 << 30;
/// Longest keyspace name, in bytes.
pub const KEYSPACE_NAME_BYTES_MAX: usize = 255;
/// Most keyspaces in one store.
pub const KEYSPACES_MAX: usize = 65_536;

/// Refuses a key that is too long.
pub(crate) fn check_key(key: &[u8]) -> Result<()> {
    if key.len() > KEY_BYTES_MAX {
        return Err(Error::invalid(format!(
            "key: {} bytes, allowed are 0 to {KEY_BYTES_MAX} bytes",
            key.len()
        )));
    }
    Ok(())
}

/// Refuses a value that is too long.
pub(crate) fn check_value(value: &[u8]) -> Result<()> {
    if value.len() as u64 > VALUE_BYTES_MAX {
        return Err(Error::invalid(format!(
            "value: {} bytes, allowed are 0 to {VALUE_BYTES_MAX} bytes",
            value.len()
        )));
    }
    Ok(())
}

/// Refuses a batch with too many operations or bytes.
pub(crate) fn check_batch(operations: u64, bytes: u64) -> Result<()> {
    if operations > BATCH_OPERATIONS_MAX {
        return Err(Error::invalid(format!(
            "batch: {operations} operations, allowed are at most {BATCH_OPERATIONS_MAX}"
        )));
    }
    if bytes > BATCH_BYTES_MAX {
        return Err(Error::invalid(format!("batch: {bytes} bytes, allowed are at most {BATCH_BYTES_MAX}")));
    }
    Ok(())
}

/// Refuses a keyspace name that is empty, too long or has control characters.
pub(crate) fn check_keyspace_name(name: &str) -> Result<()> {
    if name.is_empty() || name.len() > KEYSPACE_NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return Err(Error::invalid(format!(
            "keyspace name {name:?}: allowed are 1 to {KEYSPACE_NAME_BYTES_MAX} bytes of UTF-8 without control characters"
        )));
    }
    Ok(())
}
