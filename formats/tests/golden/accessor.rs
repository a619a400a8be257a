//! An accessor file with two sections.

use kiban_formats::accessor_file::{AccessorFile, AccessorHeader, AccessorWriter, describe_accessor};
use kiban_formats::{FormatError, TableId};

use super::checks::{STORE, check_damage, check_dump};

fn accessor_file() -> Vec<u8> {
    let (mut writer, header) = AccessorWriter::new(&AccessorHeader {
        format_id: 4,
        format_version: 1,
        table_id: TableId(*b"the-golden-table"),
        store_id: STORE,
        keys: 1000,
    });
    let mut file = header.to_vec();
    for (name, content) in [("pilots", &[7_u8; 70][..]), ("slots", b"abc")] {
        file.extend(writer.begin_section(name));
        writer.push(content);
        file.extend_from_slice(content);
    }
    file.extend(writer.finish());
    file
}

/// Header and sections, all of them verified.
fn read_accessor(file: &[u8]) -> Result<AccessorFile, FormatError> {
    let none = || FormatError::invalid("accessor file", 0, "no trailer");
    let len = file.len() as u64;
    let end = AccessorFile::directory_bytes(file.last_chunk().ok_or_else(none)?, len)?;
    let opened = AccessorFile::decode(file, &file[file.len() - end..], len)?;
    for section in &opened.sections {
        section.verify(&file[section.range.start as usize..section.range.end as usize])?;
    }
    Ok(opened)
}

#[test]
fn an_accessor_file_is_the_golden_one_and_shows_damage() {
    let file = accessor_file();
    check_dump("accessor", &file, describe_accessor);
    check_damage(&file, read_accessor, |_| false);
}
