//! The tables that formats are checked with.

use kiban_formats::Kind;

use super::keys::{SEED, Shape, mix};
use super::table::{Layout, Recipe, Table};
use crate::contract::key_hash;

/// The greatest table.
pub(super) const LARGE: u64 = 20_000;

/// A table of this many keys of a shape, one version each.
pub(super) fn plain(shape: Shape, count: u64) -> Table {
    Table::new(recipe(format!("{count} keys {shape:?}"), shape.keys(count)))
}

fn recipe(name: String, keys: Vec<Vec<u8>>) -> Recipe {
    let versions = |no| vec![(Kind::Put, 200 + (mix(20, no) % 100) as usize)];
    Recipe { name, keys, versions, hash: |_, key| key_hash(SEED, key), layout: Layout::default() }
}

/// A kind of table, made when its turn comes.
pub(super) type Case = Box<dyn Fn() -> Table>;

/// All tables but those for damage.
pub(super) fn all() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for count in [0, 1, 2, 127, 128, 129, 300, LARGE] {
        cases.push(Box::new(move || plain(Shape::Uniform8, count)));
    }
    for shape in Shape::ALL {
        cases.push(Box::new(move || plain(shape, 3_000)));
    }
    let special: [fn() -> Table; 10] = [
        versions,
        tombstones,
        prefixes,
        lengths,
        jumbo_values,
        far_pages,
        few_equal_hashes,
        many_equal_hashes,
        one_hash,
        alike_in_40_bits,
    ];
    cases.extend(special.into_iter().map(|make| Box::new(make) as Case));
    cases
}

/// Up to 60 versions of a key: they go on over several pages.
pub(super) fn versions() -> Table {
    let versions = |no| {
        let count = [1, 2, 60, 7, 1, 25][no as usize % 6];
        let kind = |version: u64| if mix(version, no).is_multiple_of(4) { Kind::Delete } else { Kind::Put };
        let len = |version| (mix(30 + version, no) % 300) as usize;
        let one = |version| (kind(version), if kind(version) == Kind::Delete { 0 } else { len(version) });
        (0..count).map(one).collect()
    };
    Table::new(Recipe { versions, ..recipe("versions over page borders".to_owned(), Shape::Path.keys(240)) })
}

fn tombstones() -> Table {
    let versions = |no| match no % 4 {
        0 => vec![(Kind::Delete, 0)],
        1 => vec![(Kind::Delete, 0), (Kind::Put, 90)],
        2 => vec![(Kind::Put, 90), (Kind::Delete, 0)],
        _ => vec![(Kind::Put, 90)],
    };
    Table::new(Recipe { versions, ..recipe("tombstones".to_owned(), Shape::Decimal.keys(1_000)) })
}

/// Every key begins with the one before.
fn prefixes() -> Table {
    let mut keys: Vec<Vec<u8>> = (0..200).map(|len| vec![b'a'; len]).collect();
    keys.extend((1..100).flat_map(|len| [vec![0; len], vec![0xFF; len]]));
    keys.sort_unstable();
    Table::new(recipe("keys that begin with others".to_owned(), keys))
}

/// Keys of 0 to 64 KiB.
fn lengths() -> Table {
    let lens =
        [0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 255, 256, 257, 3_000, 4_095, 4_096, 4_097, 65_535, 65_536];
    let key = |len: usize, last: u8| {
        let mut key = vec![b'k'; len];
        key.iter_mut().rev().take(1).for_each(|byte| *byte = last);
        key
    };
    let mut keys: Vec<_> = lens.iter().flat_map(|len| (0..5).map(|last| key(*len, last))).collect();
    keys.sort_unstable();
    keys.dedup();
    Table::new(recipe("keys of 0 to 65,536 bytes".to_owned(), keys))
}

/// Some values take runs of pages.
fn jumbo_values() -> Table {
    let versions = |no| match no % 5 {
        0 => vec![(Kind::Put, 100_000)],
        1 => vec![(Kind::Put, 10), (Kind::Put, 5_000), (Kind::Delete, 0)],
        _ => vec![(Kind::Put, 300)],
    };
    Table::new(Recipe { versions, ..recipe("jumbo values".to_owned(), Shape::Uniform20.keys(400)) })
}

/// The last pages of the largest file, 64 KiB each, entries at any even byte.
fn far_pages() -> Table {
    let layout = Layout { first_page: u32::MAX - 20_000, page_units: 16, align: 2 };
    let recipe = recipe("pages of 64 KiB, far back".to_owned(), Shape::ContractSlot.keys(2_000));
    Table::new(Recipe { layout, ..recipe })
}

fn hashed(name: &str, count: u64, hash: fn(u64, &[u8]) -> u64) -> Table {
    Table::new(Recipe { hash, ..recipe(name.to_owned(), Shape::Decimal.keys(count)) })
}

/// Less than one key in 256 shares its hash with another.
fn few_equal_hashes() -> Table {
    let hash = |no, key: &[u8]| if no < 8 { mix(40, no % 3) } else { key_hash(SEED, key) };
    hashed("few keys share their hashes", 3_000, hash)
}

fn many_equal_hashes() -> Table {
    hashed("many keys share their hashes", 3_000, |no, _| mix(41, no / 2))
}

fn one_hash() -> Table {
    hashed("all keys have one hash", 3_000, |_, _| 77)
}

fn alike_in_40_bits() -> Table {
    hashed("hashes alike in their top 40 bits", LARGE, |no, _| 0xAB_CDEF_0123 << 24 | no)
}
