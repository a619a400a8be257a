//! An accessor file with two sections.

use kiban_formats::accessor_file::{
    AccessorFile, AccessorHeader, AccessorWriter, describe_accessor, describe_unknown,
};
use kiban_formats::describe::Dump;
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

fn describe(file: &[u8], dump: &mut Dump) -> Result<(), FormatError> {
    describe_accessor(file, dump, |_, section, dump| {
        let range = section.range.start as usize..section.range.end as usize;
        describe_unknown(section, &file[range], dump);
        Ok(())
    })
}

#[test]
fn an_accessor_file_is_the_golden_one_and_shows_damage() {
    let file = accessor_file();
    check_dump("accessor", &file, describe);
    check_damage(&file, read_accessor, |_| false);
}

#[test]
fn a_dump_tells_each_changed_bit() {
    let mut file = accessor_file();
    for bit in 0..file.len() * 8 {
        file[bit / 8] ^= 1 << (bit % 8);
        assert!(describe(&file, &mut Dump::new()).is_err(), "bit {bit}");
        file[bit / 8] ^= 1 << (bit % 8);
    }
    let slots_at = 192;
    file[slots_at] ^= 1;
    let mut dump = Dump::new();
    assert_eq!(describe(&file, &mut dump).unwrap_err().offset, slots_at as u64);
    let dump = dump.finish();
    assert!(dump.contains("DAMAGED") && dump.contains("magic of a whole file"), "{dump}");
}
