use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::page::{TableSalt, shared_len};
use crate::{FormatError, PageNo, SeqNo, TableId, UNIT_BYTES};

const TABLE: TableId = TableId([9; 16]);
const FENCES_AT: u32 = 5_000_000;

type Entries = Vec<(Vec<u8>, u64)>;

/// The fences of a table.
struct Fences {
    pages: BTreeMap<u32, Vec<u8>>,
    top: Vec<u8>,
}

impl Fences {
    /// Over `pages` of entries; page `i` has page number `numbers[i]`.
    fn build(pages: &[Entries], numbers: &[u32]) -> Self {
        let mut builder = FenceBuilder::new();
        builder.add(&[], None, PageNo(numbers[0]));
        for (neighbours, number) in pages.windows(2).zip(&numbers[1..]) {
            let ((last, last_seq), (first, _)) = (neighbours[0].last().unwrap(), &neighbours[1][0]);
            let (len, seq) = separator_between(last, SeqNo(*last_seq), first);
            builder.add(&first[..len], seq, PageNo(*number));
        }
        let (smallest, largest) = (&pages[0][0].0, &pages.last().unwrap().last().unwrap().0);
        let common = &smallest[..shared_len(smallest, largest)];
        let mut fences = BTreeMap::new();
        let emit = |page: FencePage<'_>| {
            fences.insert(page.page.0, page.bytes.to_vec());
            Ok::<(), FormatError>(())
        };
        let top = builder.finish(common, PageNo(FENCES_AT), TableSalt::new(TABLE), emit).unwrap();
        Self { pages: fences, top }
    }

    fn top(&self) -> TopTier {
        TopTier::decode(&self.top, TableSalt::new(TABLE)).unwrap()
    }

    fn node(&self, page: PageNo) -> FenceNode<'_> {
        let bytes = &self.pages[&page.0];
        assert_eq!(usize::from(fence_units(bytes).unwrap()) * UNIT_BYTES, bytes.len());
        let node = FenceNode::parse(bytes).unwrap();
        node.check_crc(TableSalt::new(TABLE).page(page)).unwrap();
        node
    }

    /// The data page to which (key, sequence) leads.
    fn find(&self, key: &[u8], seq: u64) -> PageNo {
        let top = self.top();
        let target = top.target(key, SeqNo(seq));
        let node = self.node(top.node().child(target.find_in(&top.node()).unwrap()).unwrap());
        node.child(target.find_in(&node).unwrap()).unwrap()
    }

    /// All data pages, by walking over every fence page.
    fn children(&self) -> Vec<PageNo> {
        let top = self.top();
        let fences = (0..top.node().count()).map(|child| top.node().child(child).unwrap());
        fences
            .flat_map(|page| {
                let node = self.node(page);
                (0..node.count()).map(|child| node.child(child).unwrap()).collect::<Vec<_>>()
            })
            .collect()
    }
}

/// Cuts entries into pages of these lengths, in turn.
fn cut(entries: &Entries, lens: &[usize]) -> Vec<Entries> {
    let mut pages: Vec<Entries> = Vec::new();
    let mut rest = entries.as_slice();
    for len in lens.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (page, more) = rest.split_at((*len).min(rest.len()));
        pages.push(page.to_vec());
        rest = more;
    }
    pages
}

/// Every entry, and every place just before one, leads to the page where the first entry at or
/// after it is, if that entry has the same key; any other leads to the page where it would be.
fn check(entries: Entries, page_lens: &[usize], number: impl Fn(usize) -> u32) -> Fences {
    let pages = cut(&entries, page_lens);
    let numbers: Vec<u32> = (0..pages.len()).map(number).collect();
    let fences = Fences::build(&pages, &numbers);
    let expected: Vec<PageNo> = numbers.iter().map(|number| PageNo(*number)).collect();
    assert_eq!(fences.children(), expected);
    let mut page_of = pages.iter().zip(&numbers).flat_map(|(page, number)| page.iter().map(move |_| *number));
    let mut newer: Option<&(Vec<u8>, u64)> = None;
    for entry in &entries {
        let (key, seq) = entry;
        let page = PageNo(page_of.next().unwrap());
        assert_eq!(fences.find(key, *seq), page, "{key:?} at {seq}");
        // The greatest sequence that still finds this version.
        let most = match newer {
            Some((before, newer)) if before == key => newer - 1,
            _ => SeqNo::MAX.0,
        };
        assert_eq!(fences.find(key, most), page, "{key:?} at {most}");
        newer = Some(entry);
    }
    fences
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
    fn keys_that_are_not_there_lead_between_their_neighbours(
        keys in prop::collection::vec(prop::collection::vec(0..4u8, 0..6), 1..200),
        others in prop::collection::vec(prop::collection::vec(0..5u8, 0..7), 0..50),
    ) {
        let entries = sorted(keys.into_iter().map(|key| (key, 1)).collect());
        let pages = cut(&entries, &[3]);
        let numbers: Vec<u32> = (0..pages.len() as u32).collect();
        let fences = Fences::build(&pages, &numbers);
        for key in others {
            let page = fences.find(&key, 5).0 as usize;
            // No page before it has a key at or after this one, no page behind it one at or before.
            prop_assert!(pages[..page].iter().flatten().all(|entry| entry.0 < key));
            prop_assert!(pages[page + 1..].iter().flatten().all(|entry| entry.0 > key));
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(mut bytes: Vec<u8>, key: Vec<u8>, fill: bool) {
        bytes.resize(if fill { UNIT_BYTES } else { bytes.len() }, 0);
        if let Ok(node) = FenceNode::parse(&bytes) {
            let _ = node.find(&key, SeqNo(1)).map(|child| node.child(child));
            let _ = node.separators();
            let _ = node.child(usize::MAX);
        }
        let _ = TopTier::decode(&bytes, TableSalt::new(TABLE));
    }
}

#[test]
fn many_pages_long_keys_and_many_versions_lead_to_their_pages() {
    let long = |fill: usize, number: u32| [vec![b'x'; fill], number.to_be_bytes().to_vec()].concat();
    let fences = check((0..30_000).map(|number| (long(3, number), 5)).collect(), &[3], |page| page as u32);
    assert!(fences.pages.len() > 1 && fences.pages.len() < 20, "{}", fences.pages.len());
    // Keys of which everything but the end is shared cost no more than short ones.
    let fences = check((0..40).map(|number| (long(4096, number), 5)).collect(), &[1], |page| 3 * page as u32);
    assert_eq!(fences.pages.len(), 1);
    // Nothing is shared by all, and no separator fits a page.
    let mut entries: Entries = (0..20).map(|number| (long(9_000, number), 5)).collect();
    entries.insert(0, (b"a".to_vec(), 1));
    check(entries, &[1], |page| page as u32);
    check((0..5_000).rev().map(|seq| (b"one key".to_vec(), 2 * seq + 2)).collect(), &[2], |page| page as u32);
}

#[test]
fn a_separator_is_the_shortest_that_tells_two_keys_apart() {
    let between = |last: &str, last_seq, first: &str| {
        let (len, seq) = separator_between(last.as_bytes(), SeqNo(last_seq), first.as_bytes());
        (first[..len].to_owned(), seq)
    };
    assert_eq!(between("apple", 1, "apricot"), ("apr".into(), None));
    assert_eq!(between("app", 1, "apple"), ("appl".into(), None));
    assert_eq!(between("", 1, "b"), ("b".into(), None));
    assert_eq!(between("apple", 8, "apple"), ("apple".into(), Some(SeqNo(7))));
}

#[test]
fn a_key_outside_the_common_prefix_leads_to_an_end() {
    let entries: Entries = (0..30u8).map(|no| (vec![b'k', b'k', no], 1)).collect();
    let fences = check(entries, &[1], |page| page as u32);
    assert_eq!(fences.top().common(), b"kk");
    for (key, page) in [("", 0), ("k", 0), ("kj\u{7f}", 0), ("kl", 29), ("z", 29)] {
        assert_eq!(fences.find(key.as_bytes(), 9), PageNo(page), "{key}");
    }
}

#[test]
fn every_changed_bit_of_a_fence_page_and_of_the_top_tier_is_found() {
    let entries: Entries = (0..20u8).map(|key| (vec![key, 1, 2], 3)).collect();
    let fences = check(entries, &[1], |page| page as u32);
    let page = &fences.pages[&FENCES_AT];
    let salt = TableSalt::new(TABLE);
    for bit in 0..page.len() * 8 {
        let mut bytes = page.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let found = FenceNode::parse(&bytes).and_then(|node| node.check_crc(salt.page(PageNo(FENCES_AT))));
        assert!(found.is_err(), "bit {bit}");
    }
    // The length of the common prefix and the prefix itself, before the node, are covered by the
    // checksum of the section.
    let node_at = fences.top().node_offset() as usize;
    for bit in node_at * 8..fences.top.len() * 8 {
        let mut bytes = fences.top.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(TopTier::decode(&bytes, salt).is_err(), "bit {bit}");
    }
    for cut in 0..fences.top.len() {
        assert!(TopTier::decode(&fences.top[..cut], salt).is_err(), "cut at {cut}");
    }
}
