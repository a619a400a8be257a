use super::*;

const HEADER: AccessorHeader = AccessorHeader {
    format_id: 4,
    format_version: 1,
    table_id: TableId([1; 16]),
    store_id: StoreId([2; 16]),
    keys: 1000,
};

fn file(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut writer, header) = AccessorWriter::new(&HEADER);
    let mut bytes = header.to_vec();
    for (name, content) in sections {
        bytes.extend(writer.begin_section(name));
        writer.push(content);
        bytes.extend_from_slice(content);
    }
    bytes.extend(writer.finish());
    bytes
}

/// Opens as the engine does, and checks all sections.
fn open(bytes: &[u8]) -> Result<AccessorFile, FormatError> {
    let truncated = || FormatError::invalid(SECTION, 0, "short");
    let trailer = bytes.last_chunk().ok_or_else(truncated)?;
    let len = bytes.len() as u64;
    let end = AccessorFile::directory_bytes(trailer, len)?;
    let file = AccessorFile::decode(bytes, &bytes[bytes.len() - end..], len)?;
    for section in &file.sections {
        section.verify(&bytes[section.range.start as usize..section.range.end as usize])?;
    }
    Ok(file)
}

#[test]
fn sections_come_back_aligned() {
    let sections: [(&str, &[u8]); 3] =
        [("pilots", &[1; 100]), ("empty", &[]), ("sixteen bytes on", &[3; 64])];
    let bytes = file(&sections);
    let opened = open(&bytes).unwrap();
    assert_eq!(opened.header, HEADER);
    for (name, content) in sections {
        let section = opened.section(name).unwrap();
        assert_eq!(section.range.start % SECTION_ALIGN, 0);
        assert_eq!(&bytes[section.range.start as usize..section.range.end as usize], content);
    }
    assert_eq!(opened.section("other"), None);
    assert_eq!(open(&file(&[])).unwrap().sections, []);
}

#[test]
fn every_changed_bit_is_refused_or_harmless_and_every_cut_refused() {
    let whole = file(&[("a", &[7; 70]), ("b", &[8; 3])]);
    let opened = open(&whole).unwrap();
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        // Between sections nothing is read.
        assert!(open(&bytes).is_err() || open(&bytes) == Ok(opened.clone()), "bit {bit}");
    }
    for cut in 0..whole.len() {
        assert!(open(&whole[..cut]).is_err(), "cut at {cut}");
    }
}

#[test]
fn a_newer_container_is_refused_by_version() {
    let mut bytes = file(&[]);
    bytes[8] = 7;
    let problem = open(&bytes).unwrap_err().problem;
    assert_eq!(problem, Problem::Version { found: 7, oldest: 1, newest: 1 });
}
