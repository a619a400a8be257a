use proptest::prelude::*;

use super::*;
use crate::page::{TableSalt, shared_len};
use crate::{PageNo, SeqNo, TableId, UNIT_BYTES};

const TABLE: TableId = TableId([9; 16]);

fn salt(page: u32) -> u32 {
    TableSalt::new(TABLE).page(PageNo(page))
}

type Entries = Vec<(Vec<u8>, u64)>;

/// Fences over `pages` of entries; page `i` is page number `numbers[i]`.
fn build(pages: &[Entries], numbers: &[u32]) -> (Vec<u8>, Vec<u8>) {
    let mut builder = FenceBuilder::new();
    let mut last: Option<&[u8]> = None;
    for (page, number) in pages.iter().zip(numbers) {
        builder.add(PageNo(*number), last, (&page[0].0, SeqNo(page[0].1)));
        last = page.last().map(|entry| entry.0.as_slice());
    }
    let prefix = shared_len(&pages[0][0].0, last.unwrap());
    builder.finish(TableSalt::new(TABLE), PageNo(1000), &pages[0][0].0[..prefix])
}

/// The ordinal of the page found, and whether the next page's separator has the key.
fn find(pages: &[u8], top: &[u8], key: &[u8], seq: u64) -> (PageNo, bool) {
    let tier = TopTier::parse(top).unwrap();
    let Ok(rest) = tier.strip(key) else { panic!("the key is inside the table's range") };
    let fence = tier.node.search(rest, SeqNo(seq)).unwrap();
    let start = (fence.page.0 - 1000) as usize * UNIT_BYTES;
    let end = (fence.ordinal + 1 < tier.node.len())
        .then(|| (tier.node.child(fence.ordinal + 1).0 - 1000) as usize * UNIT_BYTES)
        .unwrap_or(pages.len());
    let node = Node::parse(&pages[start..end]).unwrap();
    node.check_crc(salt(fence.page.0)).unwrap();
    let child = node.search(rest, SeqNo(seq)).unwrap();
    let at_end = child.ordinal + 1 == node.len();
    (child.page, child.next_has_key || at_end && fence.next_has_key)
}

fn check(entries: Entries, page_lens: &[usize], numbers: impl Fn(usize) -> u32) {
    let mut pages: Vec<Entries> = Vec::new();
    let mut rest = entries.as_slice();
    let mut lens = page_lens.iter().cycle();
    while !rest.is_empty() {
        let (page, more) = rest.split_at((*lens.next().unwrap()).min(rest.len()));
        pages.push(page.to_vec());
        rest = more;
    }
    let numbers: Vec<u32> = (0..pages.len()).map(numbers).collect();
    let (fences, top) = build(&pages, &numbers);
    for (page, number) in pages.iter().zip(&numbers) {
        for (key, seq) in page {
            assert_eq!(find(&fences, &top, key, *seq).0, PageNo(*number), "{key:?} {seq}");
        }
    }
    // A sequence between two versions that stand on two pages leads to the first page, and says so.
    for at in 1..pages.len() {
        let ((last, last_seq), (first, first_seq)) = (pages[at - 1].last().unwrap(), &pages[at][0]);
        if last == first && last_seq - 1 > *first_seq {
            assert_eq!(find(&fences, &top, first, last_seq - 1), (PageNo(numbers[at - 1]), true));
        }
        // The newest version of a key is found without a look at the page before.
        if last != first {
            assert_eq!(find(&fences, &top, first, SeqNo::MAX.0).0, PageNo(numbers[at]));
        }
    }
}

fn sorted(mut entries: Entries) -> Entries {
    entries.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    entries.dedup();
    entries
}

proptest! {
    #[test]
    fn every_entry_leads_to_its_page(
        keys in prop::collection::vec((prop::collection::vec(prop::sample::select(&[0u8, 1, b'a', 0xFF][..]), 0..9), 1..9u64), 1..400),
        lens in prop::collection::vec(1..5usize, 1..6),
        prefix in prop::collection::vec(any::<u8>(), 0..40),
        uniform: bool,
    ) {
        let entries = keys.into_iter().map(|(key, seq)| ([prefix.clone(), key].concat(), seq * 3)).collect();
        check(sorted(entries), &lens, |page| if uniform { 4 * page as u32 } else { (page * page) as u32 });
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, key: Vec<u8>) {
        if let Ok(node) = Node::parse(&bytes) {
            let _ = node.search(&key, SeqNo(1));
            let _ = node.separators();
            let _ = node.check_crc(0);
        }
        let _ = TopTier::parse(&bytes).map(|top| top.node.search(&key, SeqNo(1)));
    }
}

#[test]
fn many_pages_and_long_keys_lead_to_their_pages() {
    let long = |fill: usize, number: u32| [vec![b'x'; fill], number.to_be_bytes().to_vec()].concat();
    check((0..30_000).map(|number| (long(3, number), 5)).collect(), &[3], |page| page as u32);
    check((0..40).map(|number| (long(4096, number), 5)).collect(), &[1], |page| 3 * page as u32);
    // Nothing is shared by all, and no separator fits a page.
    let mut entries: Entries = (0..20).map(|number| (long(9000, number), 5)).collect();
    entries.insert(0, (b"a".to_vec(), 1));
    check(entries, &[1], |page| page as u32);
    check((0..5000).rev().map(|seq| (b"one key".to_vec(), 2 * seq + 2)).collect(), &[2], |page| page as u32);
}

#[test]
fn every_changed_bit_of_a_fence_page_is_found() {
    let entries: Vec<Entries> = (0..20u8).map(|key| vec![(vec![key, 1, 2], 3)]).collect();
    let numbers: Vec<u32> = (0..20).collect();
    let (pages, _) = build(&entries, &numbers);
    assert_eq!(pages.len(), UNIT_BYTES);
    for bit in 0..pages.len() * 8 {
        let mut bytes = pages.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let found = Node::parse(&bytes).and_then(|node| node.check_crc(salt(1000)));
        assert!(found.is_err(), "bit {bit}");
    }
}
