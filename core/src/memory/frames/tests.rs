use std::collections::HashMap;

use kiban_formats::UNIT_BYTES;

use super::super::frame::FRAME_UNITS_MAX;
use super::*;

/// Loads a page as a reader does; the page's bytes say what it is.
fn load(table: &FrameTable, file: u64, page: u32, units: usize) -> Frame {
    let mut frame = table.lend(FileNo(file), PageNo(page), units * UNIT_BYTES).unwrap();
    let bytes = &mut Arc::get_mut(&mut frame).expect("a lent frame is nobody else's").bytes;
    bytes[..4].copy_from_slice(&page.to_le_bytes());
    bytes[4] = file as u8;
    table.insert(FileNo(file), PageNo(page), &frame, Worth::Data);
    frame
}

fn is_page(frame: &Frame, file: u64, page: u32) -> bool {
    frame.bytes[..4] == page.to_le_bytes() && frame.bytes[4] == file as u8
}

#[test]
fn pages_are_told_apart_by_file_and_number() {
    let table = FrameTable::new(1 << 20);
    load(&table, 1, 2, 1);
    load(&table, 2, 1, 1);
    assert!(is_page(&table.get(FileNo(1), PageNo(2)).unwrap(), 1, 2));
    assert!(is_page(&table.get(FileNo(2), PageNo(1)).unwrap(), 2, 1));
    assert!(table.get(FileNo(1), PageNo(1)).is_none());
}

/// Random loads and looks, of pages of all lengths, at capacities that change: what is found is
/// the page, what the table says it holds is what is alive, and the capacity is never passed.
#[test]
fn what_it_holds_is_counted_and_stays_under_the_capacity() {
    for seed in 0..40_u64 {
        let table = FrameTable::new(4 << 20);
        let mut state = seed;
        let mut random = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        let mut units = HashMap::new();
        for _ in 0..3_000 {
            let (file, page) = (random(3), random(600) as u32);
            let units = *units.entry((file, page)).or_insert_with(|| match random(4) {
                0 => 1 + random(FRAME_UNITS_MAX as u64) as usize,
                _ => 1,
            });
            match table.get(FileNo(file), PageNo(page)) {
                Some(frame) => assert!(is_page(&frame, file, page), "seed {seed}"),
                None => drop(load(&table, file, page, units)),
            }
            if random(300) == 0 {
                table.set_capacity([0, 9_000, 100 << 10, 1 << 20, 4 << 20][random(5) as usize]);
            }
            let capacity: u64 = table.shards.iter().map(|shard| lock(&shard.0).capacity).sum();
            assert!(table.bytes() <= capacity, "seed {seed}: {} of {capacity}", table.bytes());
            assert_eq!(table.pinned_bytes(), 0, "seed {seed}");
        }
        table.set_capacity(0);
        assert_eq!((table.bytes(), table.alive.load(Ordering::Relaxed)), (0, 0), "seed {seed}");
    }
}

#[test]
fn a_full_table_allocates_nothing_and_a_pinned_frame_is_not_written_over() {
    let table = FrameTable::new(1 << 20);
    let pinned = load(&table, 1, 0, 1);
    (1..2_000).for_each(|page| drop(load(&table, 1, page, 1)));
    assert!(is_page(&pinned, 1, 0), "its reader still holds it");
    assert_eq!(table.pinned_bytes(), frame_bytes(UNIT_BYTES));
    drop(pinned);
    let before = table.alive.load(Ordering::Relaxed);
    for page in 2_000..4_000 {
        let frame = table.lend(FileNo(1), PageNo(page), UNIT_BYTES).unwrap();
        assert!(table.alive.load(Ordering::Relaxed) <= before, "the frame of an evicted page is used again");
        table.insert(FileNo(1), PageNo(page), &frame, Worth::Data);
    }
}

#[test]
fn a_page_that_is_read_again_outlives_a_scan() {
    let table = FrameTable::new(1 << 20);
    (0..20).for_each(|page| drop(load(&table, 1, page, 1)));
    for scanned in 0..1_000 {
        (0..20).for_each(|page| assert!(table.get(FileNo(1), PageNo(page)).is_some(), "after {scanned}"));
        load(&table, 2, scanned, 1);
    }
}

#[test]
fn an_index_page_stays_one_turn_longer() {
    let table = FrameTable::new(1 << 20);
    let frame = table.lend(FileNo(1), PageNo(0), UNIT_BYTES).unwrap();
    table.insert(FileNo(1), PageNo(0), &frame, Worth::Index);
    load(&table, 1, 1, 1);
    let mut evicted = None;
    for page in 2..2_000 {
        load(&table, 1, page, 1);
        if evicted.is_none() && !table.get_quietly(FileNo(1), PageNo(1)) {
            evicted = Some(page);
            assert!(table.get_quietly(FileNo(1), PageNo(0)), "the data page next to it goes first");
        }
    }
    assert!(evicted.is_some());
}

impl FrameTable {
    /// Whether the page is there, without a hit.
    fn get_quietly(&self, file: FileNo, page: PageNo) -> bool {
        let hash = hash((file, page));
        lock(&self.shard(hash).0).find((file, page), hash).is_some()
    }
}
