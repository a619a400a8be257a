use super::*;

fn records(count: u32) -> Vec<Entry> {
    (0..count).map(|no| (no.to_be_bytes().to_vec(), 1 + u64::from(no), Some(vec![no as u8; 100]))).collect()
}

#[test]
fn a_scan_touches_each_page_once() {
    let sample = Sample::new(records(20_000));
    for mode in MODES {
        let (table, context) = sample.open(mode).unwrap();
        let pages = (table.properties.data_pages, u64::from(table.footer.fence_units));
        let mut source = TableSource::new(table);
        let before = context.page_stats();
        source.first().unwrap();
        while source.entry().is_some() {
            source.next().unwrap();
        }
        let (data, index, _) = touched(&context, &before);
        assert_eq!((data, index), pages, "{mode:?}, forward");
        let before = context.page_stats();
        source.last().unwrap();
        while source.entry().is_some() {
            source.prev().unwrap();
        }
        let (data, index, _) = touched(&context, &before);
        assert_eq!((data, index), pages, "{mode:?}, backward");
    }
}

#[test]
fn jumbo_runs_bypass_the_cache() {
    let sample = Sample::new(vec![
        (b"a".to_vec(), 1, Some(vec![1; 300_000])),
        (b"b".to_vec(), 2, Some(vec![2; 300_000])),
    ]);
    let (table, context) = sample.open(MODES[1]).unwrap();
    for (key, seq, _) in &sample.entries {
        assert_eq!(get(&table, key, 9).unwrap(), sample.expected(key, *seq));
    }
    // The one fence page is there.
    assert!((1..5_000).contains(&context.budget.frames().bytes()), "{}", context.budget.frames().bytes());
}

#[test]
fn a_page_of_another_place_is_never_believed() {
    let sample = Sample::new(records(100));
    let whole = sample.file();
    let unit = |page: usize| page * 4096..(page + 1) * 4096;
    let pages = sample.open(MODES[0]).unwrap().0.footer.sections_start() as usize / 4096;
    assert_eq!(pages, 4, "three data pages and a fence page");
    for (from, to) in (0..pages).flat_map(|from| (0..pages).map(move |to| (from, to))) {
        let mut bytes = whole.clone();
        bytes[unit(to)].copy_from_slice(&whole[unit(from)]);
        sample.disk.set_bytes(path(), bytes);
        for mode in MODES {
            let (table, _) = sample.open(mode).unwrap();
            let mut failed = false;
            for (key, seq, _) in &sample.entries {
                match get(&table, key, *seq) {
                    Ok(found) => assert_eq!(found, sample.expected(key, *seq), "{from} in place of {to}"),
                    Err(_) => failed = true,
                }
            }
            assert_eq!(failed, from != to, "{mode:?}: {from} in place of {to}");
        }
    }
}
