//! The contract between engine and formats.

use crate::*;

#[test]
fn it_keeps_the_contract() {
    let report = conformance::check(&Ph4Format).unwrap();
    let declined: Vec<_> = report.declined().iter().map(|declined| declined.split(':').next()).collect();
    assert_eq!(declined, [Some("many keys share their hashes"), Some("all keys have one hash")]);
}
