//! Sizes that formats say they have, beside what the allocator counts.

use std::alloc::System;

use cap::Cap;
use kiban::accessor::conformance::Check;
use kiban::accessor::{
    Accessor, AccessorBuilder, AccessorFile, AccessorFormat, Declined, FormatError, FormatId, Location,
    Params, Plan, PointAccessor, Probe, Residency, TableShape,
};
use kiban_indexes::Ph4Format;

#[path = "conformance/keeper.rs"]
mod keeper;
#[path = "common/plain.rs"]
mod plain;

use keeper::Keeper;
use plain::Plain;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// The format `plain`, which holds more than it says.
#[derive(Debug)]
struct Hoarder;

impl AccessorFormat for Hoarder {
    fn id(&self) -> FormatId {
        Plain.id()
    }

    fn name(&self) -> &str {
        Plain.name()
    }

    fn plan(&self, shape: &TableShape, params: &Params) -> Plan {
        Plain.plan(shape, params)
    }

    fn builder(
        &self,
        shape: &TableShape,
        params: &Params,
        seed: u64,
    ) -> Result<Box<dyn AccessorBuilder>, Declined> {
        Plain.builder(shape, params, seed)
    }

    fn open(&self, file: AccessorFile, residency: Residency) -> Result<Accessor, FormatError> {
        let hoard = file.bytes().to_vec();
        Ok(Accessor::Plugin(Box::new(Hoard { inner: Plain.open(file, residency)?, hoard })))
    }
}

#[derive(Debug)]
struct Hoard {
    inner: Accessor,
    hoard: Vec<u8>,
}

impl PointAccessor for Hoard {
    fn locate(&self, probe: &Probe<'_>) -> Location {
        if self.hoard.is_empty() { Location::Unknown } else { self.inner.locate(probe) }
    }

    fn resident_bytes(&self) -> usize {
        self.inner.resident_bytes()
    }

    fn rejects_absent(&self) -> bool {
        true
    }
}

/// The one test of this program: the allocator counts for all threads.
#[test]
fn formats_hold_what_they_say_and_one_that_does_not_is_caught() {
    let allocated = || HEAP.allocated();
    for format in [&Ph4Format as &dyn AccessorFormat, &Plain, &Keeper::HONEST] {
        let report = Check::new(format).allocated(&allocated).run().unwrap();
        assert!(report.cases().any(|(check, cases)| check == "resident" && cases == 10), "{report}");
    }
    let failures = Check::new(&Hoarder).allocated(&allocated).run().unwrap_err();
    assert_eq!(failures.checks().collect::<Vec<_>>(), ["resident"]);
}
