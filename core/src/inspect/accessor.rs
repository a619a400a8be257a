//! Sidecars, section by section. What is in a section its format says.

use std::sync::Arc;

use kiban_formats::FormatError;
use kiban_formats::accessor_file::{describe_accessor, describe_unknown};
use kiban_formats::describe::Dump;
use kiban_indexes::{AccessorFile, FileBytes, FormatId, Registry};

/// Writes the fields of a sidecar. Of a format that is not built in, or of a newer version, the sections are bytes.
///
/// # Errors
/// The first damage.
pub(super) fn describe(bytes: Vec<u8>, dump: &mut Dump) -> Result<(), FormatError> {
    let registry = Registry::built_in();
    let bytes: FileBytes = Arc::new(bytes);
    describe_accessor(&bytes, dump, |directory, section, dump| {
        let (header, sections) = (directory.header, directory.sections.clone());
        let known = registry.by_id(FormatId(header.format_id));
        match known.filter(|format| header.format_version <= format.version()) {
            Some(format) => {
                format.describe(&AccessorFile::new(header, sections, bytes.clone()), section, dump)
            }
            None => {
                let range = section.range.start as usize..section.range.end as usize;
                describe_unknown(section, &bytes[range], dump);
                Ok(())
            }
        }
    })
}
