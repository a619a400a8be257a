use super::*;
use crate::error::ErrorKind;
use crate::event::Listener;
use crate::storage::FsStorage;

/// Everything that can be asked of a table, each answer compared with the model: right, or an
/// error of this kind.
fn ask_everything(sample: &Sample, mode: Mode, hint: &str) -> Result<()> {
    let (table, _) = sample.open(mode)?;
    let mut failed = None;
    for (key, seq, _) in &sample.entries {
        for snapshot in [*seq, seq - 1, SeqNo::MAX.0] {
            match get(&table, key, snapshot) {
                Ok(found) => {
                    assert_eq!(found, sample.expected(key, snapshot), "{hint}: {key:?} at {snapshot}")
                }
                Err(error) => failed = Some(error),
            }
        }
    }
    for key in ["", "app", "apple\0", "april", "b"] {
        match get(&table, key.as_bytes(), 1_000) {
            Ok(found) => assert_eq!(found, sample.expected(key.as_bytes(), 1_000), "{hint}: {key}"),
            Err(error) => failed = Some(error),
        }
    }
    let mut source = TableSource::new(table);
    let scanned = scan(&mut source, sample, hint);
    failed.map_or(scanned, Err)
}

fn scan(source: &mut TableSource, sample: &Sample, hint: &str) -> Result<()> {
    source.first()?;
    for (key, seq, _) in &sample.entries {
        let entry = source.entry().unwrap_or_else(|| panic!("{hint}: an end before {key:?}"));
        assert_eq!((entry.key, entry.seq), (&key[..], SeqNo(*seq)), "{hint}");
        source.next()?;
    }
    assert!(source.entry().is_none(), "{hint}: an entry behind the last");
    Ok(())
}

fn expect_kind(result: Result<()>, kinds: &[ErrorKind], hint: &str) {
    if let Err(error) = result {
        assert!(kinds.contains(&error.kind()), "{hint}: {error:?}");
        assert!(error.to_string().contains("00000012.sst"), "{hint}: {error}");
    }
}

#[test]
fn with_any_bit_changed_every_answer_is_right_or_an_error_and_verify_finds_it() {
    let sample = Sample::small();
    let whole = sample.file();
    let modes = [MODES[1], MODES[2]];
    modes.iter().for_each(|mode| ask_everything(&sample, *mode, "whole").unwrap());
    assert_eq!(sample.open(MODES[0]).unwrap().0.verify().unwrap(), []);
    let mut bytes = whole.clone();
    for bit in 0..whole.len() * 8 {
        // Of the long rows of zeros, a part of the bits will do.
        let in_zeros =
            whole[(bit / 8).saturating_sub(8)..whole.len().min(bit / 8 + 8)].iter().all(|byte| *byte == 0);
        if in_zeros && bit % 61 != 0 {
            continue;
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
        sample.disk.set_bytes(path(), bytes.clone());
        for mode in modes {
            let hint = format!("bit {bit}, {mode:?}");
            expect_kind(ask_everything(&sample, mode, &hint), &[ErrorKind::Corruption], &hint);
        }
        if let Ok((table, _)) = sample.open(MODES[0]) {
            let problems = table.verify().unwrap();
            assert!(!problems.is_empty(), "verify overlooks bit {bit}");
            assert!(problems.len() <= 2, "bit {bit}: {problems:?}");
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

#[test]
fn a_damaged_filter_costs_no_answer() {
    let sample = Sample::small();
    let mut bytes = sample.file();
    let filter = sample.open(MODES[0]).unwrap().0.footer.filter;
    bytes[filter.offset as usize..(filter.offset + filter.len) as usize].fill(0);
    sample.disk.set_bytes(path(), bytes);
    MODES.iter().for_each(|mode| ask_everything(&sample, *mode, "no filter").unwrap());
    let problems = sample.open(MODES[0]).unwrap().0.verify().unwrap();
    assert_eq!(problems[0].section, "filter");
}

#[test]
fn verify_finds_what_changed_in_the_file_after_it_was_opened() {
    let sample = Sample::small();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("00000012.sst");
    let whole = sample.file();
    std::fs::write(&file, &whole).unwrap();
    let context =
        TableContext::new(Arc::new(FsStorage::new()), &Settings::default(), STORE, Listener::default());
    let table = Table::open(&context, &file, &sample.meta).unwrap();
    assert_eq!(table.verify().unwrap(), []);
    for at in (0..whole.len() - 1_000).step_by(1_000).chain(whole.len() - 1_000..whole.len()) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&file, bytes).unwrap();
        assert!(!table.verify().unwrap().is_empty(), "byte {at}");
    }
}

#[test]
fn a_cut_or_extended_file_is_refused_in_every_mode() {
    let sample = Sample::small();
    let whole = sample.file();
    for cut in (0..whole.len()).step_by(13).chain([whole.len() - 1]) {
        sample.disk.set_bytes(path(), whole[..cut].to_vec());
        for mode in MODES {
            let error = sample.open(mode).map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "cut at {cut}: {error}");
        }
    }
    sample.disk.set_bytes(path(), [&whole[..], &[0]].concat());
    assert_eq!(sample.open(MODES[0]).map(drop).unwrap_err().kind(), ErrorKind::Corruption);
    sample.disk.remove(path()).unwrap();
    let error = sample.open(MODES[0]).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "a live table that is missing: {error}");
}

#[test]
fn a_table_of_another_store_or_in_place_of_another_is_refused_by_name() {
    let mut sample = Sample::small();
    let foreign = TableContext::new(
        Arc::new(sample.disk.clone()),
        &Settings::default(),
        StoreId([4; 16]),
        Listener::default(),
    );
    let error = Table::open(&foreign, path(), &sample.meta).map(drop).unwrap_err();
    assert!(error.to_string().contains("belongs to store 0303"), "{error}");
    sample.meta.id = TableId([6; 16]);
    let error = sample.open(MODES[0]).map(drop).unwrap_err();
    assert!(error.to_string().contains("belongs to table 0505"), "{error}");
    let mut sample = Sample::small();
    sample.meta.entries += 1;
    let error = sample.open(MODES[0]).map(drop).unwrap_err();
    assert!(error.to_string().contains("other counts than in the manifest"), "{error}");
}

#[test]
fn a_newer_format_is_unsupported_and_says_what_this_build_reads() {
    let sample = Sample::small();
    let mut bytes = sample.file();
    let footer = bytes.len() - 256;
    bytes[footer + 240] = 2;
    let crc = kiban_formats::crc::crc32(&bytes[footer..footer + 244]);
    bytes[footer + 244..footer + 248].copy_from_slice(&crc.to_le_bytes());
    sample.disk.set_bytes(path(), bytes);
    let error = sample.open(MODES[0]).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("found 2, this build reads 1-1"), "{error}");
}

#[test]
fn random_damage_in_larger_tables_never_gives_a_wrong_answer() {
    for seed in 0..24 {
        let sample = Sample::new(random_entries(seed).into_iter().filter(|entry| entry.1 > 0).collect());
        if sample.entries.len() > 2_000 {
            continue;
        }
        let whole = sample.file();
        let mut random = Random(seed);
        for _ in 0..2 {
            let mut bytes = whole.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.below(256) as u8;
            }
            sample.disk.set_bytes(path(), bytes.clone());
            for mode in MODES {
                let hint = format!("seed {seed}, {mode:?}");
                expect_kind(ask_everything(&sample, mode, &hint), &[ErrorKind::Corruption], &hint);
            }
            if let Ok((table, _)) = sample.open(MODES[0]) {
                assert_eq!(table.verify().unwrap().is_empty(), bytes == whole, "seed {seed}");
            }
        }
    }
}

/// A page's checksum covers its entries; of a jumbo run only the head has one.
#[test]
fn a_damaged_value_of_any_size_is_not_shown_to_a_builder_of_an_index() {
    for len in [10, 200 << 10] {
        let value = vec![b'v'; len];
        let sample = Sample::new(vec![(b"k".to_vec(), 1, Some(value.clone()))]);
        let visit = |sample: &Sample| {
            let mut shown = 0;
            let table = sample.open(MODES[0]).unwrap().0;
            let walked = table.for_each_entry(|entry| -> Result<()> {
                shown += usize::from(entry.value == value);
                Ok(())
            });
            walked.map(|()| shown)
        };
        assert_eq!(visit(&sample).unwrap(), 1);
        let mut bytes = sample.file();
        let at = bytes.windows(10).position(|part| part == [b'v'; 10]).unwrap();
        bytes[at + len / 2] ^= 1;
        sample.disk.set_bytes(path(), bytes);
        assert_eq!(visit(&sample).unwrap_err().kind(), ErrorKind::Corruption, "{len}");
    }
}
