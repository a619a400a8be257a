//! Files that are not as they were written.

use super::support::{Key, build, entry, open, probe, table};
use crate::*;

/// Every key is found, or it is not said that it is absent.
fn check(accessor: &Accessor, keys: &[Key], what: &str) {
    let mut out = vec![Location::Deleted; keys.len()];
    let probes: Vec<Probe<'_>> = keys.iter().map(|key| probe(key.0)).collect();
    accessor.locate_many(&probes, &mut out);
    for (key, found) in keys.iter().zip(out) {
        assert!(found == entry(*key) || found == Location::Unknown, "{what}: {found:?}");
    }
}

#[test]
fn no_changed_bit_makes_a_key_absent_or_elsewhere() {
    for count in [1, 60, 200] {
        let keys = table(count, 13);
        let (file, _) = build(&keys, 1).unwrap();
        let mut changed = file.clone();
        let mut refused = 0;
        for bit in 0..file.len() * 8 {
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&changed, Residency::Resident).is_err(), "bit {bit} of a copy that is checked");
            match open(&changed, Residency::Mapped) {
                Ok(accessor) => check(&accessor, &keys, &format!("bit {bit} of {count} keys")),
                Err(_) => refused += 1,
            }
            changed[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(refused > 0);
    }
}

#[test]
fn every_cut_is_refused() {
    let (file, _) = build(&table(200, 13), 1).unwrap();
    for cut in 0..file.len() {
        for residency in [Residency::Resident, Residency::Mapped] {
            assert!(open(&file[..cut], residency).is_err(), "cut at {cut}");
        }
    }
}

#[test]
fn a_damaged_page_is_left_to_others_and_the_rest_is_used() {
    let keys = table(10_000, 13);
    let (mut file, _) = build(&keys, 1).unwrap();
    file[3 * 4_096 + 100] ^= 0x40;
    let accessor = open(&file, Residency::Mapped).unwrap();
    check(&accessor, &keys, "a damaged page");
    let unknown = keys.iter().filter(|key| accessor.locate(&probe(key.0)) == Location::Unknown).count();
    assert!((500..1_200).contains(&unknown), "{unknown} keys of one page in 13");
}
