//! A plug-in that overrides every method there is, and counts how often each is called.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use kiban::accessor::{
    Accessor, AccessorBuilder, AccessorFile, AccessorFormat, Declined, Dump, FormatError, FormatId, Location,
    Params, Plan, PointAccessor, Presence, Probe, Residency, SectionEntry, TableShape,
};

use crate::plain::Plain;

/// Calls by the name of the method.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Calls {
    fn count(&self, method: &'static str) {
        *self.0.lock().unwrap().entry(method).or_default() += 1;
    }

    /// The methods that were called.
    pub(crate) fn seen(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().keys().copied().collect()
    }
}

/// The format `plain`, each method of which is seen. A method that is forgotten is a warning.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    pub(crate) calls: Calls,
}

#[deny(clippy::missing_trait_methods)]
impl AccessorFormat for Counted {
    fn id(&self) -> FormatId {
        self.calls.count("id");
        Plain.id()
    }

    fn name(&self) -> &str {
        self.calls.count("name");
        "plain"
    }

    fn version(&self) -> u16 {
        self.calls.count("version");
        3
    }

    fn keeps_keys(&self) -> bool {
        self.calls.count("keeps_keys");
        Plain.keeps_keys()
    }

    fn check_params(&self, params: &Params) -> Result<(), String> {
        self.calls.count("check_params");
        Plain.check_params(params)
    }

    fn plan(&self, shape: &TableShape, params: &Params) -> Plan {
        self.calls.count("plan");
        Plain.plan(shape, params)
    }

    fn builder(
        &self,
        shape: &TableShape,
        params: &Params,
        seed: u64,
    ) -> Result<Box<dyn AccessorBuilder>, Declined> {
        self.calls.count("builder");
        Plain.builder(shape, params, seed)
    }

    fn open(&self, file: AccessorFile, residency: Residency) -> Result<Accessor, FormatError> {
        self.calls.count("open");
        let inner = Plain.open(file, residency)?;
        Ok(Accessor::Plugin(Box::new(CountedIndex { calls: self.calls.clone(), inner })))
    }

    fn describe(
        &self,
        file: &AccessorFile,
        section: &SectionEntry,
        dump: &mut Dump,
    ) -> Result<(), FormatError> {
        self.calls.count("describe");
        Plain.describe(file, section, dump)
    }
}

#[derive(Debug)]
struct CountedIndex {
    calls: Calls,
    inner: Accessor,
}

#[deny(clippy::missing_trait_methods)]
impl PointAccessor for CountedIndex {
    fn locate(&self, probe: &Probe<'_>) -> Location {
        self.calls.count("locate");
        self.inner.locate(probe)
    }

    fn locate_many(&self, probes: &[Probe<'_>], out: &mut [Location]) {
        self.calls.count("locate_many");
        self.inner.locate_many(probes, out);
    }

    fn prefetch(&self, hash: u64) {
        self.calls.count("prefetch");
        self.inner.prefetch(hash);
    }

    fn presence(&self, probe: &Probe<'_>) -> Presence {
        self.calls.count("presence");
        self.inner.presence(probe)
    }

    fn resident_bytes(&self) -> usize {
        self.calls.count("resident_bytes");
        self.inner.resident_bytes()
    }

    fn rejects_absent(&self) -> bool {
        self.calls.count("rejects_absent");
        self.inner.rejects_absent()
    }
}
