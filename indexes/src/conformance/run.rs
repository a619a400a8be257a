//! The run through all tables.

use super::answers::Opened;
use super::builds::{Made, Maker};
use super::cases::{self, LARGE};
use super::damage::Damage;
use super::judge::Judge;
use super::keys::Shape;
use super::report::{Failures, Findings, Report};
use super::sidecar;
use super::sizes::Sizes;
use super::table::Table;
use crate::contract::{AccessorFormat, ParamValue, Params, Plan, Residency};
use crate::registry;

/// Checks a format without parameters; see the [module](super) for what.
///
/// ```
/// kiban_indexes::conformance::check(&kiban_indexes::Ph4Format).unwrap();
/// ```
///
/// # Errors
/// The checks that failed, and what was found.
pub fn check(format: &dyn AccessorFormat) -> Result<Report, Failures> {
    Check::new(format).run()
}

/// A check of a format that more is known of.
pub struct Check<'a> {
    format: &'a dyn AccessorFormat,
    params: Params,
    allocated: Option<&'a dyn Fn() -> usize>,
}

impl<'a> Check<'a> {
    /// Of this format.
    pub fn new(format: &'a dyn AccessorFormat) -> Self {
        Self { format, params: Params::new(), allocated: None }
    }

    /// With these parameters instead of none.
    #[must_use]
    pub fn params(mut self, params: Params) -> Self {
        self.params = params;
        self
    }

    /// Bytes of heap that the process has allocated now, from the allocator: with it the sizes are
    /// checked that a format says it has. Nothing else may allocate meanwhile.
    #[must_use]
    pub fn allocated(mut self, allocated: &'a dyn Fn() -> usize) -> Self {
        self.allocated = Some(allocated);
        self
    }

    /// Runs all checks.
    ///
    /// # Errors
    /// The checks that failed, and what was found.
    pub fn run(&self) -> Result<Report, Failures> {
        let mut findings = Findings::default();
        findings.check("name", "the format", || self.name());
        findings.check("params", "the format", || self.parameters());
        let mut indexed = 0;
        for case in cases::all() {
            let table = case();
            indexed += u32::from(self.table(&table, &mut findings));
        }
        findings.check("used", "all tables", || match indexed {
            0 => Err("none is indexed".to_owned()),
            _ => Ok(()),
        });
        let small = [0, 1, 60, 200].map(|count| cases::plain(Shape::Uniform8, count));
        for table in small.into_iter().chain([cases::versions(), cases::plain(Shape::Decimal, 3_000)]) {
            self.damage(&table, &mut findings);
        }
        if let Some(allocated) = self.allocated {
            for count in [0, 1, 100, 300, LARGE] {
                let table = cases::plain(Shape::Uniform8, count);
                self.sizes(&table, allocated, &mut findings);
            }
        }
        findings.finish()
    }

    fn maker(&self) -> Maker<'_> {
        Maker { format: self.format, params: &self.params }
    }

    fn name(&self) -> Result<(), String> {
        registry::check_name(self.format)?;
        match self.format.version() {
            0 => Err("version 0".to_owned()),
            _ => Ok(()),
        }
    }

    fn parameters(&self) -> Result<(), String> {
        self.format.check_params(&self.params)?;
        let unknown = Params::from([("no such parameter".to_owned(), ParamValue::Bool(true))]);
        match self.format.check_params(&unknown) {
            Err(what) if !what.is_empty() => Ok(()),
            _ => Err("a parameter `no such parameter` is accepted".to_owned()),
        }
    }

    /// An index of a table, unless the format wants none.
    fn make(&self, table: &Table, findings: &mut Findings) -> Option<Made> {
        let made = findings.check("build", &table.name, || {
            if let Plan::Decline(reason) = self.format.plan(&table.shape(), &self.params) {
                return Ok(Err(reason));
            }
            match self.maker().make(table) {
                Err(declined) if declined.io().is_some() => Err(format!("no write failed: {declined}")),
                made => Ok(made.map_err(|declined| declined.reason().to_owned())),
            }
        })?;
        made.inspect_err(|reason| findings.declined(&table.name, reason)).ok()
    }

    /// Whether it is indexed.
    fn table(&self, table: &Table, findings: &mut Findings) -> bool {
        let (maker, name) = (self.maker(), table.name.as_str());
        let Some(made) = self.make(table, findings) else { return false };
        findings.check("drop", name, || maker.drops(table));
        findings.check("repeat", name, || maker.repeats(table, &made));
        findings.check("estimate", name, || maker.estimates(&made));
        findings.check("describe", name, || maker.describes(&made.file));
        for residency in [Residency::Resident, Residency::Mapped] {
            let opened = findings.check("open", name, || {
                sidecar::open(self.format, &made.file, residency).map_err(|error| error.to_string())
            });
            let Some(accessor) = opened else { continue };
            let judge = Judge { table, keeps_keys: self.format.keeps_keys() };
            let subject =
                format!("{name}, {}", if residency == Residency::Mapped { "mapped" } else { "resident" });
            Opened { accessor, judge, keys: made.built.keys, subject }.check(findings);
        }
        true
    }

    fn damage(&self, table: &Table, findings: &mut Findings) {
        let Some(made) = self.make(table, findings) else { return };
        let maker = self.maker();
        findings.check("write", &table.name, || maker.fails(table));
        let damage = Damage::new(maker, table, &made.file);
        findings.check("flip", &table.name, || damage.flips());
        findings.check("cut", &table.name, || damage.cuts());
        findings.check("forge", &table.name, || damage.forgeries());
        findings.check("change", &table.name, || damage.changes());
    }

    fn sizes(&self, table: &Table, allocated: &dyn Fn() -> usize, findings: &mut Findings) {
        let Some(made) = self.make(table, findings) else { return };
        let sizes = Sizes { maker: self.maker(), table, allocated };
        findings.check("memory", &table.name, || sizes.builder());
        for residency in [Residency::Resident, Residency::Mapped] {
            findings.check("resident", &table.name, || sizes.index(&made.file, residency));
        }
    }
}
