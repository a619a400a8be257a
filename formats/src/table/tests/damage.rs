use super::*;
use crate::crc::crc32;

fn small() -> Vec<u8> {
    encode(&[
        Owned::new("apple", 9, Some(b"red")),
        Owned::new("apple", 4, None),
        Owned::new("apricot", 300, Some(b"")),
        Owned::new("april", 5, Some(b"month")),
    ])
    .0
}

/// No byte of a table file is without a checksum or a check.
#[test]
fn every_changed_bit_is_found() {
    let whole = small();
    assert_eq!(read(&whole).unwrap().len(), 4);
    let mut file = whole.clone();
    for bit in 0..whole.len() * 8 {
        file[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&file).is_err(), "bit {bit}");
        file[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn every_cut_and_every_added_byte_is_found() {
    let whole = small();
    for cut in 0..whole.len() {
        assert!(read(&whole[..cut]).is_err(), "cut at {cut}");
        assert!(read(&whole[whole.len() - cut..]).is_err(), "the last {cut}");
    }
    assert!(read(&[&whole[..], &[0]].concat()).is_err());
    assert!(read(&[&[0], &whole[..]].concat()).is_err());
    assert!(read(&[0; UNIT_BYTES]).is_err());
}

fn footer_of(file: &[u8]) -> [u8; FOOTER_BYTES] {
    file[file.len() - FOOTER_BYTES..].try_into().unwrap()
}

/// Makes the footer's checksum anew.
fn sealed(mut footer: [u8; FOOTER_BYTES]) -> [u8; FOOTER_BYTES] {
    let crc = crc32(&footer[..244]);
    footer[244..248].copy_from_slice(&crc.to_le_bytes());
    footer
}

#[test]
fn a_newer_version_is_refused_by_version() {
    let file = small();
    let mut footer = footer_of(&file);
    footer[240] = 3;
    let error = Footer::decode(&sealed(footer), file.len() as u64).unwrap_err();
    assert!(matches!(error.problem, crate::Problem::Version { found: 3, oldest: 1, newest: 1 }), "{error}");
    // A newer minor version only adds what may be skipped.
    let mut footer = footer_of(&file);
    footer[242] = 9;
    Footer::decode(&sealed(footer), file.len() as u64).unwrap();
}

#[test]
fn an_ingested_table_carries_its_base_sequence() {
    let facts = TableFacts { base_seq: SeqNo(300), ..FACTS };
    let (file, summary) = encode_with(facts, &[Owned::new("apple", 0, Some(b"red"))]);
    let footer = Footer::decode(&footer_of(&file), file.len() as u64).unwrap();
    assert_eq!((footer.base_seq, &footer), (SeqNo(300), &summary.footer));
    assert_eq!((summary.properties.min_seq, summary.properties.max_seq), (SeqNo(0), SeqNo(0)));
    let mut bytes = footer_of(&file);
    bytes[231] = 1;
    let error = Footer::decode(&sealed(bytes), file.len() as u64).unwrap_err();
    assert!(error.to_string().contains("base sequence"), "{error}");
}

#[test]
fn what_this_build_does_not_know_is_refused_by_name() {
    let file = small();
    for (at, byte, name) in
        [(53, 1, "packed"), (53, 2, "unknown encoding 2"), (54, 4, "flags"), (52, 3, "multiples of 3")]
    {
        let mut footer = footer_of(&file);
        footer[at] = byte;
        let error = Footer::decode(&sealed(footer), file.len() as u64).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
}

/// Checksums prove that bytes are unchanged, not that they are sane.
#[test]
fn absurd_geometry_with_right_checksums_is_refused_or_finds_nothing_outside() {
    let file = small();
    let absurd = [0u64, 1, 31, 4095, 1 << 31, u64::from(u32::MAX), 1 << 62, u64::MAX];
    let mut refused = 0;
    // File length, page size, units, and the directory; but a filter that says it is of another
    // kind may be skipped.
    let directory = (64..224).step_by(32).flat_map(|at| [(at, 2), (at + 8, 8), (at + 16, 8), (at + 24, 8)]);
    let fields = [(40, 8), (48, 4), (56, 4), (60, 4)].into_iter().chain(directory.skip(1));
    for (at, len) in fields {
        for value in absurd {
            let mut footer = footer_of(&file);
            footer[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
            if footer == footer_of(&file) {
                continue;
            }
            let decoded = Footer::decode(&sealed(footer), file.len() as u64);
            assert!(decoded.is_err(), "{value} at {at}");
            refused += 1;
        }
    }
    assert!(refused > 150, "{refused}");
}

/// Adds a section of an unknown kind behind the properties.
fn with_unknown_section(file: &[u8], flags: u8) -> Vec<u8> {
    let mut footer = footer_of(file);
    let end = file.len() - FOOTER_BYTES;
    let place = 64 + 32 * 3;
    footer[place] = 200;
    footer[place + 2] = flags;
    footer[place + 4..place + 8].copy_from_slice(&crc32(b"later").to_le_bytes());
    footer[place + 8..place + 16].copy_from_slice(&(end as u64).to_le_bytes());
    footer[place + 16..place + 24].copy_from_slice(&5u64.to_le_bytes());
    footer[40..48].copy_from_slice(&(file.len() as u64 + 5).to_le_bytes());
    [&file[..end], b"later", &sealed(footer)].concat()
}

#[test]
fn unknown_sections_are_skipped_if_they_say_that_they_may_be() {
    let file = small();
    assert_eq!(read(&with_unknown_section(&file, 1)).unwrap(), read(&file).unwrap());
    let error = read(&with_unknown_section(&file, 0)).unwrap_err();
    assert!(error.to_string().contains("unknown section 200"), "{error}");
}

/// What a checksum would let through if it were made anew by somebody.
#[test]
fn any_section_bytes_are_read_without_a_panic() {
    let file = small();
    let footer = Footer::decode(&footer_of(&file), file.len() as u64).unwrap();
    let properties = section(&file, "properties", &footer.properties).unwrap();
    for at in 0..properties.len() {
        for byte in [0, 1, 0x7F, 0x80, 0xFF] {
            let mut bytes = properties.to_vec();
            bytes[at] = byte;
            if let Ok(decoded) = Properties::decode(&bytes) {
                assert!(decoded.common().len() <= decoded.smallest.len());
            }
        }
        assert!(Properties::decode(&properties[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn a_damaged_file_is_described_without_a_panic() {
    let file = small();
    let footer_at = file.len() - FOOTER_BYTES;
    for at in (0..300).chain(UNIT_BYTES..UNIT_BYTES + 100).chain(2 * UNIT_BYTES..file.len()) {
        for byte in [0, 1, 0x7F, 0xFF] {
            let mut bytes = file.clone();
            bytes[at] = byte;
            let mut dump = crate::describe::Dump::new();
            let described = describe_table(&bytes, &mut dump);
            assert!(described.is_ok() || at >= footer_at, "only the footer is needed: byte {at}");
        }
    }
}
