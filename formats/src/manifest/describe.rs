//! Annotated dumps of manifests.

use super::change::decode_one;
use super::{Change, EDIT, SECTION, SNAPSHOT};
use crate::FormatError;
use crate::describe::{Dump, printable};
use crate::fields::Fields;
use crate::frame::{FileKind, describe_frames};

/// Writes the fields of a manifest file.
///
/// # Errors
/// What cannot be read; the fields before it are in the dump.
pub fn describe_manifest(file: &[u8], dump: &mut Dump) -> Result<(), FormatError> {
    describe_frames(file, FileKind::Manifest, dump, |kind, payload, base, dump| {
        match kind {
            SNAPSHOT => dump.note("a snapshot"),
            EDIT => dump.note("an edit"),
            kind => return Err(FormatError::invalid(SECTION, base, format!("unknown record kind {kind}"))),
        }
        describe_changes(payload, base, dump).map_err(|error| error.moved_by(base))
    })
}

fn describe_changes(payload: &[u8], base: u64, dump: &mut Dump) -> Result<(), FormatError> {
    let mut fields = Fields::new(SECTION, payload);
    while !fields.is_at_end() {
        let start = fields.offset();
        let change = decode_one(&mut fields)?;
        let what = change.map_or_else(|| "unknown, skipped".to_owned(), |change| meaning(&change));
        dump.field(base + start, &payload[start as usize..fields.offset() as usize], what);
    }
    Ok(())
}

fn meaning(change: &Change) -> String {
    let Change::AddTable { keyspace, table } = change else { return format!("{change:?}") };
    format!(
        "AddTable to keyspace {keyspace}: table {}, level {}, {} bytes, {} entries, {} keys, {} tombstones, \
         sequences {} to {}, keys {} to {}",
        table.no,
        table.level,
        table.bytes,
        table.entries,
        table.keys,
        table.tombstones,
        table.min_seq,
        table.max_seq,
        printable(&table.smallest),
        printable(&table.largest),
    )
}
