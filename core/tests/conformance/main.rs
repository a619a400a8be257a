//! The conformance kit: formats that keep the contract pass, each that breaks it is caught.

use std::sync::Arc;

use kiban::accessor::conformance;
use kiban_indexes::Ph4Format;

#[test]
fn ph4_answers_as_a_map_does_in_stores() {
    let report = conformance::check_in_store(Arc::new(Ph4Format)).unwrap();
    assert!(report.declined().is_empty());
}
