//! Formats that break the contract, each in its own way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kiban::accessor::{
    Accessor, AccessorBuilder, AccessorFile, AccessorFormat, Built, Declined, Dump, EntryFacts, FormatError,
    FormatId, Location, PageNo, Params, Plan, PointAccessor, Presence, Probe, Problem, Residency,
    SectionEntry, SectionWriter, TableShape,
};

use crate::plain::Plain;

/// What is wrong with a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    BadName,
    TakesAnyParameter,
    NeverBuilds,
    PanicsInBuild,
    DiffersEachTime,
    BelievesEstimates,
    DiesOfBeingDropped,
    SwallowsWriteErrors,
    GuessesItsSize,
    CountsKeysItDoesNotFind,
    OpensNoMap,
    FalseAbsent,
    DeletedWithoutKeys,
    WrongPlace,
    EndlessRun,
    PresenceWithoutKeys,
    ClaimsToReject,
    OtherAnswersForMany,
    ForgetsTheLastOfMany,
    TiresOfAnswering,
    TrustsDamage,
    PanicsOnDamage,
    PanicsOnForgery,
    DescribesNothing,
}

/// The format `plain` with a fault.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) fault: Fault,
    calls: Arc<AtomicU64>,
}

impl Broken {
    pub(crate) fn new(fault: Fault) -> Self {
        Self { fault, calls: Arc::default() }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

impl AccessorFormat for Broken {
    fn id(&self) -> FormatId {
        FormatId::of_name("broken")
    }

    fn name(&self) -> &str {
        if self.has(Fault::BadName) { "Broken!" } else { "broken" }
    }

    fn check_params(&self, params: &Params) -> Result<(), String> {
        if self.has(Fault::TakesAnyParameter) { Ok(()) } else { Plain.check_params(params) }
    }

    fn plan(&self, shape: &TableShape, params: &Params) -> Plan {
        match self.fault {
            Fault::NeverBuilds => Plan::Decline("another day".to_owned()),
            _ => Plain.plan(shape, params),
        }
    }

    fn builder(
        &self,
        shape: &TableShape,
        params: &Params,
        seed: u64,
    ) -> Result<Box<dyn AccessorBuilder>, Declined> {
        let (inner, calls) = (Plain.builder(shape, params, seed)?, self.calls.clone());
        Ok(Box::new(BrokenBuilder { inner: Some(inner), fault: self.fault, calls, announced: shape.keys }))
    }

    fn open(&self, file: AccessorFile, residency: Residency) -> Result<Accessor, FormatError> {
        let rows = &file.bytes()[file.section("rows")?];
        match self.fault {
            Fault::OpensNoMap if residency == Residency::Mapped => {
                return Err(FormatError::new("rows", 0, Problem::Invalid("a map".into())));
            }
            Fault::PanicsOnDamage => {
                file.verify_section("rows").unwrap();
            }
            Fault::PanicsOnForgery => assert!(rows.len().is_multiple_of(16), "half a row"),
            _ => {}
        }
        // What is resident was checked by others.
        let trusts = self.has(Fault::TrustsDamage);
        let inner = Plain.open(file, if trusts { Residency::Resident } else { residency })?;
        Ok(Accessor::Plugin(Box::new(BrokenIndex { inner, fault: self.fault, calls: self.calls.clone() })))
    }

    fn describe(
        &self,
        file: &AccessorFile,
        section: &SectionEntry,
        dump: &mut Dump,
    ) -> Result<(), FormatError> {
        match self.fault {
            Fault::DescribesNothing => Err(FormatError::new("rows", 0, Problem::Invalid("secret".into()))),
            _ => Plain.describe(file, section, dump),
        }
    }
}

struct BrokenBuilder {
    inner: Option<Box<dyn AccessorBuilder>>,
    fault: Fault,
    calls: Arc<AtomicU64>,
    announced: u64,
}

impl AccessorBuilder for BrokenBuilder {
    fn add(&mut self, entry: &EntryFacts<'_>) -> Result<(), Declined> {
        let is_long = entry.key.len() > 60_000;
        assert!(!is_long || self.fault != Fault::PanicsInBuild, "what a key");
        self.inner.as_mut().map_or(Ok(()), |inner| inner.add(entry))
    }

    fn memory_bytes(&self) -> usize {
        self.inner.as_ref().map_or(0, |inner| inner.memory_bytes())
    }

    fn estimate_bytes(&self) -> u64 {
        let estimate = self.inner.as_ref().map_or(0, |inner| inner.estimate_bytes());
        if self.fault == Fault::GuessesItsSize { estimate * 3 / 2 } else { estimate }
    }

    fn finish(mut self: Box<Self>, out: &mut dyn SectionWriter) -> Result<Built, Declined> {
        let inner = self.inner.take().ok_or_else(|| Declined::new("finished before"))?;
        let more = match self.fault {
            Fault::DiffersEachTime => self.calls.fetch_add(1, Ordering::Relaxed),
            Fault::BelievesEstimates => self.announced,
            _ => 0,
        };
        let built = match (inner.finish(out), self.fault) {
            (Err(_), Fault::SwallowsWriteErrors) => return Ok(Built::new(0, Vec::new())),
            (built, _) => built?,
        };
        out.section("more").and_then(|()| out.write(&more.to_le_bytes()))?;
        let lost = u64::from(self.fault == Fault::CountsKeysItDoesNotFind);
        Ok(Built::new(built.keys + lost, built.parts))
    }
}

impl Drop for BrokenBuilder {
    fn drop(&mut self) {
        assert!(self.inner.is_none() || self.fault != Fault::DiesOfBeingDropped, "not finished");
    }
}

#[derive(Debug)]
struct BrokenIndex {
    inner: Accessor,
    fault: Fault,
    calls: Arc<AtomicU64>,
}

impl PointAccessor for BrokenIndex {
    fn locate(&self, probe: &Probe<'_>) -> Location {
        let said = self.inner.locate(probe);
        let is_seldom = probe.hash.is_multiple_of(16);
        match (self.fault, said) {
            (Fault::FalseAbsent, _) if is_seldom => Location::Absent,
            (Fault::DeletedWithoutKeys, Location::Entry { .. }) if is_seldom => Location::Deleted,
            (Fault::WrongPlace, Location::Entry { page, offset }) if is_seldom => {
                Location::Entry { page, offset: offset ^ 8 }
            }
            (Fault::EndlessRun, Location::Entry { .. }) if is_seldom => {
                Location::Pages { first: PageNo(0), last: PageNo(u32::MAX) }
            }
            (Fault::ClaimsToReject, Location::Absent) => Location::Unknown,
            (Fault::TiresOfAnswering, _) if self.calls.fetch_add(1, Ordering::Relaxed) > 200_000 => {
                Location::Unknown
            }
            _ => said,
        }
    }

    fn locate_many(&self, probes: &[Probe<'_>], out: &mut [Location]) {
        let found = match self.fault {
            Fault::ForgetsTheLastOfMany if probes.len() == 33 => 32,
            _ => probes.len(),
        };
        for (probe, out) in probes.iter().zip(out).take(found) {
            *out = self.locate(probe);
            if self.fault == Fault::OtherAnswersForMany && probe.hash.is_multiple_of(64) {
                *out = Location::Unknown;
            }
        }
    }

    fn presence(&self, _: &Probe<'_>) -> Presence {
        if self.fault == Fault::PresenceWithoutKeys { Presence::Live } else { Presence::Unknown }
    }

    fn resident_bytes(&self) -> usize {
        self.inner.resident_bytes()
    }

    fn rejects_absent(&self) -> bool {
        self.inner.rejects_absent()
    }
}
