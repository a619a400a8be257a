//! Log files as a killed store leaves them.

/// A log without the room behind its last record.
pub(crate) fn written(log: &[u8]) -> &[u8] {
    // A record ends in a byte that is no zero, and padding.
    let used = log.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &log[..used.next_multiple_of(8).min(log.len())]
}
